-- Cores of the version that can write to a ledger partitioned by day say so. Partitioning is no
-- migration, but an operator's command (docs/decisions/0063-the-ledger-by-day.md), which makes sure of it.
ALTER TABLE ledger_processes ADD COLUMN partitions {{integer}} NOT NULL DEFAULT 0;
