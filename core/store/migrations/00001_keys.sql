-- Keys: who may call. Secrets are not here, only their SHA-256.

-- +goose Up
CREATE TABLE keys (
    id          TEXT    NOT NULL PRIMARY KEY,
    hash        BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    group_name  TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    -- Times are microseconds since 1970 in UTC; NULL is never.
    create_time INTEGER NOT NULL,
    expire_time INTEGER,
    revoke_time INTEGER
) STRICT;

-- One row: how often the keys have changed. Triggers count, so that no writer can
-- forget it and a change by hand is seen as well.
CREATE TABLE keys_version (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;

INSERT INTO keys_version (one, version) VALUES (1, 0);

-- +goose StatementBegin
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER keys_updated AFTER UPDATE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
END;
-- +goose StatementEnd
