-- The ledger: one row for each accepted request. No prompt, answer or key is in it.

-- Processes that write, and when each last said that it is alive.
CREATE TABLE ledger_processes (
    id         {{identity}},
    start_time {{integer}} NOT NULL,
    seen_time  {{integer}} NOT NULL
) {{strict}};

CREATE TABLE ledger (
    process             {{integer}} NOT NULL REFERENCES ledger_processes (id),
    number              {{integer}} NOT NULL,
    request_id          {{text}} NOT NULL,
    key_id              {{text}} NOT NULL,
    protocol            {{text}} NOT NULL,
    method              {{text}} NOT NULL,
    model               {{text}} NOT NULL,
    -- Times are microseconds since 1970 in UTC, durations microseconds.
    start_time          {{integer}} NOT NULL,
    outcome             {{text}} NOT NULL CHECK (outcome IN ('open', 'ok', 'failed', 'cancelled', 'interrupted')),
    kind                {{text}} NOT NULL,
    reason              {{text}} NOT NULL,
    route               {{text}} NOT NULL,
    upstream            {{text}} NOT NULL,
    attempts            {{integer}} NOT NULL,
    served_model        {{text}} NOT NULL,
    input_tokens        {{integer}} NOT NULL,
    output_tokens       {{integer}} NOT NULL,
    cache_read_tokens   {{integer}} NOT NULL,
    cache_write_tokens  {{integer}} NOT NULL,
    -- Part of cache_write_tokens.
    cache_write_1h_tokens {{integer}} NOT NULL,
    input_image_tokens  {{integer}} NOT NULL,
    input_audio_tokens  {{integer}} NOT NULL,
    thinking_tokens     {{integer}} NOT NULL,
    output_image_tokens {{integer}} NOT NULL,
    output_audio_tokens {{integer}} NOT NULL,
    images              {{integer}} NOT NULL,
    duration            {{integer}} NOT NULL,
    first_event         {{integer}} NOT NULL,
    PRIMARY KEY (process, number)
) {{clustered}};

CREATE INDEX ledger_start_time ON ledger (start_time);

-- Few rows at any time, which is what makes looking for them cheap.
CREATE INDEX ledger_open ON ledger (process) WHERE outcome = 'open';
