-- What a request went through, what it lost, and what to find it by, beside its entry.

-- The trace, in hexadecimal digits; empty for none.
ALTER TABLE ledger ADD COLUMN trace_id {{text}} NOT NULL DEFAULT '';
-- What the upstream speaks, by the names of protocol.
ALTER TABLE ledger ADD COLUMN upstream_protocol {{text}} NOT NULL DEFAULT '';
-- Names of the contract's members, separated by commas.
ALTER TABLE ledger ADD COLUMN losses {{text}} NOT NULL DEFAULT '';
-- As ledger.AppendTimeline writes it; empty where it is not known.
ALTER TABLE ledger ADD COLUMN timeline {{text}} NOT NULL DEFAULT '';

-- The requests of a key, the newest first. The condition keeps reports, which read all entries by key,
-- from this index.
CREATE INDEX ledger_key_time ON ledger (key_id, start_time) WHERE key_id <> '';
