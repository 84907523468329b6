-- +goose Up

-- One row: how often the keys have changed. Triggers count, so that no writer can
-- forget it and a change by hand is seen as well.
CREATE TABLE keys_version (
    one     BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    version BIGINT NOT NULL
);

INSERT INTO keys_version (one, version) VALUES (1, 0);

-- Keys: who may call. Secrets are not here, only their SHA-256.
CREATE TABLE keys (
    id                   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash                 BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    group_name           TEXT COLLATE "C" NOT NULL,
    name                 TEXT COLLATE "C" NOT NULL,
    -- Times are microseconds since 1970 in UTC; NULL is never.
    create_time          BIGINT NOT NULL,
    expire_time          BIGINT,
    revoke_time          BIGINT,
    -- Empty for none.
    owner                TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- JSON objects: of texts, and core/keys.Policy.
    labels               TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    policy               TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    -- When hash's secret was made.
    secret_time          BIGINT NOT NULL DEFAULT 0,
    -- The secret before it: NULL in all three where there is none.
    previous_hash        BYTEA CHECK (length(previous_hash) = 32),
    previous_time        BIGINT,
    previous_expire_time BIGINT
);

CREATE UNIQUE INDEX keys_previous_hash ON keys (previous_hash);
CREATE INDEX keys_name ON keys (name);

-- Pages of keys are read in this order.
CREATE INDEX keys_create_time ON keys (create_time, id);

-- The number of the last change of each secret (docs/decisions/0028-keys-are-followed-by-what-changed.md).
-- Secrets that no key has any more stay: they are the tombstones. The numbers come from
-- keys_version, whose one row is locked from a change until its transaction ends: a reader that sees a
-- number sees all smaller ones.
CREATE TABLE keys_changes (
    hash   BYTEA NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
);

CREATE INDEX keys_changes_number ON keys_changes (number, hash);

-- Once for each statement: each update of the counter leaves a dead row until its transaction ends, so that a
-- trigger of rows would make a transaction of n rows cost n².
-- +goose StatementBegin
CREATE FUNCTION keys_noted() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE changed BIGINT; BEGIN
    UPDATE keys_version SET version = version + 1 RETURNING version INTO changed;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO keys_changes (hash, number)
            SELECT value, changed FROM (SELECT hash AS value FROM older WHERE hash IS NOT NULL UNION SELECT previous_hash AS value FROM older WHERE previous_hash IS NOT NULL) AS noted
            ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO keys_changes (hash, number)
            SELECT value, changed FROM (SELECT hash AS value FROM newer WHERE hash IS NOT NULL UNION SELECT previous_hash AS value FROM newer WHERE previous_hash IS NOT NULL) AS noted
            ON CONFLICT (hash) DO UPDATE SET number = excluded.number;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER keys_inserted AFTER INSERT ON keys REFERENCING NEW TABLE AS newer FOR EACH STATEMENT EXECUTE FUNCTION keys_noted();
CREATE TRIGGER keys_updated AFTER UPDATE ON keys REFERENCING OLD TABLE AS older NEW TABLE AS newer FOR EACH STATEMENT EXECUTE FUNCTION keys_noted();
CREATE TRIGGER keys_deleted AFTER DELETE ON keys REFERENCING OLD TABLE AS older FOR EACH STATEMENT EXECUTE FUNCTION keys_noted();

-- The audit: what was changed, by whom and when, each entry with the hash of the one
-- before it (core/audit). No secret and no hash of one is in it.
CREATE TABLE audit (
    number   BIGINT NOT NULL PRIMARY KEY CHECK (number > 0),
    -- Microseconds since 1970 in UTC.
    time     BIGINT NOT NULL,
    actor    TEXT COLLATE "C" NOT NULL,
    action   TEXT COLLATE "C" NOT NULL,
    subject  TEXT COLLATE "C" NOT NULL,
    detail   TEXT COLLATE "C" NOT NULL,
    previous BYTEA NOT NULL CHECK (length(previous) = 32),
    hash     BYTEA NOT NULL CHECK (length(hash) = 32)
);

CREATE INDEX audit_subject ON audit (subject, number);

-- +goose StatementBegin
CREATE FUNCTION audit_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'audit is append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_kept();

-- The ledger: one row for each accepted request. No prompt, answer or key is in it.

-- Processes that write, and when each last said that it is alive.
CREATE TABLE ledger_processes (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    start_time    BIGINT NOT NULL,
    seen_time     BIGINT NOT NULL,
    -- What a process says of itself with each sign of life; empty before the first: the
    -- machine's name, the program's version, and where it was told to listen.
    host          TEXT COLLATE "C" NOT NULL DEFAULT '',
    version       TEXT COLLATE "C" NOT NULL DEFAULT '',
    address       TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- The hash of the configuration in force.
    configuration TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- The parts that do not work, separated by commas.
    degraded      TEXT COLLATE "C" NOT NULL DEFAULT ''
);

-- Partitioned by the day, of UTC, in which requests began (docs/decisions/0063-the-ledger-by-day.md), so that old
-- days are dropped and not deleted. Cores make the partitions of the next days (Extend).
CREATE TABLE ledger (
    process                BIGINT NOT NULL REFERENCES ledger_processes (id),
    number                 BIGINT NOT NULL,
    request_id             TEXT COLLATE "C" NOT NULL,
    key_id                 TEXT COLLATE "C" NOT NULL,
    protocol               TEXT COLLATE "C" NOT NULL,
    method                 TEXT COLLATE "C" NOT NULL,
    model                  TEXT COLLATE "C" NOT NULL,
    -- Times are microseconds since 1970 in UTC, durations microseconds.
    start_time             BIGINT NOT NULL,
    outcome                TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('open', 'ok', 'failed', 'cancelled', 'interrupted')),
    kind                   TEXT COLLATE "C" NOT NULL,
    reason                 TEXT COLLATE "C" NOT NULL,
    route                  TEXT COLLATE "C" NOT NULL,
    upstream               TEXT COLLATE "C" NOT NULL,
    attempts               BIGINT NOT NULL,
    served_model           TEXT COLLATE "C" NOT NULL,
    input_tokens           BIGINT NOT NULL,
    output_tokens          BIGINT NOT NULL,
    cache_read_tokens      BIGINT NOT NULL,
    cache_write_tokens     BIGINT NOT NULL,
    -- Part of cache_write_tokens.
    cache_write_1h_tokens  BIGINT NOT NULL,
    input_image_tokens     BIGINT NOT NULL,
    input_audio_tokens     BIGINT NOT NULL,
    thinking_tokens        BIGINT NOT NULL,
    output_image_tokens    BIGINT NOT NULL,
    output_audio_tokens    BIGINT NOT NULL,
    images                 BIGINT NOT NULL,
    duration               BIGINT NOT NULL,
    first_event            BIGINT NOT NULL,
    -- The key's owner as the request began; empty for none.
    owner                  TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- Nano-dollars.
    cost                   BIGINT NOT NULL DEFAULT 0,
    -- The ID of the price that the cost was reckoned by; empty for none.
    price                  TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- Empty for the upstream's figures; estimated where it reported none; rejected where its
    -- figures cannot be true.
    usage_source           TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- The trace, in hexadecimal digits; empty for none.
    trace_id               TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- What the upstream speaks, by the names of protocol.
    upstream_protocol      TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- Names of the contract's members, separated by commas.
    losses                 TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- As ledger.AppendTimeline writes it; empty where it is not known.
    timeline               TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- What vendors bill beside the totals of an answer (core/ledger/entry.go): writes to caches that keep them 30
    -- minutes or 12 hours, and calls of hosted tools.
    cache_write_30m_tokens BIGINT NOT NULL DEFAULT 0,
    cache_write_12h_tokens BIGINT NOT NULL DEFAULT 0,
    tool_calls             BIGINT NOT NULL DEFAULT 0,
    -- 1 for a request that used something that had no price.
    unpriced               BIGINT NOT NULL DEFAULT 0,
    -- The charges that the request's cost is the sum of, as ledger.Result.Charge writes them; empty for one charge
    -- that the row says.
    charges                TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (process, number, start_time)
) PARTITION BY RANGE (start_time);

-- The rows of all other times: of clocks that are wrong, and of days that were pruned.
CREATE TABLE ledger_default PARTITION OF ledger DEFAULT;

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
    day     BIGINT NOT NULL,
    -- The process that wrote the entries.
    process BIGINT NOT NULL,
    key_id  TEXT COLLATE "C" NOT NULL,
    owner   TEXT COLLATE "C" NOT NULL,
    -- Nano-dollars.
    cost    BIGINT NOT NULL,
    PRIMARY KEY (day, process, key_id, owner)
);

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
    hour    BIGINT NOT NULL PRIMARY KEY,
    changed BIGINT NOT NULL,
    -- -1 until there are roll-ups.
    rolled  BIGINT NOT NULL,
    in_day  BIGINT NOT NULL
);

-- Triggers of statements cost a writer little. What is deleted is counted where there is no counter yet, too: a
-- transaction that sees an older state of the database does not see a new counter, and fails instead of skipping it.
-- +goose StatementBegin
CREATE FUNCTION ledger_hours_inserted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour IN (SELECT start_time / 3600000000 AS key FROM new_rows);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER ledger_hours_inserted AFTER INSERT ON ledger REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger_hours_inserted();
-- +goose StatementBegin
CREATE FUNCTION ledger_hours_updated() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE ledger_hours SET changed = changed + 1 WHERE hour IN (SELECT start_time / 3600000000 AS key FROM new_rows UNION SELECT start_time / 3600000000 AS key FROM old_rows);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER ledger_hours_updated AFTER UPDATE ON ledger REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger_hours_updated();
-- +goose StatementBegin
CREATE FUNCTION ledger_hours_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ledger_hours AS counter SELECT DISTINCT key, 1, -1, -1 FROM (SELECT start_time / 3600000000 AS key FROM old_rows) AS keys
        ON CONFLICT (hour) DO UPDATE SET changed = counter.changed + 1;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER ledger_hours_deleted AFTER DELETE ON ledger REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION ledger_hours_deleted();

-- Sums of the rows that are closed. Level 0 is by hour, level 1 by day, and level 2 by day
-- without key and owner, which are empty.
CREATE TABLE ledger_rollups (
    level                  BIGINT NOT NULL,
    -- Hours or days since 1970, in UTC.
    period                 BIGINT NOT NULL,
    key_id                 TEXT COLLATE "C" NOT NULL,
    owner                  TEXT COLLATE "C" NOT NULL,
    protocol               TEXT COLLATE "C" NOT NULL,
    model                  TEXT COLLATE "C" NOT NULL,
    upstream               TEXT COLLATE "C" NOT NULL,
    served_model           TEXT COLLATE "C" NOT NULL,
    requests               BIGINT NOT NULL,
    ok                     BIGINT NOT NULL,
    failed                 BIGINT NOT NULL,
    cancelled              BIGINT NOT NULL,
    interrupted            BIGINT NOT NULL,
    input_tokens           BIGINT NOT NULL,
    output_tokens          BIGINT NOT NULL,
    cache_read_tokens      BIGINT NOT NULL,
    cache_write_tokens     BIGINT NOT NULL,
    cache_write_1h_tokens  BIGINT NOT NULL,
    input_image_tokens     BIGINT NOT NULL,
    input_audio_tokens     BIGINT NOT NULL,
    thinking_tokens        BIGINT NOT NULL,
    output_image_tokens    BIGINT NOT NULL,
    output_audio_tokens    BIGINT NOT NULL,
    images                 BIGINT NOT NULL,
    cost                   BIGINT NOT NULL,
    unpriced               BIGINT NOT NULL,
    estimated              BIGINT NOT NULL,
    rejected               BIGINT NOT NULL,
    -- Times to the first events of streams: their sum, and a histogram from which quantiles are
    -- estimated. first_event_known is how many
    -- requests they cover.
    first_event_known      BIGINT NOT NULL DEFAULT 0,
    -- Their times, in microseconds.
    first_event            BIGINT NOT NULL DEFAULT 0,
    -- Requests by their time: at most 16 ms, at most 32 ms, and so on to 131.072 s; the last one is of
    -- those above.
    first_event_0          BIGINT NOT NULL DEFAULT 0,
    first_event_1          BIGINT NOT NULL DEFAULT 0,
    first_event_2          BIGINT NOT NULL DEFAULT 0,
    first_event_3          BIGINT NOT NULL DEFAULT 0,
    first_event_4          BIGINT NOT NULL DEFAULT 0,
    first_event_5          BIGINT NOT NULL DEFAULT 0,
    first_event_6          BIGINT NOT NULL DEFAULT 0,
    first_event_7          BIGINT NOT NULL DEFAULT 0,
    first_event_8          BIGINT NOT NULL DEFAULT 0,
    first_event_9          BIGINT NOT NULL DEFAULT 0,
    first_event_10         BIGINT NOT NULL DEFAULT 0,
    first_event_11         BIGINT NOT NULL DEFAULT 0,
    first_event_12         BIGINT NOT NULL DEFAULT 0,
    first_event_13         BIGINT NOT NULL DEFAULT 0,
    first_event_14         BIGINT NOT NULL DEFAULT 0,
    cache_write_30m_tokens BIGINT NOT NULL DEFAULT 0,
    cache_write_12h_tokens BIGINT NOT NULL DEFAULT 0,
    tool_calls             BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (level, period, key_id, owner, protocol, model, upstream, served_model)
);

-- Sums of what was pruned.
CREATE TABLE ledger_days (
    -- Days since 1970, in UTC.
    day                    BIGINT NOT NULL,
    key_id                 TEXT COLLATE "C" NOT NULL,
    owner                  TEXT COLLATE "C" NOT NULL,
    protocol               TEXT COLLATE "C" NOT NULL,
    model                  TEXT COLLATE "C" NOT NULL,
    upstream               TEXT COLLATE "C" NOT NULL,
    served_model           TEXT COLLATE "C" NOT NULL,
    requests               BIGINT NOT NULL,
    ok                     BIGINT NOT NULL,
    failed                 BIGINT NOT NULL,
    cancelled              BIGINT NOT NULL,
    interrupted            BIGINT NOT NULL,
    input_tokens           BIGINT NOT NULL,
    output_tokens          BIGINT NOT NULL,
    cache_read_tokens      BIGINT NOT NULL,
    cache_write_tokens     BIGINT NOT NULL,
    cache_write_1h_tokens  BIGINT NOT NULL,
    input_image_tokens     BIGINT NOT NULL,
    input_audio_tokens     BIGINT NOT NULL,
    thinking_tokens        BIGINT NOT NULL,
    output_image_tokens    BIGINT NOT NULL,
    output_audio_tokens    BIGINT NOT NULL,
    images                 BIGINT NOT NULL,
    cost                   BIGINT NOT NULL,
    -- Requests that used something which has no price.
    unpriced               BIGINT NOT NULL,
    -- Requests whose usage is not the upstream's, and those of them whose upstream's figures
    -- were rejected.
    estimated              BIGINT NOT NULL DEFAULT 0,
    rejected               BIGINT NOT NULL DEFAULT 0,
    first_event_known      BIGINT NOT NULL DEFAULT 0,
    first_event            BIGINT NOT NULL DEFAULT 0,
    first_event_0          BIGINT NOT NULL DEFAULT 0,
    first_event_1          BIGINT NOT NULL DEFAULT 0,
    first_event_2          BIGINT NOT NULL DEFAULT 0,
    first_event_3          BIGINT NOT NULL DEFAULT 0,
    first_event_4          BIGINT NOT NULL DEFAULT 0,
    first_event_5          BIGINT NOT NULL DEFAULT 0,
    first_event_6          BIGINT NOT NULL DEFAULT 0,
    first_event_7          BIGINT NOT NULL DEFAULT 0,
    first_event_8          BIGINT NOT NULL DEFAULT 0,
    first_event_9          BIGINT NOT NULL DEFAULT 0,
    first_event_10         BIGINT NOT NULL DEFAULT 0,
    first_event_11         BIGINT NOT NULL DEFAULT 0,
    first_event_12         BIGINT NOT NULL DEFAULT 0,
    first_event_13         BIGINT NOT NULL DEFAULT 0,
    first_event_14         BIGINT NOT NULL DEFAULT 0,
    cache_write_30m_tokens BIGINT NOT NULL DEFAULT 0,
    cache_write_12h_tokens BIGINT NOT NULL DEFAULT 0,
    tool_calls             BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, key_id, owner, protocol, model, upstream, served_model)
);

-- Items of answers that callers may refer to by identifier later on, for a bounded time.
-- What an item says is encrypted, by a key that is made of its identifier; neither is here.
CREATE TABLE items (
    -- SHA-256 of the API key's identifier and the item's.
    id      BYTEA NOT NULL PRIMARY KEY,
    sealed  BYTEA NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX items_expires ON items (expires);

-- The bodies of requests that were to be captured, apart from the entries that lists read.
CREATE TABLE captures (
    -- The request's entry.
    process    BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    key_id     TEXT COLLATE "C" NOT NULL,
    start_time BIGINT NOT NULL,
    expires    BIGINT NOT NULL,
    -- The name of the key that content is encrypted by; empty is in clear.
    sealed_by  TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- As core/capture/vault writes it.
    content    BYTEA NOT NULL,
    PRIMARY KEY (process, number)
);

CREATE INDEX captures_expires ON captures (expires);
CREATE INDEX captures_start ON captures (start_time);
CREATE INDEX captures_key ON captures (key_id, start_time);

-- Programs of two releases may use one database: a migration adds what the newer one needs, and
-- what only the older one needs is removed a release later. This is the lowest version of
-- the schema that a program must know to use the database (../README.md).
CREATE TABLE schema_least (
    version BIGINT NOT NULL
);

INSERT INTO schema_least (version) VALUES (1);
