-- Times to the first events of streams, in the sums that reports are made of: their sum, and a
-- histogram from which quantiles are estimated (docs/decisions/0061-first-events-in-a-histogram.md).
-- Sums that were made before this step, or by a program that does not know it, have
-- first_event_known = 0: of their requests it is not known.

-- How many of the requests the columns below are of.
ALTER TABLE ledger_rollups ADD COLUMN first_event_known {{integer}} NOT NULL DEFAULT 0;
-- Their times, in microseconds.
ALTER TABLE ledger_rollups ADD COLUMN first_event {{integer}} NOT NULL DEFAULT 0;
-- Requests by their time: at most 16 ms, at most 32 ms, and so on to 131.072 s; the last one is of
-- those above.
ALTER TABLE ledger_rollups ADD COLUMN first_event_0 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_1 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_2 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_3 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_4 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_5 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_6 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_7 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_8 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_9 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_10 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_11 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_12 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_13 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_rollups ADD COLUMN first_event_14 {{integer}} NOT NULL DEFAULT 0;

ALTER TABLE ledger_days ADD COLUMN first_event_known {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_0 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_1 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_2 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_3 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_4 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_5 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_6 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_7 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_8 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_9 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_10 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_11 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_12 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_13 {{integer}} NOT NULL DEFAULT 0;
ALTER TABLE ledger_days ADD COLUMN first_event_14 {{integer}} NOT NULL DEFAULT 0;
