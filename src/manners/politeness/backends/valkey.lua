-- Start times and slots of one host. A call is one verb, and is atomic.
--
-- KEYS[1]  slots in use: a sorted set of tokens, by when their leases end
-- KEYS[2]  a hash of times:
--            next      the next start time to reserve
--            delay     from the last reserved start to the next
--            earliest  the earliest next start, counted from when the last one was really made
--            last      the token of the last start
--            penalty   before this, nothing starts
-- ARGV     a verb, the time (empty: this server's clock), the lease, then the verb's arguments
--
-- All times are whole microseconds. The answer is the current time, a word, and a time.

local slots, times = KEYS[1], KEYS[2]
local verb, now, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if not now then
  local clock = redis.call('TIME')
  now = clock[1] * 1000000 + clock[2]
end

local kept = redis.call('HMGET', times, 'next', 'delay', 'earliest', 'penalty', 'last')
local last = kept[5] or ''
local at = {
  next = tonumber(kept[1]) or 0,
  delay = tonumber(kept[2]) or 0,
  earliest = tonumber(kept[3]) or 0,
  penalty = tonumber(kept[4]) or 0,
}

-- Other programs can write here, too. This package writes no time three years ahead.
for _, value in pairs(at) do
  if not (value < now + 94608000000000) then
    return {now, 'invalid', now}
  end
end

-- Idle hosts expire: the times a lease after the latest of them, the slots with the last lease.

local function keep()
  redis.call('HSET', times, 'next', at.next, 'delay', at.delay,
    'earliest', at.earliest, 'penalty', at.penalty, 'last', last)
  local ahead = math.max(at.next, at.earliest, at.penalty) - now
  redis.call('PEXPIRE', times, math.ceil((math.max(ahead, 0) + lease) / 1000))
end

local function hold(token)
  redis.call('ZADD', slots, now + lease, token)
  local ends = tonumber(redis.call('ZRANGE', slots, -1, -1, 'WITHSCORES')[2])
  redis.call('PEXPIRE', slots, math.ceil((ends - now) / 1000))
  return {now, 'held', now + lease}
end

-- When a lease expires, if it is still valid.
local function valid(token)
  local ends = tonumber(redis.call('ZSCORE', slots, token))
  return ends and ends > now and ends
end

local function reserve(delay, within)
  local start = math.max(now, at.next, at.penalty)
  if not within or start - now <= within then
    at.next, at.delay = start + delay, delay
    keep()
  end
  return start
end

local function take(token, number, delay)
  local earliest = math.max(at.earliest, at.penalty)
  if earliest > now then
    return {now, 'early', earliest}
  end
  redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
  if redis.call('ZCARD', slots) >= number then
    return {now, 'full', tonumber(redis.call('ZRANGE', slots, 0, 0, 'WITHSCORES')[2])}
  end
  -- A late start moves the next one: the host sees starts, not plans.
  at.earliest = now + (delay or at.delay)
  at.next = math.max(at.next, at.earliest)
  last = token
  keep()
  return hold(token)
end

if verb == 'reserve' then
  return {now, 'start', reserve(tonumber(ARGV[4]), tonumber(ARGV[5]))}

elseif verb == 'take' or verb == 'begin' then
  local token, number, delay = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
  local expires = valid(token)
  if expires then -- it was taken, and the answer was lost
    return {now, 'held', expires}
  end
  if verb == 'begin' then
    local start = reserve(delay, tonumber(ARGV[7]))
    if start > now then
      return {now, 'early', start}
    end
  end
  return take(token, number, delay)

elseif verb == 'release' then
  redis.call('ZREM', slots, ARGV[4])
  return {now, 'done', now}

elseif verb == 'renew' then
  if not valid(ARGV[4]) then
    return {now, 'lost', now}
  end
  local delay = tonumber(ARGV[5])
  if delay then -- its request leaves only now
    if last ~= ARGV[4] and math.max(at.earliest, at.penalty) > now then
      return {now, 'lost', now}
    end
    at.earliest = math.max(at.earliest, now + delay)
    at.next = math.max(at.next, at.earliest)
    last = ARGV[4]
    keep()
  end
  return hold(ARGV[4])

elseif verb == 'penalise' then
  at.penalty = math.max(at.penalty, now + tonumber(ARGV[4]))
  keep()
  return {now, 'done', now}
end
