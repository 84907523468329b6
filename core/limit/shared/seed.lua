-- Has budgets know what processes have spent, as the ledger says and the asking core does of itself.
--
-- KEYS: what is spent and held of budgets. ARGV: first or raise, then for each key its time to live in milliseconds, a
-- process and what it has spent. first is all that the ledger has, raise changes only budgets that are known.
for i, hash in ipairs(KEYS) do
  if ARGV[1] == 'first' then redis.call('HSET', hash, 'known', 1) end
  if known(hash) then
    raise(hash, ARGV[3 * i], tonumber(ARGV[3 * i + 1]))
    keep(hash, tonumber(ARGV[3 * i - 1]))
  end
end
return 1
