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

-- release gives back what a claim holds of a budget.
local function release(hash, leases, id)
  local held = redis.call('HGET', hash, id)
  if held then
    change(hash, 'held', -tonumber(held))
    redis.call('HDEL', hash, id)
  end
  redis.call('ZREM', leases, id)
end

