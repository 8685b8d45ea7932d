-- Takes ARGV[2] things from the bucket KEYS[1], which holds ARGV[1] things per ARGV[3] milliseconds; a negative number gives things back.
-- Uses the clock of Redis, because clocks of nodes may differ. Returns the missing parts (ARGV[3] parts per thing), or 0 if it was taken.
-- The same algorithm as in bucket.rs.
local rate, millis = tonumber(ARGV[1]), tonumber(ARGV[3])
local asked = tonumber(ARGV[2]) * millis
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local full = rate * millis
local kept = redis.call('HMGET', KEYS[1], 'left', 'at')
local left, at = tonumber(kept[1] or full), tonumber(kept[2] or now)
left = math.min(full, left + math.max(0, now - at) * rate)
asked = math.min(asked, full)
local missing = 0
if asked > left then missing = asked - left else left = math.min(full, left - asked) end
redis.call('HSET', KEYS[1], 'left', string.format('%.0f', left), 'at', string.format('%.0f', math.max(at, now)))
-- By then the bucket is full again, and need not be stored.
redis.call('PEXPIRE', KEYS[1], millis + 1000)
return missing
