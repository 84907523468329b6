-- Sets what was spent in a period, where nothing or less is known.
--
-- KEYS: what is spent and held. ARGV: first or raise, then for each key what was spent
-- and its time to live in milliseconds. first begins what is not there, raise only what is there.
for i, key in ipairs(KEYS) do
  local spent, known = ARGV[2 * i], redis.call('HGET', key, 'spent')
  if not known and ARGV[1] == 'first' or known and ARGV[1] == 'raise' and tonumber(known) < tonumber(spent) then
    redis.call('HSET', key, 'spent', spent)
    redis.call('PEXPIRE', key, ARGV[2 * i + 1])
  end
end
return 1
