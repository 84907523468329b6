-- Amounts, as package amount and limit.Spending have them: 0 to EXACT, which Lua's
-- floating-point numbers hold exactly. What is more is EXACT. So no figure makes a command
-- of the server fail, as HINCRBY does beyond an int64.
local EXACT = 9007199254740991

local function text(n) return string.format('%.0f', n) end

local function bound(n) return math.min(math.max(n, 0), EXACT) end

-- change adds n, which may be below 0, to a field of a hash.
local function change(hash, field, n)
  redis.call('HSET', hash, field, text(bound(tonumber(redis.call('HGET', hash, field) or 0) + n)))
end

-- keep has a name live for so many milliseconds at least.
local function keep(name, ms)
  if redis.call('PTTL', name) < ms then redis.call('PEXPIRE', name, text(ms)) end
end

-- hold has a claim hold more of a budget, until its lease ends unless it is renewed.
local function hold(hash, leases, id, cost, till, ttl)
  change(hash, 'held', cost)
  change(hash, id, cost)
  redis.call('ZADD', leases, text(till), id)
  keep(hash, ttl)
  keep(leases, ttl)
end

-- release gives back what a claim holds of a budget.
local function release(hash, leases, id)
  local held = redis.call('HGET', hash, id)
  if held then
    change(hash, 'held', -tonumber(held))
    redis.call('HDEL', hash, id)
  end
  redis.call('ZREM', leases, id)
end

