-- +goose Up

-- One row: how often the keys have changed. Triggers count, so that no writer can
-- forget it and a change by hand is seen as well.
CREATE TABLE keys_version (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;

INSERT INTO keys_version (one, version) VALUES (1, 0);

-- Keys: who may call. Secrets are not here, only their SHA-256.
CREATE TABLE keys (
    id                   TEXT NOT NULL PRIMARY KEY,
    hash                 BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    group_name           TEXT NOT NULL,
    name                 TEXT NOT NULL,
    -- Times are microseconds since 1970 in UTC; NULL is never.
    create_time          INTEGER NOT NULL,
    expire_time          INTEGER,
    revoke_time          INTEGER,
    -- Empty for none.
    owner                TEXT NOT NULL DEFAULT '',
    -- JSON objects: of texts, and core/keys.Policy.
    labels               TEXT NOT NULL DEFAULT '{}',
    policy               TEXT NOT NULL DEFAULT '{}',
    -- When hash's secret was made.
    secret_time          INTEGER NOT NULL DEFAULT 0,
    -- The secret before it: NULL in all three where there is none.
    previous_hash        BLOB CHECK (length(previous_hash) = 32),
    previous_time        INTEGER,
    previous_expire_time INTEGER
) STRICT;

CREATE UNIQUE INDEX keys_previous_hash ON keys (previous_hash);
CREATE INDEX keys_name ON keys (name);

-- Pages of keys are read in this order.
CREATE INDEX keys_create_time ON keys (create_time, id);

-- The number of the last change of each secret (docs/decisions/0028-keys-are-followed-by-what-changed.md).
-- Secrets that no key has any more stay: they are the tombstones. The numbers come from
-- keys_version, whose one row is locked from a change until its transaction ends: a reader that sees a
-- number sees all smaller ones.
CREATE TABLE keys_changes (
    hash   BLOB NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_changes_number ON keys_changes (number, hash);

-- +goose StatementBegin
CREATE TRIGGER keys_inserted AFTER INSERT ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
    INSERT INTO keys_changes (hash, number) SELECT NEW.hash, version FROM keys_version WHERE NEW.hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT NEW.previous_hash, version FROM keys_version WHERE NEW.previous_hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER keys_updated AFTER UPDATE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
    INSERT INTO keys_changes (hash, number) SELECT OLD.hash, version FROM keys_version WHERE OLD.hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT OLD.previous_hash, version FROM keys_version WHERE OLD.previous_hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT NEW.hash, version FROM keys_version WHERE NEW.hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT NEW.previous_hash, version FROM keys_version WHERE NEW.previous_hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER keys_deleted AFTER DELETE ON keys BEGIN
    UPDATE keys_version SET version = version + 1;
    INSERT INTO keys_changes (hash, number) SELECT OLD.hash, version FROM keys_version WHERE OLD.hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    INSERT INTO keys_changes (hash, number) SELECT OLD.previous_hash, version FROM keys_version WHERE OLD.previous_hash IS NOT NULL
        ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
END;
-- +goose StatementEnd

-- The audit: what was changed, by whom and when, each entry with the hash of the one
-- before it (core/audit). No secret and no hash of one is in it.
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

-- +goose StatementBegin
CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
-- +goose StatementEnd

-- The ledger: one row for each accepted request. No prompt, answer or key is in it.

-- Processes that write, and when each last said that it is alive.
CREATE TABLE ledger_processes (
    id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    start_time    INTEGER NOT NULL,
    seen_time     INTEGER NOT NULL,
    -- What a process says of itself with each sign of life; empty before the first: the
    -- machine's name, the program's version, and where it was told to listen.
    host          TEXT NOT NULL DEFAULT '',
    version       TEXT NOT NULL DEFAULT '',
    address       TEXT NOT NULL DEFAULT '',
    -- The hash of the configuration in force.
    configuration TEXT NOT NULL DEFAULT '',
    -- The parts that do not work, separated by commas.
    degraded      TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE ledger (
    process                INTEGER NOT NULL REFERENCES ledger_processes (id),
    number                 INTEGER NOT NULL,
    request_id             TEXT NOT NULL,
    key_id                 TEXT NOT NULL,
    protocol               TEXT NOT NULL,
    method                 TEXT NOT NULL,
    model                  TEXT NOT NULL,
    -- Times are microseconds since 1970 in UTC, durations microseconds.
    start_time             INTEGER NOT NULL,
    outcome                TEXT NOT NULL CHECK (outcome IN ('open', 'ok', 'failed', 'cancelled', 'interrupted')),
    kind                   TEXT NOT NULL,
    reason                 TEXT NOT NULL,
    route                  TEXT NOT NULL,
    upstream               TEXT NOT NULL,
    attempts               INTEGER NOT NULL,
    served_model           TEXT NOT NULL,
    input_tokens           INTEGER NOT NULL,
    output_tokens          INTEGER NOT NULL,
    cache_read_tokens      INTEGER NOT NULL,
    cache_write_tokens     INTEGER NOT NULL,
    -- Part of cache_write_tokens.
    cache_write_1h_tokens  INTEGER NOT NULL,
    input_image_tokens     INTEGER NOT NULL,
    input_audio_tokens     INTEGER NOT NULL,
    thinking_tokens        INTEGER NOT NULL,
    output_image_tokens    INTEGER NOT NULL,
    output_audio_tokens    INTEGER NOT NULL,
    images                 INTEGER NOT NULL,
    duration               INTEGER NOT NULL,
    first_event            INTEGER NOT NULL,
    -- The key's owner as the request began; empty for none.
    owner                  TEXT NOT NULL DEFAULT '',
    -- Nano-dollars.
    cost                   INTEGER NOT NULL DEFAULT 0,
    -- The ID of the price that the cost was reckoned by; empty for none.
    price                  TEXT NOT NULL DEFAULT '',
    -- Empty for the upstream's figures; estimated where it reported none; rejected where its
    -- figures cannot be true.
    usage_source           TEXT NOT NULL DEFAULT '',
    -- The trace, in hexadecimal digits; empty for none.
    trace_id               TEXT NOT NULL DEFAULT '',
    -- What the upstream speaks, by the names of protocol.
    upstream_protocol      TEXT NOT NULL DEFAULT '',
    -- Names of the contract's members, separated by commas.
    losses                 TEXT NOT NULL DEFAULT '',
    -- As ledger.AppendTimeline writes it; empty where it is not known.
    timeline               TEXT NOT NULL DEFAULT '',
    -- What vendors bill beside the totals of an answer (core/ledger/entry.go): writes to caches that keep them 30
    -- minutes or 12 hours, and calls of hosted tools.
    cache_write_30m_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_12h_tokens INTEGER NOT NULL DEFAULT 0,
    tool_calls             INTEGER NOT NULL DEFAULT 0,
    -- 1 for a request that used something that had no price.
    unpriced               INTEGER NOT NULL DEFAULT 0,
    -- The charges that the request's cost is the sum of, as ledger.Result.Charge writes them; empty for one charge
    -- that the row says.
    charges                TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (process, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_start_time ON ledger (start_time);

-- Few rows at any time, which is what makes looking for them cheap.
CREATE INDEX ledger_open ON ledger (process) WHERE outcome = 'open';

-- The requests of a key, the newest first. The condition keeps reports, which read all entries by key,
-- from this index.
CREATE INDEX ledger_key_time ON ledger (key_id, start_time) WHERE key_id <> '';

-- The requests that did not simply succeed, the newest first, with what they are searched by: few of
-- all, so that an index of them is small and costs other requests nothing.
CREATE INDEX ledger_faults ON ledger (start_time, process, number, outcome, attempts, key_id, upstream, kind, reason)
    WHERE attempts > 1 OR outcome NOT IN ('ok', 'open') OR kind <> '' OR reason <> '';

-- What keys and owners have spent, which budgets go on from when a core starts: the ledger
-- has too many rows to be read for it. Each process adds to rows of its own, in the
-- transaction that closes the entries, so that none waits for another.
CREATE TABLE ledger_spent (
    -- Days since 1970, in UTC, in which the requests began.
    day     INTEGER NOT NULL,
    -- The process that wrote the entries.
    process INTEGER NOT NULL,
    key_id  TEXT NOT NULL,
    owner   TEXT NOT NULL,
    -- Nano-dollars.
    cost    INTEGER NOT NULL,
    PRIMARY KEY (day, process, key_id, owner)
) STRICT, WITHOUT ROWID;

-- What one key or one owner has spent.
CREATE INDEX ledger_spent_key ON ledger_spent (key_id, day);
CREATE INDEX ledger_spent_owner ON ledger_spent (owner, day);

-- Roll-ups: sums of the ledger's rows by hour and by day, which reports are made of instead
-- of the rows (docs/decisions/0029-roll-ups-follow-the-rows.md).

-- The hours that have roll-ups, or will have. Triggers count each change of a row in
-- `changed`, so that no writer can forget it, as a change by hand. An hour's roll-ups are those of its rows where rolled = changed, and they
-- are in the day's where in_day = changed as well.
CREATE TABLE ledger_hours (
    -- Hours since 1970, in UTC, in which the requests began.
    hour    INTEGER NOT NULL PRIMARY KEY,
    changed INTEGER NOT NULL,
    -- -1 until there are roll-ups.
    rolled  INTEGER NOT NULL,
    in_day  INTEGER NOT NULL
) STRICT;

-- The key of a row changes only by hand, which ledger_hours_moved is for.
-- +goose StatementBegin
CREATE TRIGGER ledger_hours_inserted AFTER INSERT ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = NEW.start_time / 3600000000;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_hours_updated AFTER UPDATE ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = NEW.start_time / 3600000000;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_hours_moved AFTER UPDATE OF start_time ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = OLD.start_time / 3600000000;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_hours_deleted AFTER DELETE ON ledger BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour = OLD.start_time / 3600000000;
END;
-- +goose StatementEnd

-- Sums of the rows that are closed. Level 0 is by hour, level 1 by day, and level 2 by day
-- without key and owner, which are empty.
CREATE TABLE ledger_rollups (
    level                  INTEGER NOT NULL,
    -- Hours or days since 1970, in UTC.
    period                 INTEGER NOT NULL,
    key_id                 TEXT NOT NULL,
    owner                  TEXT NOT NULL,
    protocol               TEXT NOT NULL,
    model                  TEXT NOT NULL,
    upstream               TEXT NOT NULL,
    served_model           TEXT NOT NULL,
    requests               INTEGER NOT NULL,
    ok                     INTEGER NOT NULL,
    failed                 INTEGER NOT NULL,
    cancelled              INTEGER NOT NULL,
    interrupted            INTEGER NOT NULL,
    input_tokens           INTEGER NOT NULL,
    output_tokens          INTEGER NOT NULL,
    cache_read_tokens      INTEGER NOT NULL,
    cache_write_tokens     INTEGER NOT NULL,
    cache_write_1h_tokens  INTEGER NOT NULL,
    input_image_tokens     INTEGER NOT NULL,
    input_audio_tokens     INTEGER NOT NULL,
    thinking_tokens        INTEGER NOT NULL,
    output_image_tokens    INTEGER NOT NULL,
    output_audio_tokens    INTEGER NOT NULL,
    images                 INTEGER NOT NULL,
    cost                   INTEGER NOT NULL,
    unpriced               INTEGER NOT NULL,
    estimated              INTEGER NOT NULL,
    rejected               INTEGER NOT NULL,
    -- Times to the first events of streams: their sum, and a histogram from which quantiles are
    -- estimated. first_event_known is how many
    -- requests they cover.
    first_event_known      INTEGER NOT NULL DEFAULT 0,
    -- Their times, in microseconds.
    first_event            INTEGER NOT NULL DEFAULT 0,
    -- Requests by their time: at most 16 ms, at most 32 ms, and so on to 131.072 s; the last one is of
    -- those above.
    first_event_0          INTEGER NOT NULL DEFAULT 0,
    first_event_1          INTEGER NOT NULL DEFAULT 0,
    first_event_2          INTEGER NOT NULL DEFAULT 0,
    first_event_3          INTEGER NOT NULL DEFAULT 0,
    first_event_4          INTEGER NOT NULL DEFAULT 0,
    first_event_5          INTEGER NOT NULL DEFAULT 0,
    first_event_6          INTEGER NOT NULL DEFAULT 0,
    first_event_7          INTEGER NOT NULL DEFAULT 0,
    first_event_8          INTEGER NOT NULL DEFAULT 0,
    first_event_9          INTEGER NOT NULL DEFAULT 0,
    first_event_10         INTEGER NOT NULL DEFAULT 0,
    first_event_11         INTEGER NOT NULL DEFAULT 0,
    first_event_12         INTEGER NOT NULL DEFAULT 0,
    first_event_13         INTEGER NOT NULL DEFAULT 0,
    first_event_14         INTEGER NOT NULL DEFAULT 0,
    cache_write_30m_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_12h_tokens INTEGER NOT NULL DEFAULT 0,
    tool_calls             INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (level, period, key_id, owner, protocol, model, upstream, served_model)
) STRICT, WITHOUT ROWID;

-- Sums of what was pruned.
CREATE TABLE ledger_days (
    -- Days since 1970, in UTC.
    day                    INTEGER NOT NULL,
    key_id                 TEXT NOT NULL,
    owner                  TEXT NOT NULL,
    protocol               TEXT NOT NULL,
    model                  TEXT NOT NULL,
    upstream               TEXT NOT NULL,
    served_model           TEXT NOT NULL,
    requests               INTEGER NOT NULL,
    ok                     INTEGER NOT NULL,
    failed                 INTEGER NOT NULL,
    cancelled              INTEGER NOT NULL,
    interrupted            INTEGER NOT NULL,
    input_tokens           INTEGER NOT NULL,
    output_tokens          INTEGER NOT NULL,
    cache_read_tokens      INTEGER NOT NULL,
    cache_write_tokens     INTEGER NOT NULL,
    cache_write_1h_tokens  INTEGER NOT NULL,
    input_image_tokens     INTEGER NOT NULL,
    input_audio_tokens     INTEGER NOT NULL,
    thinking_tokens        INTEGER NOT NULL,
    output_image_tokens    INTEGER NOT NULL,
    output_audio_tokens    INTEGER NOT NULL,
    images                 INTEGER NOT NULL,
    cost                   INTEGER NOT NULL,
    -- Requests that used something which has no price.
    unpriced               INTEGER NOT NULL,
    -- Requests whose usage is not the upstream's, and those of them whose upstream's figures
    -- were rejected.
    estimated              INTEGER NOT NULL DEFAULT 0,
    rejected               INTEGER NOT NULL DEFAULT 0,
    first_event_known      INTEGER NOT NULL DEFAULT 0,
    first_event            INTEGER NOT NULL DEFAULT 0,
    first_event_0          INTEGER NOT NULL DEFAULT 0,
    first_event_1          INTEGER NOT NULL DEFAULT 0,
    first_event_2          INTEGER NOT NULL DEFAULT 0,
    first_event_3          INTEGER NOT NULL DEFAULT 0,
    first_event_4          INTEGER NOT NULL DEFAULT 0,
    first_event_5          INTEGER NOT NULL DEFAULT 0,
    first_event_6          INTEGER NOT NULL DEFAULT 0,
    first_event_7          INTEGER NOT NULL DEFAULT 0,
    first_event_8          INTEGER NOT NULL DEFAULT 0,
    first_event_9          INTEGER NOT NULL DEFAULT 0,
    first_event_10         INTEGER NOT NULL DEFAULT 0,
    first_event_11         INTEGER NOT NULL DEFAULT 0,
    first_event_12         INTEGER NOT NULL DEFAULT 0,
    first_event_13         INTEGER NOT NULL DEFAULT 0,
    first_event_14         INTEGER NOT NULL DEFAULT 0,
    cache_write_30m_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_12h_tokens INTEGER NOT NULL DEFAULT 0,
    tool_calls             INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, key_id, owner, protocol, model, upstream, served_model)
) STRICT, WITHOUT ROWID;

-- Items of answers that callers may refer to by identifier later on, for a bounded time.
-- What an item says is encrypted, by a key that is made of its identifier; neither is here.
CREATE TABLE items (
    -- SHA-256 of the API key's identifier and the item's.
    id      BLOB NOT NULL PRIMARY KEY,
    sealed  BLOB NOT NULL,
    expires INTEGER NOT NULL
) STRICT;

CREATE INDEX items_expires ON items (expires);

-- The bodies of requests that were to be captured, apart from the entries that lists read.
CREATE TABLE captures (
    -- The request's entry.
    process    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    key_id     TEXT NOT NULL,
    start_time INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    -- The name of the key that content is encrypted by; empty is in clear.
    sealed_by  TEXT NOT NULL DEFAULT '',
    -- As core/capture/vault writes it.
    content    BLOB NOT NULL,
    PRIMARY KEY (process, number)
) STRICT;

CREATE INDEX captures_expires ON captures (expires);
CREATE INDEX captures_start ON captures (start_time);
CREATE INDEX captures_key ON captures (key_id, start_time);

-- Programs of two releases may use one database: a migration adds what the newer one needs, and
-- what only the older one needs is removed a release later. This is the lowest version of
-- the schema that a program must know to use the database (../README.md).
CREATE TABLE schema_least (
    version INTEGER NOT NULL
) STRICT;

INSERT INTO schema_least (version) VALUES (1);
