-- What vendors bill beside the totals of an answer (core/ledger/quantity.go): writes to caches that keep them 30
-- minutes or 12 hours, and calls of hosted tools.
ALTER TABLE ledger ADD COLUMN cache_write_30m_tokens {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN cache_write_12h_tokens {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN tool_calls {{integer}} NOT NULL DEFAULT 0;
-- 1 for a request that used something that had no price. Of rows of older programs the empty price says so.
ALTER TABLE ledger ADD COLUMN unpriced {{integer}} NOT NULL DEFAULT 0;
-- The charges that the request's cost is the sum of, as ledger.Result.Charge writes them; empty for one charge
-- that the row says.
ALTER TABLE ledger ADD COLUMN charges {{text}} NOT NULL DEFAULT '';

ALTER TABLE ledger_rollups ADD COLUMN cache_write_30m_tokens {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN cache_write_12h_tokens {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN tool_calls {{integer}} NOT NULL DEFAULT 0;

ALTER TABLE ledger_days ADD COLUMN cache_write_30m_tokens {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN cache_write_12h_tokens {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN tool_calls {{integer}} NOT NULL DEFAULT 0;
