-- What a process says of itself with each sign of life; empty for one of an older release, and
-- before the first.

-- The machine's name, the program's version, and where it was told to listen.
ALTER TABLE ledger_processes ADD COLUMN host {{text}} NOT NULL DEFAULT '';
ALTER TABLE ledger_processes ADD COLUMN version {{text}} NOT NULL DEFAULT '';
ALTER TABLE ledger_processes ADD COLUMN address {{text}} NOT NULL DEFAULT '';
-- The hash of the configuration in force.
ALTER TABLE ledger_processes ADD COLUMN configuration {{text}} NOT NULL DEFAULT '';
-- The parts that do not work, separated by commas.
ALTER TABLE ledger_processes ADD COLUMN degraded {{text}} NOT NULL DEFAULT '';
