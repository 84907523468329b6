-- Settles what a claim took in the end, or adds what more it takes while it runs. Each
-- settlement of a core has a number; one that comes again does nothing.
--
-- KEYS: the number of the core's last settlement, then those of ARGV's entries.
-- ARGV: the number of this one, the claim's id, then the entries. At the end:
--   rate N LAST F P B ACTUAL RATE     a meter, the claim's hold of it and what it used
--   many                              the claims that run
--   money PROCESS SPENT TTL           what is spent and held, and the claims that hold it
--   spent PROCESS SPENT               what is spent and held of a budget that the claim did not have
-- and while it runs, which nothing refuses:
--   more-rate N RATE                  a meter
--   more-money HELD LEASE TTL         what is spent and held, and the claims that hold it
local number, id = ARGV[1], ARGV[2]
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(number) then return 0 end
redis.call('SET', KEYS[1], number, 'PX', 86400000)
local k, a = 2, 3
while a <= #ARGV do
  local kind = ARGV[a]
  if kind == 'rate' then
    local key, v = KEYS[k], {}
    for i = 1, 7 do v[i] = tonumber(ARGV[a + i]) end
    local n, last, actual, rate = v[1], v[2], v[6], v[7]
    local m = load_meter(key, now)
    if actual < n then
      m = back(m, math.min(n - actual, last), v[3], v[4], v[5], now)
    else
      if m.r > 0 then rate = m.r end
      m = after(m, actual - n, rate, now)
    end
    if m.r > 0 then save_meter(key, m, now) end
    k = k + 1; a = a + 8
  elseif kind == 'more-rate' then
    local key, m, rate = KEYS[k], load_meter(KEYS[k], now), tonumber(ARGV[a + 2])
    if m.r > 0 then rate = m.r end
    save_meter(key, after(m, tonumber(ARGV[a + 1]), rate, now), now)
    k = k + 1; a = a + 3
  elseif kind == 'many' then
    redis.call('ZREM', KEYS[k], id)
    k = k + 1; a = a + 1
  elseif kind == 'money' then
    release(KEYS[k], KEYS[k + 1], id)
    raise(KEYS[k], ARGV[a + 1], tonumber(ARGV[a + 2]))
    keep(KEYS[k], tonumber(ARGV[a + 3]))
    k = k + 2; a = a + 4
  elseif kind == 'spent' then
    -- While no caller has the budget, the ledger has what was spent.
    if known(KEYS[k]) then raise(KEYS[k], ARGV[a + 1], tonumber(ARGV[a + 2])) end
    k = k + 1; a = a + 3
  else
    hold(KEYS[k], KEYS[k + 1], id, tonumber(ARGV[a + 1]), now + tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]))
    k = k + 2; a = a + 4
  end
end
return 1
