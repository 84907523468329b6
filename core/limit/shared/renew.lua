-- Renews what claims that run hold: their places and money, and the life of the names under which these are, as when they were
-- taken. What a server that lost its data does not have any more is taken again.
--
-- ARGV: the lease in microseconds, then for each claim of each limit, whose keys stand in KEYS in their order:
--   many  ID            the claims that run
--   money ID HELD TTL   what is spent and held, and the claims that hold it
local till = now + tonumber(ARGV[1])
local k, a = 1, 2
while k <= #KEYS do
  local id = ARGV[a + 1]
  if ARGV[a] == 'many' then
    redis.call('ZADD', KEYS[k], text(till), id)
    keep(KEYS[k], 2 * tonumber(ARGV[1]) / 1000)
    k = k + 1; a = a + 2
  else
    local ttl = tonumber(ARGV[a + 3])
    if redis.call('HEXISTS', KEYS[k], id) == 0 then
      hold(KEYS[k], KEYS[k + 1], id, tonumber(ARGV[a + 2]), till, ttl)
    else
      redis.call('ZADD', KEYS[k + 1], text(till), id)
      keep(KEYS[k + 1], ttl)
    end
    k = k + 2; a = a + 4
  end
end
return 1
