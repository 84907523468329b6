-- What changes of keys cost does not grow with the number of keys: each change notes the
-- secrets it is about (docs/decisions/0028-keys-are-followed-by-what-changed.md).

-- The number of the last change of each secret that has changed since this table exists.
-- Secrets that no key has any more stay: they are the tombstones. The numbers are those of
-- keys_version, whose one row is locked from a change until its transaction ends: who sees a
-- number sees all smaller ones.
CREATE TABLE keys_changes (
    hash   {{bytes}}   NOT NULL PRIMARY KEY,
    number {{integer}} NOT NULL
) {{clustered}};

CREATE INDEX keys_changes_number ON keys_changes (number, hash);

{{noted "keys" "hash" "previous_hash"}}

-- Pages of keys are read in this order.
CREATE INDEX keys_create_time ON keys (create_time, id);

-- What one key or one owner has spent.
CREATE INDEX ledger_spent_key ON ledger_spent (key_id, day);
CREATE INDEX ledger_spent_owner ON ledger_spent (owner, day);
