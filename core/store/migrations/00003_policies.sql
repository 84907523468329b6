-- Keys get an owner, labels, a policy and, for a while after a rotation, a second
-- secret.

ALTER TABLE keys ADD COLUMN owner {{text}} NOT NULL DEFAULT '';
-- JSON objects: of texts, and core/keys.Policy.
ALTER TABLE keys ADD COLUMN labels {{text}} NOT NULL DEFAULT '{}';
ALTER TABLE keys ADD COLUMN policy {{text}} NOT NULL DEFAULT '{}';
-- When hash's secret was made.
ALTER TABLE keys ADD COLUMN secret_time {{integer}} NOT NULL DEFAULT 0;
UPDATE keys SET secret_time = create_time;
-- The secret before it: NULL in all three where there is none.
ALTER TABLE keys ADD COLUMN previous_hash {{bytes}} CHECK (length(previous_hash) = 32);
ALTER TABLE keys ADD COLUMN previous_time {{integer}};
ALTER TABLE keys ADD COLUMN previous_expire_time {{integer}};

CREATE UNIQUE INDEX keys_previous_hash ON keys (previous_hash);
CREATE INDEX keys_name ON keys (name);
