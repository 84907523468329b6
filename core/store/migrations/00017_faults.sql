-- The requests that did not simply succeed, the newest first, with what they are searched by: few of
-- all, so that an index of them is small and costs other requests nothing
-- (docs/decisions/0060-an-index-of-what-went-wrong.md).
{{index}} ledger_faults ON ledger (start_time, process, number, outcome, attempts, key_id, upstream, kind, reason)
    WHERE attempts > 1 OR outcome NOT IN ('ok', 'open') OR kind <> '' OR reason <> '';
