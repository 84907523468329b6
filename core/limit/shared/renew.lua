-- Renews the leases of claims that run: their places, and the life of the names under which
-- these are, for two leases as when they were taken.
--
-- KEYS: claims by the end of their leases. ARGV: the lease in microseconds, then a claim
-- for each key. What is not there any more does not come back.
local lease = tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, 'XX', text(now + lease), ARGV[i + 1])
  keep(key, 2 * lease / 1000)
end
return 1
