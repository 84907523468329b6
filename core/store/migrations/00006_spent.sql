-- What keys and owners have spent, which budgets go on from when a core starts: the ledger
-- has too many rows to be read for it. Each process adds to rows of its own, in the
-- transaction that closes the entries, so that none waits for another.
CREATE TABLE ledger_spent (
    -- Days since 1970, in UTC, in which the requests began.
    day     {{integer}} NOT NULL,
    -- The process that wrote the entries; 0 for those of before this table.
    process {{integer}} NOT NULL,
    key_id  {{text}}    NOT NULL,
    owner   {{text}}    NOT NULL,
    -- Nano-dollars.
    cost    {{integer}} NOT NULL,
    PRIMARY KEY (day, process, key_id, owner)
) {{clustered}};

INSERT INTO ledger_spent (day, process, key_id, owner, cost)
SELECT day, 0, key_id, owner, CAST(sum(cost) AS BIGINT) FROM (
    SELECT day, key_id, owner, cost FROM ledger_days WHERE cost > 0
    UNION ALL SELECT start_time / 86400000000, key_id, owner, cost FROM ledger WHERE outcome NOT IN ('open', 'interrupted') AND cost > 0
) AS parts GROUP BY day, key_id, owner;
