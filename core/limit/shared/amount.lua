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

-- What a budget has spent is the sum of what processes have, as far as these reported it. It is all once the ledger was asked for the
-- others: then the budget is known.
local function known(hash) return redis.call('HEXISTS', hash, 'known') == 1 end

-- raise has a budget know that a process has spent so much of it: its requests' costs from its beginning on. A process that
-- has spent more is known already, by a later report.
local function raise(hash, process, spent)
  local by = 'by:' .. process
  local more = spent - tonumber(redis.call('HGET', hash, by) or 0)
  if more <= 0 then return end
  redis.call('HSET', hash, by, text(spent))
  change(hash, 'spent', more)
end

-- hold has a claim hold so much of a budget, in all, until its lease ends unless it is renewed.
local function hold(hash, leases, id, cost, till, ttl)
  change(hash, 'held', cost - tonumber(redis.call('HGET', hash, id) or 0))
  redis.call('HSET', hash, id, text(cost))
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

