-- Takes a claim from all its limits, or from none.
--
-- ARGV: the claim's id, its lease in microseconds, then the checks, whose keys stand in
-- KEYS in their order:
--   rate  LIMIT N           a meter
--   many  LIMIT             the claims that run, by the end of their leases
--   money LIMIT COST UPTO TTL  what is spent and held, and the claims that hold it: COST, and as much
--                           more, up to UPTO, as all budgets have left (limit.Claim.Grant)
-- The answer is a word (ok, no, or seed where it is not known what is spent), the time,
-- and the state behind each check: f p b r of a meter (as it is then), how many run, what is
-- spent and held (as it was; -1 is spent where it is not known).
local id, lease = ARGV[1], tonumber(ARGV[2])
local takings, state, word = {}, {}, 'ok'
local k, a = 1, 3
local granted = EXACT

-- shorten has leases end at most one lease from now. Longer ones were taken before the server's
-- clock was put back, and that of a core that is dead would last until then.
local function shorten(leases)
  for _, early in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. text(now + lease), '+inf', 'LIMIT', 0, 100)) do
    redis.call('ZADD', leases, 'XX', text(now + lease), early)
  end
end

-- prune returns what claims hold that their core has not renewed.
local function prune(hash, leases)
  shorten(leases)
  for _, dead in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', text(now), 'LIMIT', 0, 100)) do
    release(hash, leases, dead)
  end
end

while a <= #ARGV do
  local kind = ARGV[a]
  if kind == 'rate' then
    local key, rate, n = KEYS[k], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
    local before = load_meter(key, now)
    local taken = after(before, n, rate, now)
    if wait(taken, now) > 0 and word == 'ok' then word = 'no' end
    table.insert(state, {before, taken})
    table.insert(takings, function() save_meter(key, taken, now) end)
    k = k + 1; a = a + 3
  elseif kind == 'many' then
    local key, limit = KEYS[k], tonumber(ARGV[a + 1])
    shorten(key)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now))
    local running = redis.call('ZCARD', key)
    if running >= limit and word == 'ok' then word = 'no' end
    table.insert(state, {running})
    table.insert(takings, function()
      redis.call('ZADD', key, text(now + lease), id)
      keep(key, 2 * lease / 1000)
    end)
    k = k + 1; a = a + 2
  else
    local hash, leases = KEYS[k], KEYS[k + 1]
    local limit, cost, upto, ttl = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
    prune(hash, leases)
    local v = redis.call('HMGET', hash, 'spent', 'held', 'known')
    local spent, held = tonumber(v[1] or 0), tonumber(v[2] or 0)
    if not v[3] then word = 'seed'; spent = -1 end
    if cost > 0 and spent + held + cost > limit and word == 'ok' then word = 'no' end
    table.insert(state, {spent, held})
    granted = math.min(granted, upto, limit - spent - held)
    table.insert(takings, function()
      local all = math.max(cost, granted)
      if all > 0 then hold(hash, leases, id, all, now + lease, ttl) end
    end)
    k = k + 2; a = a + 5
  end
end

local out = {word, now}
for _, s in ipairs(state) do
  local m = s[1]
  if type(m) == 'table' then
    if word == 'ok' then m = s[2] end
    table.insert(out, m.f); table.insert(out, m.p); table.insert(out, m.b); table.insert(out, m.r)
  else
    for _, n in ipairs(s) do table.insert(out, n) end
  end
end
if word == 'ok' then
  for _, take in ipairs(takings) do take() end
end
return out
