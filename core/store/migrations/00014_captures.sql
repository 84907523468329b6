-- The bodies of requests that were to be captured, apart from the entries that lists read.
CREATE TABLE captures (
    -- The request's entry.
    process    {{integer}} NOT NULL,
    number     {{integer}} NOT NULL,
    key_id     {{text}}    NOT NULL,
    start_time {{integer}} NOT NULL,
    expires    {{integer}} NOT NULL,
    -- The name of the key that content is encrypted by; empty is in clear.
    sealed_by  {{text}}    NOT NULL DEFAULT '',
    -- As core/capture/vault writes it.
    content    {{bytes}}   NOT NULL,
    PRIMARY KEY (process, number)
) {{strict}};

CREATE INDEX captures_expires ON captures (expires);
CREATE INDEX captures_start ON captures (start_time);
CREATE INDEX captures_key ON captures (key_id, start_time);
