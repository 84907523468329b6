CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
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
CREATE TABLE keys_version (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;
CREATE TABLE ledger (
    process             INTEGER NOT NULL REFERENCES ledger_processes (id),
    number              INTEGER NOT NULL,
    request_id          TEXT    NOT NULL,
    key_id              TEXT    NOT NULL,
    protocol            TEXT    NOT NULL,
    method              TEXT    NOT NULL,
    model               TEXT    NOT NULL,
    -- Times are microseconds since 1970 in UTC, durations microseconds.
    start_time          INTEGER NOT NULL,
    outcome             TEXT    NOT NULL CHECK (outcome IN ('open', 'ok', 'failed', 'cancelled', 'interrupted')),
    kind                TEXT    NOT NULL,
    reason              TEXT    NOT NULL,
    route               TEXT    NOT NULL,
    upstream            TEXT    NOT NULL,
    attempts            INTEGER NOT NULL,
    served_model        TEXT    NOT NULL,
    input_tokens        INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    cache_read_tokens   INTEGER NOT NULL,
    cache_write_tokens  INTEGER NOT NULL,
    -- Part of cache_write_tokens.
    cache_write_1h_tokens INTEGER NOT NULL,
    input_image_tokens  INTEGER NOT NULL,
    input_audio_tokens  INTEGER NOT NULL,
    thinking_tokens     INTEGER NOT NULL,
    output_image_tokens INTEGER NOT NULL,
    output_audio_tokens INTEGER NOT NULL,
    images              INTEGER NOT NULL,
    duration            INTEGER NOT NULL,
    first_event         INTEGER NOT NULL,
    PRIMARY KEY (process, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_processes (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    start_time INTEGER NOT NULL,
    seen_time  INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_open ON ledger (process) WHERE outcome = 'open';
CREATE INDEX ledger_start_time ON ledger (start_time);
CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
END;
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
END;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
END;
