-- The audit: what was changed, by whom and when, each entry with the hash of the one
-- before it (core/audit). No secret and no hash of one is in it.

CREATE TABLE audit (
    number   {{integer}} NOT NULL PRIMARY KEY CHECK (number > 0),
    -- Microseconds since 1970 in UTC.
    time     {{integer}} NOT NULL,
    actor    {{text}} NOT NULL,
    action   {{text}} NOT NULL,
    subject  {{text}} NOT NULL,
    detail   {{text}} NOT NULL,
    previous {{bytes}} NOT NULL CHECK (length(previous) = 32),
    hash     {{bytes}} NOT NULL CHECK (length(hash) = 32)
) {{strict}};

CREATE INDEX audit_subject ON audit (subject, number);

{{appendonly "audit"}}
