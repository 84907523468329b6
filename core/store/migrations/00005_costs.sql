-- What requests cost, and sums of what was pruned.

-- The key's owner as the request began; empty for none.
ALTER TABLE ledger ADD COLUMN owner {{text}} NOT NULL DEFAULT '';
-- Nano-dollars.
ALTER TABLE ledger ADD COLUMN cost {{integer}} NOT NULL DEFAULT 0;
-- The ID of the price that the cost was reckoned by; empty for none.
ALTER TABLE ledger ADD COLUMN price {{text}} NOT NULL DEFAULT '';

CREATE TABLE ledger_days (
    -- Days since 1970, in UTC.
    day                   {{integer}} NOT NULL,
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
    -- Requests that used something which has no price.
    unpriced              {{integer}} NOT NULL,
    PRIMARY KEY (day, key_id, owner, protocol, model, upstream, served_model)
) {{clustered}};
