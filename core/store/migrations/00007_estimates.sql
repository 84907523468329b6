-- Usage that no upstream told is marked, and so is what no upstream can have meant.

-- Empty for the upstream's figures; estimated where it told none; rejected where its
-- figures cannot be true.
ALTER TABLE ledger ADD COLUMN usage_source {{text}} NOT NULL DEFAULT '';
-- Requests whose usage is not the upstream's, and those of them whose upstream's figures
-- were rejected.
ALTER TABLE ledger_days ADD COLUMN estimated {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN rejected {{integer}} NOT NULL DEFAULT 0;

-- Figures below 0 were stored as upstreams told them, and took from the sums.
UPDATE ledger SET
    input_tokens          = CASE WHEN input_tokens          < 0 THEN 0 ELSE input_tokens          END,
    output_tokens         = CASE WHEN output_tokens         < 0 THEN 0 ELSE output_tokens         END,
    cache_read_tokens     = CASE WHEN cache_read_tokens     < 0 THEN 0 ELSE cache_read_tokens     END,
    cache_write_tokens    = CASE WHEN cache_write_tokens    < 0 THEN 0 ELSE cache_write_tokens    END,
    cache_write_1h_tokens = CASE WHEN cache_write_1h_tokens < 0 THEN 0 ELSE cache_write_1h_tokens END,
    input_image_tokens    = CASE WHEN input_image_tokens    < 0 THEN 0 ELSE input_image_tokens    END,
    input_audio_tokens    = CASE WHEN input_audio_tokens    < 0 THEN 0 ELSE input_audio_tokens    END,
    thinking_tokens       = CASE WHEN thinking_tokens       < 0 THEN 0 ELSE thinking_tokens       END,
    output_image_tokens   = CASE WHEN output_image_tokens   < 0 THEN 0 ELSE output_image_tokens   END,
    output_audio_tokens   = CASE WHEN output_audio_tokens   < 0 THEN 0 ELSE output_audio_tokens   END,
    usage_source          = 'rejected'
WHERE input_tokens < 0 OR output_tokens < 0 OR cache_read_tokens < 0 OR cache_write_tokens < 0 OR cache_write_1h_tokens < 0
    OR input_image_tokens < 0 OR input_audio_tokens < 0 OR thinking_tokens < 0 OR output_image_tokens < 0 OR output_audio_tokens < 0;
