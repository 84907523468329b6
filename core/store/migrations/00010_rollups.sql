-- Roll-ups: sums of the ledger's rows by hour and by day, which reports are made of instead
-- of the rows (docs/decisions/0029-roll-ups-follow-the-rows.md).

-- The hours that have roll-ups, or will have. Triggers count each change of a row in
-- `changed`, so that no writer can forget it: a core of the version before, a late row, a
-- change by hand. An hour's roll-ups are those of its rows where rolled = changed, and they
-- are in the day's where in_day = changed as well.
CREATE TABLE ledger_hours (
    -- Hours since 1970, in UTC, in which the requests began.
    hour    {{integer}} NOT NULL PRIMARY KEY,
    changed {{integer}} NOT NULL,
    -- -1 until there are roll-ups.
    rolled  {{integer}} NOT NULL,
    in_day  {{integer}} NOT NULL
) {{strict}};

{{countchanges "ledger" "ledger_hours" "hour" "$row.start_time / 3600000000"}}

-- Sums of the rows that are closed. Level 0 is by hour, level 1 by day, and level 2 by day
-- without key and owner, which are empty.
CREATE TABLE ledger_rollups (
    level                 {{integer}} NOT NULL,
    -- Hours or days since 1970, in UTC.
    period                {{integer}} NOT NULL,
    key_id                {{text}}    NOT NULL,
    owner                 {{text}}    NOT NULL,
    protocol              {{text}}    NOT NULL,
    model                 {{text}}    NOT NULL,
    upstream              {{text}}    NOT NULL,
    served_model          {{text}}    NOT NULL,
    requests              {{integer}} NOT NULL,
    ok                    {{integer}} NOT NULL,
    failed                {{integer}} NOT NULL,
    cancelled             {{integer}} NOT NULL,
    interrupted           {{integer}} NOT NULL,
    input_tokens          {{integer}} NOT NULL,
    output_tokens         {{integer}} NOT NULL,
    cache_read_tokens     {{integer}} NOT NULL,
    cache_write_tokens    {{integer}} NOT NULL,
    cache_write_1h_tokens {{integer}} NOT NULL,
    input_image_tokens    {{integer}} NOT NULL,
    input_audio_tokens    {{integer}} NOT NULL,
    thinking_tokens       {{integer}} NOT NULL,
    output_image_tokens   {{integer}} NOT NULL,
    output_audio_tokens   {{integer}} NOT NULL,
    images                {{integer}} NOT NULL,
    cost                  {{integer}} NOT NULL,
    unpriced              {{integer}} NOT NULL,
    estimated             {{integer}} NOT NULL,
    rejected              {{integer}} NOT NULL,
    PRIMARY KEY (level, period, key_id, owner, protocol, model, upstream, served_model)
) {{clustered}};

-- Cores of the version that keeps roll-ups say so: one of them does it for all.
ALTER TABLE ledger_processes ADD COLUMN rolls {{integer}} NOT NULL DEFAULT 0;
