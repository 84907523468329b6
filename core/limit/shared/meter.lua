-- What a rate uses, as limit.Meter has it: f is the moment at which it would be unused,
-- in microseconds, p what that lacks in 1/r of one, b how far it was moved back, r the
-- rate, t when it was saved last. The server's clock may have been put back since: f goes back
-- as far, or the rate would be refused until that time comes. All figures are integers below 2^53, which Lua's numbers hold: times end at the
-- horizon, as in limit.Meter, and products are taken in digits.
local MINUTE = 60000000
local HORIZON = MINUTE + 24 * 60 * MINUTE
local DIGIT = 1048576

local function divide(x, y)
  local q = math.floor(x / y)
  local r = x - q * y
  if r < 0 then return q - 1, r + y end
  if r >= y then return q + 1, r - y end
  return q, r
end

local function load_meter(key, now)
  local v = redis.call('HMGET', key, 'f', 'p', 'b', 'r', 't')
  local m = {f = tonumber(v[1] or 0), p = tonumber(v[2] or 0), b = tonumber(v[3] or 0), r = tonumber(v[4] or 0)}
  local back = math.max(tonumber(v[5] or 0) - now, 0)
  m.f = m.f - back; m.b = m.b + back
  return m
end

local function save_meter(key, m, now)
  redis.call('HSET', key, 'f', text(m.f), 'p', text(m.p), 'b', text(m.b), 'r', text(m.r), 't', text(now))
  redis.call('PEXPIRE', key, text(math.max(math.floor((m.f - now) / 1000), 0) + 60000))
end

-- span is (n * each + more) / rate and the rest, or the horizon where it is more. It divides
-- as by hand, by digits of 2^20: each, more and rate are below 2^30, n below 2^60.
local function span(n, each, more, rate)
  local digits = {}
  repeat
    local high, low = divide(n, DIGIT)
    table.insert(digits, 1, low)
    n = high
  until n == 0
  local whole, part, q = 0, 0, 0
  for _, digit in ipairs(digits) do
    q, part = divide(part * DIGIT + digit * each, rate)
    whole = whole * DIGIT + q
    if whole >= HORIZON then return HORIZON, 0 end
  end
  q, part = divide(part + more, rate)
  whole = whole + q
  if whole >= HORIZON then return HORIZON, 0 end
  return whole, part
end

local function cut(m, now)
  if m.f - now >= HORIZON then m.f = now + HORIZON; m.p = 0 end
  return m
end

local function at(m, now, rate)
  local n = {f = m.f, p = m.p, b = m.b, r = m.r}
  if n.f < now then n.f = now; n.p = 0 end
  cut(n, now)
  if n.r ~= rate then
    local used = n.f - now
    local whole, part = span(used, n.r, n.p, rate)
    n.b = n.b + math.max(used - whole, 0)
    n.f = now + whole; n.p = part; n.r = rate
  end
  return n
end

local function after(m, n, rate, now)
  local u = at(m, now, rate)
  local whole, part = span(n, MINUTE, 0, rate)
  u.f = u.f + whole
  u.p = u.p + part
  if u.p >= rate then u.f = u.f + 1; u.p = u.p - rate end
  return cut(u, now)
end

local function wait(m, now)
  local over = m.f - now - MINUTE
  if m.p > 0 then over = over + 1 end
  return math.max(over, 0)
end

local function back(m, n, f, p, b, now)
  local moved = m.b - b
  if m.r == 0 or moved < 0 then return m end
  local whole, part = span(n, MINUTE, 0, m.r)
  local room = math.max(f - moved - now, 0)
  if whole > room or whole == room and part > p then whole = room; part = 0 end
  local u = {f = m.f - whole, p = m.p - part, b = m.b + whole, r = m.r}
  if u.p < 0 then u.f = u.f - 1; u.p = u.p + u.r end
  if part > 0 then u.b = u.b + 1 end
  return u
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
