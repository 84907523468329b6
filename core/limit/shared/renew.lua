-- Renews the leases of claims that run.
--
-- KEYS: claims by the end of their leases. ARGV: the lease in microseconds, then a claim
-- for each key. What is not there any more does not come back.
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, 'XX', text(now + tonumber(ARGV[1])), ARGV[i + 1])
end
return 1
