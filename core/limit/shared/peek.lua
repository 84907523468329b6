-- Reads meters and claims that run, and changes nothing.
--
-- ARGV: for each of KEYS, rate or many. The answer is as that of reserve.lua where nothing is taken.
local out = {'ok', now}
for i, key in ipairs(KEYS) do
  if ARGV[i] == 'rate' then
    local m = load_meter(key, now)
    table.insert(out, m.f); table.insert(out, m.p); table.insert(out, m.b); table.insert(out, m.r)
  else
    -- Claims whose leases have ended are few: each reservation removes them.
    table.insert(out, redis.call('ZCARD', key) - #redis.call('ZRANGEBYSCORE', key, '-inf', text(now)))
  end
end
return out
