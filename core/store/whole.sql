CREATE TABLE keys (
    id          TEXT NOT NULL PRIMARY KEY,
    hash        BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    group_name  TEXT NOT NULL,
    name        TEXT NOT NULL,
    -- Times are microseconds since 1970 in UTC; NULL is never.
    create_time INTEGER NOT NULL,
    expire_time INTEGER,
    revoke_time INTEGER
, owner TEXT NOT NULL DEFAULT '', labels TEXT NOT NULL DEFAULT '{}', policy TEXT NOT NULL DEFAULT '{}', secret_time INTEGER NOT NULL DEFAULT 0, previous_hash BLOB CHECK (length(previous_hash) = 32), previous_time INTEGER, previous_expire_time INTEGER) STRICT;
CREATE TABLE keys_version (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;
CREATE TABLE ledger_processes (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    start_time INTEGER NOT NULL,
    seen_time  INTEGER NOT NULL
, rolls INTEGER NOT NULL DEFAULT 0, host TEXT NOT NULL DEFAULT '', version TEXT NOT NULL DEFAULT '', address TEXT NOT NULL DEFAULT '', configuration TEXT NOT NULL DEFAULT '', degraded TEXT NOT NULL DEFAULT '', partitions INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE ledger (
    process             INTEGER NOT NULL REFERENCES ledger_processes (id),
    number              INTEGER NOT NULL,
    request_id          TEXT NOT NULL,
    key_id              TEXT NOT NULL,
    protocol            TEXT NOT NULL,
    method              TEXT NOT NULL,
    model               TEXT NOT NULL,
    -- Times are microseconds since 1970 in UTC, durations microseconds.
    start_time          INTEGER NOT NULL,
    outcome             TEXT NOT NULL CHECK (outcome IN ('open', 'ok', 'failed', 'cancelled', 'interrupted')),
    kind                TEXT NOT NULL,
    reason              TEXT NOT NULL,
    route               TEXT NOT NULL,
    upstream            TEXT NOT NULL,
    attempts            INTEGER NOT NULL,
    served_model        TEXT NOT NULL,
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
    first_event         INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '', cost INTEGER NOT NULL DEFAULT 0, price TEXT NOT NULL DEFAULT '', usage_source TEXT NOT NULL DEFAULT '', trace_id TEXT NOT NULL DEFAULT '', upstream_protocol TEXT NOT NULL DEFAULT '', losses TEXT NOT NULL DEFAULT '', timeline TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (process, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_start_time ON ledger (start_time);
CREATE INDEX ledger_open ON ledger (process) WHERE outcome = 'open';
CREATE UNIQUE INDEX keys_previous_hash ON keys (previous_hash);
CREATE INDEX keys_name ON keys (name);
CREATE TABLE audit (
    number   INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    -- Microseconds since 1970 in UTC.
    time     INTEGER NOT NULL,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL,
    previous BLOB NOT NULL CHECK (length(previous) = 32),
    hash     BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE INDEX audit_subject ON audit (subject, number);
CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
CREATE TABLE ledger_days (
    -- Days since 1970, in UTC.
    day                   INTEGER NOT NULL,
    key_id                TEXT    NOT NULL,
    owner                 TEXT    NOT NULL,
    protocol              TEXT    NOT NULL,
    model                 TEXT    NOT NULL,
    upstream              TEXT    NOT NULL,
    served_model          TEXT    NOT NULL,
    requests              INTEGER NOT NULL,
    ok                    INTEGER NOT NULL,
    failed                INTEGER NOT NULL,
    cancelled             INTEGER NOT NULL,
    interrupted           INTEGER NOT NULL,
    input_tokens          INTEGER NOT NULL,
    output_tokens         INTEGER NOT NULL,
    cache_read_tokens     INTEGER NOT NULL,
    cache_write_tokens    INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    input_image_tokens    INTEGER NOT NULL,
    input_audio_tokens    INTEGER NOT NULL,
    thinking_tokens       INTEGER NOT NULL,
    output_image_tokens   INTEGER NOT NULL,
    output_audio_tokens   INTEGER NOT NULL,
    images                INTEGER NOT NULL,
    cost                  INTEGER NOT NULL,
    -- Requests that used something which has no price.
    unpriced              INTEGER NOT NULL, estimated INTEGER NOT NULL DEFAULT 0, rejected INTEGER NOT NULL DEFAULT 0, first_event_known INTEGER NOT NULL DEFAULT 0, first_event INTEGER NOT NULL DEFAULT 0, first_event_0 INTEGER NOT NULL DEFAULT 0, first_event_1 INTEGER NOT NULL DEFAULT 0, first_event_2 INTEGER NOT NULL DEFAULT 0, first_event_3 INTEGER NOT NULL DEFAULT 0, first_event_4 INTEGER NOT NULL DEFAULT 0, first_event_5 INTEGER NOT NULL DEFAULT 0, first_event_6 INTEGER NOT NULL DEFAULT 0, first_event_7 INTEGER NOT NULL DEFAULT 0, first_event_8 INTEGER NOT NULL DEFAULT 0, first_event_9 INTEGER NOT NULL DEFAULT 0, first_event_10 INTEGER NOT NULL DEFAULT 0, first_event_11 INTEGER NOT NULL DEFAULT 0, first_event_12 INTEGER NOT NULL DEFAULT 0, first_event_13 INTEGER NOT NULL DEFAULT 0, first_event_14 INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, key_id, owner, protocol, model, upstream, served_model)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_spent (
    -- Days since 1970, in UTC, in which the requests began.
    day     INTEGER NOT NULL,
    -- The process that wrote the entries; 0 for those of before this table.
    process INTEGER NOT NULL,
    key_id  TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    -- Nano-dollars.
    cost    INTEGER NOT NULL,
    PRIMARY KEY (day, process, key_id, owner)
) STRICT, WITHOUT ROWID;
CREATE TABLE items (
    -- SHA-256 of the API key's identifier and the item's.
    id      BLOB   NOT NULL PRIMARY KEY,
    sealed  BLOB   NOT NULL,
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX items_expires ON items (expires);
CREATE TABLE keys_changes (
    hash   BLOB   NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_changes_number ON keys_changes (number, hash);
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
    INSERT INTO keys_changes (hash, number) SELECT NEW.hash, version FROM keys_version WHERE NEW.hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT NEW.previous_hash, version FROM keys_version WHERE NEW.previous_hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER keys_updated AFTER UPDATE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
    INSERT INTO keys_changes (hash, number) SELECT OLD.hash, version FROM keys_version WHERE OLD.hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT OLD.previous_hash, version FROM keys_version WHERE OLD.previous_hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT NEW.hash, version FROM keys_version WHERE NEW.hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT NEW.previous_hash, version FROM keys_version WHERE NEW.previous_hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
    INSERT INTO keys_changes (hash, number) SELECT OLD.hash, version FROM keys_version WHERE OLD.hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT OLD.previous_hash, version FROM keys_version WHERE OLD.previous_hash IS NOT NULL ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
END;
CREATE INDEX keys_create_time ON keys (create_time, id);
CREATE INDEX ledger_spent_key ON ledger_spent (key_id, day);
CREATE INDEX ledger_spent_owner ON ledger_spent (owner, day);
CREATE TABLE ledger_hours (
    -- Hours since 1970, in UTC, in which the requests began.
    hour    INTEGER NOT NULL PRIMARY KEY,
    changed INTEGER NOT NULL,
    -- -1 until there are roll-ups.
    rolled  INTEGER NOT NULL,
    in_day  INTEGER NOT NULL
) STRICT;
CREATE TRIGGER ledger_hours_inserted AFTER INSERT ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = NEW.start_time / 3600000000;
END;
CREATE TRIGGER ledger_hours_updated AFTER UPDATE ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = NEW.start_time / 3600000000;
END;
CREATE TRIGGER ledger_hours_moved AFTER UPDATE OF start_time ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = OLD.start_time / 3600000000;
END;
CREATE TRIGGER ledger_hours_deleted AFTER DELETE ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = OLD.start_time / 3600000000;
END;
CREATE TABLE ledger_rollups (
    level                 INTEGER NOT NULL,
    -- Hours or days since 1970, in UTC.
    period                INTEGER NOT NULL,
    key_id                TEXT    NOT NULL,
    owner                 TEXT    NOT NULL,
    protocol              TEXT    NOT NULL,
    model                 TEXT    NOT NULL,
    upstream              TEXT    NOT NULL,
    served_model          TEXT    NOT NULL,
    requests              INTEGER NOT NULL,
    ok                    INTEGER NOT NULL,
    failed                INTEGER NOT NULL,
    cancelled             INTEGER NOT NULL,
    interrupted           INTEGER NOT NULL,
    input_tokens          INTEGER NOT NULL,
    output_tokens         INTEGER NOT NULL,
    cache_read_tokens     INTEGER NOT NULL,
    cache_write_tokens    INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    input_image_tokens    INTEGER NOT NULL,
    input_audio_tokens    INTEGER NOT NULL,
    thinking_tokens       INTEGER NOT NULL,
    output_image_tokens   INTEGER NOT NULL,
    output_audio_tokens   INTEGER NOT NULL,
    images                INTEGER NOT NULL,
    cost                  INTEGER NOT NULL,
    unpriced              INTEGER NOT NULL,
    estimated             INTEGER NOT NULL,
    rejected              INTEGER NOT NULL, first_event_known INTEGER NOT NULL DEFAULT 0, first_event INTEGER NOT NULL DEFAULT 0, first_event_0 INTEGER NOT NULL DEFAULT 0, first_event_1 INTEGER NOT NULL DEFAULT 0, first_event_2 INTEGER NOT NULL DEFAULT 0, first_event_3 INTEGER NOT NULL DEFAULT 0, first_event_4 INTEGER NOT NULL DEFAULT 0, first_event_5 INTEGER NOT NULL DEFAULT 0, first_event_6 INTEGER NOT NULL DEFAULT 0, first_event_7 INTEGER NOT NULL DEFAULT 0, first_event_8 INTEGER NOT NULL DEFAULT 0, first_event_9 INTEGER NOT NULL DEFAULT 0, first_event_10 INTEGER NOT NULL DEFAULT 0, first_event_11 INTEGER NOT NULL DEFAULT 0, first_event_12 INTEGER NOT NULL DEFAULT 0, first_event_13 INTEGER NOT NULL DEFAULT 0, first_event_14 INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (level, period, key_id, owner, protocol, model, upstream, served_model)
) STRICT, WITHOUT ROWID;
CREATE TABLE schema_least (
    version INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_key_time ON ledger (key_id, start_time) WHERE key_id <> '';
CREATE TABLE captures (
    -- The request's entry.
    process    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    key_id     TEXT    NOT NULL,
    start_time INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    -- The name of the key that content is encrypted by; empty is in clear.
    sealed_by  TEXT    NOT NULL DEFAULT '',
    -- As core/capture/vault writes it.
    content    BLOB   NOT NULL,
    PRIMARY KEY (process, number)
) STRICT;
CREATE INDEX captures_expires ON captures (expires);
CREATE INDEX captures_start ON captures (start_time);
CREATE INDEX captures_key ON captures (key_id, start_time);
INSERT INTO keys_version VALUES (1, 0);
INSERT INTO schema_least VALUES (11);
