-- Keys: who may call. Secrets are not here, only their SHA-256.

CREATE TABLE keys (
    id          {{text}} NOT NULL PRIMARY KEY,
    hash        {{bytes}} NOT NULL UNIQUE CHECK (length(hash) = 32),
    group_name  {{text}} NOT NULL,
    name        {{text}} NOT NULL,
    -- Times are microseconds since 1970 in UTC; NULL is never.
    create_time {{integer}} NOT NULL,
    expire_time {{integer}},
    revoke_time {{integer}}
) {{strict}};

-- One row: how often the keys have changed. Triggers count, so that no writer can
-- forget it and a change by hand is seen as well.
CREATE TABLE keys_version (
    one     {{integer}} NOT NULL PRIMARY KEY CHECK (one = 1),
    version {{integer}} NOT NULL
) {{strict}};

INSERT INTO keys_version (one, version) VALUES (1, 0);

{{onchange "keys" "UPDATE keys_version SET version = version + 1"}}
