-- The pool's only script: each call is one operation on the accounts of one CLI, atomic in the store.
--
-- KEYS[1]  culvert:1:{CLI}, the prefix of every other key; the braces keep them in one slot of a cluster
-- KEYS[2]  culvert:{CLI}:schema, which says for every version of the schema which one is in use
-- ARGV[1]  the operation, ARGV[2] its request as JSON; the reply is JSON
-- ARGV[3]  the database, where it is not 0. The script selects it, so that a missing database ends the script: after a failed
--          SELECT of the client, the script would run in database 0.
--
-- README.md lists the keys. Times are milliseconds of the store's clock. A client sends ages and never its own time; only a date
-- that a provider states is absolute.
--
-- A store runs all of this text with each call. A function that only some operations need is therefore created inside of a
-- function that they call: creating all of them took a tenth of a lease.
if ARGV[3] then redis.call('SELECT', ARGV[3]) end

local SCHEMA = '1'
-- 40 days in seconds, as text: a store would turn a number into text with each use
local KEEP = '3456000'
local DAY_MS = 86400000
-- what a pause may take at most; a longer one is a mistake of whoever stated it
local LONGEST_MS = 366 * DAY_MS
local ASKING_MS = 10000
local LOG_MS = 60000
local BUCKET_MS = 100
local base = KEYS[1]

-- Microseconds since the epoch, as text.
local function micros()
  local t = redis.call('TIME')
  return t[1] .. string.sub('000000' .. t[2], -6)
end

local clock = micros()
local now = math.floor(tonumber(clock) / 1000)

-- These three are followed by the id of what they are about.
local ACCOUNT, BUDGET, SPENT = base .. ':account:', base .. ':budget:', base .. ':spent:'
local LEASES, ACCOUNTS = base .. ':leases', base .. ':accounts'

local function known(value)
  if value == nil or value == false or value == cjson.null then return nil end
  return value
end

local function read(key)
  local flat, record = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do record[flat[i]] = flat[i + 1] end
  return record
end

-- A number for a command. A store prints whole ones quickly, and others with more digits than they have.
local function printed(value) return value % 1 == 0 and value or tostring(value) end

local function number(record, field) return tonumber(record[field]) end

-- Keeps a key for 40 days from now, or until a later time, and never shorter than before: it may hold a long pause.
local function keep(key, till)
  local seconds = till and math.max(KEEP, math.ceil((till - now) / 1000)) or KEEP
  if redis.call('TTL', key) < tonumber(seconds) then redis.call('EXPIRE', key, seconds) end
end

-- The id of an account's budget: its fingerprint, unless accounts share one.
local function budgetOf(fp) return known(redis.call('HGET', ACCOUNT .. fp, 'budget')) or fp end

-- The hash of a budget. An account's own is in the account's hash, so that a lease reads one hash for it. The id of a
-- shared one begins with i, which no fingerprint does: those are hexadecimal.
local function budgetKey(id) return (string.sub(id, 1, 1) == 'i' and BUDGET or ACCOUNT) .. id end

-- A whole number of any size as text.
local function digits(value) return string.format('%.0f', value) end

-- When a lease in the hash of leases ends, and its record as JSON; nothing for the two fields below.
local function parts(raw) return string.match(raw or '', '^(%d+)({.*)$') end

-- Two fields of that hash, which every call reads first: the last fencing number, and a time before which no lease ends. A
-- renewal does not change that time, so a search for ended leases may find none.
local lastFence, firstEnd

-- Records when a lease ends, where it is the first one to end.
local function endsAt(till)
  if firstEnd and firstEnd <= till then return end
  redis.call('HSET', LEASES, 'end', digits(till))
end

-- The current budget, refilled if its period has ended.
local function readBudget(id)
  local key = budgetKey(id)
  local budget = read(key)
  local resets = number(budget, 'resets')
  if resets and resets <= now then
    local limit = budget.limit
    if limit then
      redis.call('HSET', key, 'remaining', limit, 'seen', now)
      budget.remaining, budget.seen = limit, tostring(now)
    else
      redis.call('HDEL', key, 'remaining', 'seen', 'asked')
      budget.remaining, budget.seen, budget.asked = nil, nil, nil
    end
    redis.call('HDEL', key, 'resets')
    redis.call('DEL', SPENT .. id)
    budget.resets = nil
  end
  return budget
end

local books
-- What changes figures: spend, finish, observe, settle.
local function ledger()
  if books then return books end

  -- Counts use since the last observation, and remembers its time for observations that are still on their way.
  local function spend(id, amount, at)
    if amount <= 0 then return end
    local remaining, asked, asking = unpack(redis.call('HMGET', budgetKey(id), 'remaining', 'asked', 'asking'))
    if remaining then
      redis.call('HSET', budgetKey(id), 'remaining', tostring(math.max(0, tonumber(remaining) - amount)))
    elseif not asked and not asking then
      -- nobody asks, so no observation is on its way
      return
    end
    local key, bucket = SPENT .. id, math.floor(now / BUCKET_MS)
    redis.call('HINCRBYFLOAT', key, digits(math.floor(at / BUCKET_MS)), tostring(amount))
    redis.call('PEXPIRE', key, LOG_MS * 2)
    if redis.call('HLEN', key) > 2 * LOG_MS / BUCKET_MS then
      for _, field in ipairs(redis.call('HKEYS', key)) do
        if tonumber(field) < bucket - LOG_MS / BUCKET_MS then redis.call('HDEL', key, field) end
      end
    end
  end

  local function spentSince(id, time)
    local sum, from = 0, math.floor(time / BUCKET_MS)
    local flat = redis.call('HGETALL', SPENT .. id)
    for i = 1, #flat, 2 do
      if tonumber(flat[i]) >= from then sum = sum + tonumber(flat[i + 1]) end
    end
    return sum
  end

  -- Counts go below zero where a store that drops keys has dropped them.
  local function giveBack(lease)
    local key = budgetKey(lease.budget)
    local left = redis.call('HINCRBYFLOAT', key, 'reserved', tostring(-lease.want))
    if tonumber(left) < 0 then redis.call('HSET', key, 'reserved', 0) end
  end

  local function readLease(fence)
    local _, json = parts(redis.call('HGET', LEASES, fence))
    return json and cjson.decode(json)
  end

  -- Ends a lease (`nil`: there is none) and returns its reservation. Each lease ends once: what it used is counted once.
  local function finish(fence, lease, spent, at)
    if not lease then return end
    redis.call('HDEL', LEASES, fence)
    local account = ACCOUNT .. lease.fp
    if redis.call('HINCRBY', account, 'leases', -1) < 0 then redis.call('HSET', account, 'leases', 0) end
    giveBack(lease)
    spend(lease.budget, spent == nil and lease.want or spent, at)
  end

  local function moveToBudget(fp, id)
    local old = budgetOf(fp)
    if old == id then return end
    redis.call('HSET', ACCOUNT .. fp, 'budget', id)
    local flat = redis.call('HGETALL', LEASES)
    for i = 1, #flat, 2 do
      local till, json = parts(flat[i + 1])
      local lease = json and cjson.decode(json)
      if lease and lease.fp == fp then
        giveBack(lease)
        redis.call('HINCRBYFLOAT', budgetKey(id), 'reserved', tostring(lease.want))
        lease.budget = id
        redis.call('HSET', LEASES, flat[i], till .. cjson.encode(lease))
      end
    end
    -- a pause of the quota goes along with it
    local paused, class = unpack(redis.call('HMGET', budgetKey(old), 'paused', 'class'))
    if known(paused) and tonumber(paused) > (tonumber(known(redis.call('HGET', budgetKey(id), 'paused')) or 0)) then
      redis.call('HSET', budgetKey(id), 'paused', paused, 'class', class)
      keep(budgetKey(id), tonumber(paused))
    end
  end

  -- What a provider said is absolute, and the newest observation wins. `stale`: the reporter's lease had ended, so that it
  -- can't raise anything.
  local function observe(seen, stale)
    if known(seen.identity) then moveToBudget(seen.fp, 'i' .. string.sub(redis.sha1hex(seen.identity), 1, 12)) end
    local id = budgetOf(seen.fp)
    local key, budget, at = budgetKey(id), readBudget(id), now - math.max(0, seen.age)
    redis.call('HDEL', key, 'asking')
    redis.call('HSET', key, 'asked', now)
    keep(key)
    local remaining, current = known(seen.remaining), number(budget, 'remaining')
    local before = number(budget, 'seen') or 0
    -- one from the future was made before the clock was set back
    if not remaining or (before > at and before <= now) then return false end
    remaining = math.max(0, remaining - spentSince(id, at))
    -- the log is not as old as this observation: something used since then may be missing in it
    if current and (stale or seen.age > LOG_MS) then remaining = math.min(remaining, current) end
    redis.call('HSET', key, 'remaining', tostring(remaining), 'seen', at)
    if known(seen.limit) then redis.call('HSET', key, 'limit', tostring(seen.limit)) end
    if known(seen.resets) and seen.resets > now then redis.call('HSET', key, 'resets', seen.resets) end
    return true
  end

  -- A pause is never shortened. One of a refused credential is the account's and ends with the credential, whose
  -- fingerprint is part of the key; any other is the budget's.
  local function pauseAccount(fp, rest)
    if rest.kind == 'credential' then
      redis.call('HSET', ACCOUNT .. fp, 'refused', rest.class)
      keep(ACCOUNT .. fp)
      return
    end
    local key, till = budgetKey(budgetOf(fp)), nil
    if rest.kind == 'elapsed' then till = now + (rest.ms or rest.fallback) end
    if rest.kind == 'time' then till = rest.at and rest.at > now and rest.at or now + rest.fallback end
    if rest.kind == 'period' then
      till = number(readBudget(budgetOf(fp)), 'resets') or now + rest.fallback
    end
    till = math.min(till, now + LONGEST_MS)
    local old = tonumber(known(redis.call('HGET', key, 'paused')) or 0)
    if till > old then redis.call('HSET', key, 'paused', digits(till), 'class', rest.class) end
    keep(key, till)
  end

  -- What a run reports about the account it had: { fence, fp, spent, rest, seen, release }; `seen` may have others, too.
  local function settle(done)
    local held = readLease(done.fence)
    local fp = held and held.fp or done.fp
    if known(done.rest) then pauseAccount(fp, done.rest) end
    local accepted = false
    local lease = held
    for _, seen in ipairs(known(done.seen) or {}) do
      local newest = observe(seen, not held)
      if seen.fp == fp then accepted = newest end
      -- it may have moved to another budget
      lease = readLease(done.fence)
    end
    -- an observation that was made after the command contains what the command used
    if done.release then finish(done.fence, lease, accepted and 0 or done.spent or 0, now) end
    return held and true or false
  end

  books = { spend = spend, finish = finish, observe = observe, settle = settle, readLease = readLease }
  return books
end

-- A command whose wrapper was killed may have done its work, so an expired lease counts as used.
local function sweep()
  local flat, ended, first = redis.call('HGETALL', LEASES), 0, nil
  for i = 1, #flat, 2 do
    local text, json = parts(flat[i + 1])
    local till = tonumber(text)
    if json and till <= now and ended < 100 then
      ledger().finish(flat[i], cjson.decode(json), nil, till)
      ended = ended + 1
    elseif json and not (first and first <= till) then first = till
    end
  end
  redis.call('HDEL', LEASES, 'end')
  firstEnd = nil
  if first then endsAt(first) end
end

-- Chooses an account and leases it; or says what to ask, or when to come back.
local function leasing(request)
  local call, tonumber = redis.call, tonumber
  local accounts = request.accounts
  local askable, below, max = request.askable, known(request.below), known(request.max)
  local want, reserve, strategy = request.want, request.reserve, request.strategy

  -- Below the threshold, or was so and has not come back above the other one.
  local function isLow(key, left)
    local was = call('HGET', key, 'low') == '1'
    local low = left < below or (was and left < request.above)
    if low ~= was then call('HSET', key, 'low', low and '1' or '0') end
    return low
  end

  -- Whether the provider was asked about a budget so long ago that it should be asked again, and nobody does.
  local function isStale(key)
    local fields = call('HMGET', key, 'asking', 'asked')
    local asking, asked = tonumber(fields[1] or 0), tonumber(fields[2] or 0)
    local asks = asking > now and asking <= now + ASKING_MS
    return not asks and (asked > now or asked + request.stale <= now)
  end

  -- The strategies of the wrapper (run/candidates.ts), over what is left after open reservations.
  local field, sign, second = nil, 1, nil
  if strategy == 'most-remaining' then field, sign = 'left', -1
  elseif strategy == 'drain-first' then field = 'left'
  elseif strategy == 'soonest-reset' then field, second = 'resets', 'left'
  elseif strategy == 'round-robin' then field = 'last'
  end

  local function comesFirst(a, b)
    if (a.low or false) ~= (b.low or false) then return not a.low end
    if not field then return a.index < b.index end
    -- what is not known comes last
    local x, y = a[field] and sign * a[field] or math.huge, b[field] and sign * b[field] or math.huge
    if x ~= y then return x < y end
    if second then
      x, y = a[second] or math.huge, b[second] or math.huge
      if x ~= y then return x < y end
    end
    if a.leases ~= b.leases then return a.leases < b.leases end
    return a.index < b.index
  end

  -- Has the caller ask the provider: once for accounts that are one quota.
  local function ask(accounts)
    local names, asked = {}, {}
    for _, found in ipairs(accounts) do
      local key = budgetKey(found.budget)
      if not asked[key] then
        asked[key] = true
        call('HSET', key, 'asking', now + ASKING_MS)
        keep(key)
        names[#names + 1] = found.fp
      end
    end
    return names
  end

  local function grant(chosen, old)
    local fp, budget = chosen.fp, budgetKey(chosen.budget)
    -- rises also when the store was flushed, because it is never behind the time
    local fence = clock
    if lastFence and tonumber(lastFence) >= tonumber(clock) then fence = digits(tonumber(lastFence) + 1) end
    local lease = { fp = fp, budget = chosen.budget, want = want, owner = request.owner, since = now }
    local till = now + request.ttl
    call('HSET', LEASES, fence, digits(till) .. cjson.encode(lease), 'last', fence)
    endsAt(till)
    local account, leases, name = ACCOUNT .. fp, chosen.leases + 1, accounts[chosen.index + 1]
    local reserved = printed(chosen.reserved + want)
    if budget == account then
      call('HSET', account, 'leases', leases, 'last', fence, 'name', name, 'reserved', reserved)
    else
      call('HSET', account, 'leases', leases, 'last', fence, 'name', name)
      call('HSET', budget, 'reserved', reserved)
    end
    if not lastFence then call('EXPIRE', LEASES, KEEP) end
    -- and with an account's first lease of a day, so that what is always in use lives on
    if math.floor(chosen.last / 1000 / DAY_MS) ~= math.floor(now / DAY_MS) then
      call('ZADD', ACCOUNTS, now, fp)
      call('EXPIRE', ACCOUNTS, KEEP)
      call('EXPIRE', LEASES, KEEP)
      keep(account)
      keep(budget)
    end
    if askable and isStale(budget) then old[#old + 1] = chosen end
    return { fence = fence, fp = fp, refresh = old[1] and ask(old) }
  end

  local best, unknown, old, late, earliest, soon = nil, {}, {}, {}, nil, false
  local inOrder = not field and not below
  for index = 1, #accounts, 2 do
    local fp = accounts[index]
    local key = ACCOUNT .. fp
    local fields = call('HMGET', key, 'remaining', 'reserved', 'resets', 'paused', 'leases', 'refused', 'budget', 'last')
    local id, leases, refused = fields[7] or fp, fields[5] and tonumber(fields[5]) or 0, fields[6]
    local last = fields[8] and tonumber(fields[8]) or 0
    if id ~= fp then
      key = budgetKey(id)
      fields = call('HMGET', key, 'remaining', 'reserved', 'resets', 'paused')
    end
    if fields[3] and tonumber(fields[3]) <= now then
      readBudget(id)
      fields = call('HMGET', key, 'remaining', 'reserved', 'resets', 'paused')
    end
    local remaining, reserved = tonumber(fields[1] or nil), fields[2] and tonumber(fields[2]) or 0
    local left = remaining and remaining - reserved
    local resets, pausedUntil = tonumber(fields[3] or nil), fields[4] and tonumber(fields[4]) or 0
    local state, at, isOld
    if refused then state = 'refused'
    -- a free request, such as a question about a job, may use an account that has nothing left
    elseif want > 0 and pausedUntil > now then state, at = 'paused', pausedUntil
    elseif want > 0 and left and (left <= 0 or left - want < reserve) then
      -- reservations that come back free something earlier than the period ends
      state, at = 'spent', resets
      if remaining > 0 and remaining - want >= reserve then state = 'reserved'
      -- somebody may have paid for more, and not every provider says when it refills
      else isOld = askable and isStale(key)
      end
    elseif max and leases >= max then state = 'busy'
    elseif askable and not remaining and not call('HGET', key, 'asked') then
      -- no machine knows what is left: one asks at the moment, or should
      state = isStale(key) and 'unknown' or 'asking'
    end
    local low = below and left and isLow(key, left)
    if not state then
      local found = {
        index = index, fp = fp, budget = id, leases = leases, resets = resets, left = left, reserved = reserved, low = low,
        last = last,
      }
      if not best or comesFirst(found, best) then best = found end
      -- nothing that comes later can come first
      if inOrder then break end
    else
      local found = { fp = fp, budget = id, state = state, at = at, remaining = remaining }
      late[#late + 1] = found
      if state == 'unknown' then unknown[#unknown + 1] = found end
      if isOld then old[#old + 1] = found end
      if state == 'busy' or state == 'asking' or state == 'reserved' then soon = true end
      if at and (not earliest or at < earliest) then earliest = at end
    end
  end
  if unknown[1] then return { ask = ask(unknown) } end
  if best then return grant(best, old) end
  if old[1] then return { ask = ask(old) } end
  local rows = {}
  for _, found in ipairs(late) do
    rows[#rows + 1] = {
      fp = found.fp, state = found.state, ms = found.at and found.at - now, remaining = found.remaining,
      class = found.state == 'paused' and known(call('HGET', budgetKey(found.budget), 'class')) or nil,
    }
  end
  return { none = true, soon = soon, ms = earliest and earliest - now, accounts = rows }
end

-- Counts what a machine used of its share of the reserve while it could not reach the store. Returns the accounts whose
-- share is there again: their provider was asked after the last such report, and still has the whole reserve.
local function sharesIntact(shares, reserve)
  local intact = {}
  for _, away in ipairs(shares) do
    local id = budgetOf(away.fp)
    local key = budgetKey(id)
    if away.spent > 0 then
      ledger().spend(id, away.spent, now)
      redis.call('HSET', key, 'away', now)
      keep(key)
    else
      local budget = readBudget(id)
      local seen, remaining, since = number(budget, 'seen') or 0, number(budget, 'remaining') or 0, number(budget, 'away')
      -- the store was flushed or is another one: later observations include the earlier use
      if not since then
        redis.call('HSET', key, 'away', now)
        keep(key)
      elseif seen > since and remaining >= reserve then table.insert(intact, away.fp)
      end
    end
  end
  return intact
end

local function run(operation, request)
  if operation == 'lease' then
    local done, seen, away = known(request.done), known(request.seen), known(request.away)
    if done then for _, each in ipairs(done) do ledger().settle(each) end end
    if seen then for _, each in ipairs(seen) do ledger().observe(each, false) end end
    local intact = away and sharesIntact(away, request.reserve)
    local reply = leasing(request)
    reply.intact = intact
    return reply
  end
  if operation == 'renew' then
    local _, json = parts(redis.call('HGET', LEASES, request.fence))
    if not json then return { held = false } end
    local till = now + request.ttl
    redis.call('HSET', LEASES, request.fence, digits(till) .. json)
    endsAt(till)
    return { held = true }
  end
  if operation == 'keep-job' then
    local key, fp = base .. ':job:' .. request.id, known(request.fp)
    if fp then redis.call('SET', key, fp, 'EX', known(request.seconds) or KEEP)
    else redis.call('DEL', key)
    end
    return { held = true }
  end
  if operation == 'find-job' then return { fp = known(redis.call('GET', base .. ':job:' .. request.id)) } end
  if operation == 'report' or operation == 'release' then
    request.release = operation == 'release'
    return { held = ledger().settle(request) }
  end

  if operation == 'reset' then
    -- Ends the pauses of an account and forgets its figures, so that a machine asks for them again. Leases stay.
    local count = 0
    for _, fp in ipairs(redis.call('ZRANGE', ACCOUNTS, 0, -1)) do
      if redis.call('HGET', ACCOUNT .. fp, 'name') == request.name then
        redis.call('HDEL', ACCOUNT .. fp, 'refused')
        redis.call('HDEL', budgetKey(budgetOf(fp)), 'paused', 'class', 'remaining', 'limit', 'resets', 'seen', 'asked', 'asking', 'low')
        redis.call('DEL', SPENT .. budgetOf(fp))
        count = count + 1
      end
    end
    return { count = count }
  elseif operation == 'status' then
    local accounts = {}
    for _, fp in ipairs(redis.call('ZRANGE', ACCOUNTS, 0, -1)) do
      local row, id = read(ACCOUNT .. fp), budgetOf(fp)
      if not row.name then redis.call('ZREM', ACCOUNTS, fp)
      else
        local budget = readBudget(id)
        local paused, refused = (number(budget, 'paused') or 0) - now, row.refused
        table.insert(accounts, {
          fp = fp, name = row.name, budget = id, leases = number(row, 'leases') or 0,
          remaining = number(budget, 'remaining'), reserved = number(budget, 'reserved') or 0, limit = number(budget, 'limit'),
          resets = number(budget, 'resets'), age = budget.seen and now - number(budget, 'seen'),
          paused = refused and -1 or paused > 0 and paused or nil, class = refused or paused > 0 and budget.class or nil,
        })
      end
    end
    return { accounts = accounts }
  elseif operation == 'leases' then
    local leases, flat = {}, redis.call('HGETALL', LEASES)
    for i = 1, #flat, 2 do
      local till, json = parts(flat[i + 1])
      if json then
        local lease = cjson.decode(json)
        table.insert(leases, {
          fence = flat[i], name = redis.call('HGET', ACCOUNT .. lease.fp, 'name') or '', fp = lease.fp, owner = lease.owner,
          want = lease.want, age = now - lease.since, ttl = tonumber(till) - now,
        })
      end
    end
    table.sort(leases, function(a, b) return a.ttl < b.ttl end)
    return { leases = leases }
  end
end

local schema = known(redis.call('GET', KEYS[2]))
if schema and schema ~= SCHEMA then return redis.error_reply('CULVERTSCHEMA ' .. schema) end
if not schema then redis.call('SET', KEYS[2], SCHEMA) end
local fields = redis.call('HMGET', LEASES, 'last', 'end')
lastFence, firstEnd = fields[1], tonumber(fields[2] or nil)
if firstEnd and firstEnd <= now then sweep() end
return cjson.encode(run(ARGV[1], cjson.decode(ARGV[2])))
