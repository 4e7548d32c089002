// The heartbeat that finds a reader which no longer receives messages, and clients that repeat refused calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CALLS,
  createHeartbeat,
  createLimit,
  PATIENCE_MS,
  REFUSALS,
  retryMs,
} from '../../../daemon/killswitch/pacing.ts';

/** A clock of the test's own. */
function createClock() {
  const alarms = new Set<{ at: number; ring(): void }>();
  let now = 0;
  return {
    timer(ms: number, ring: () => void) {
      const alarm = { at: now + ms, ring };
      alarms.add(alarm);
      return { cancel: () => void alarms.delete(alarm) };
    },
    pass(ms: number) {
      const end = now + ms;
      for (;;) {
        const [next] = [...alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (!next) break;
        alarms.delete(next);
        now = next.at;
        next.ring();
      }
      now = end;
    },
  };
}

function setUp(hears: () => boolean) {
  const clock = createClock();
  const counts = { beats: 0, deaf: 0 };
  const heartbeat = createHeartbeat({
    everyMs: 30,
    withinMs: 10,
    beat() {
      counts.beats++;
      if (hears()) heartbeat.heard();
    },
    deaf: () => void counts.deaf++,
    timer: clock.timer,
  });
  return { clock, counts, heartbeat };
}

test('a reader that hears every beat is never called deaf', () => {
  const { clock, counts, heartbeat } = setUp(() => true);
  heartbeat.start();
  clock.pass(3000);
  assert.equal(counts.deaf, 0);
  assert.equal(counts.beats, 100);
});

test('a reader that misses a beat is called deaf once for each', () => {
  const { clock, counts, heartbeat } = setUp(() => false);
  heartbeat.start();
  clock.pass(39);
  assert.deepEqual(counts, { beats: 1, deaf: 0 });
  clock.pass(2);
  assert.deepEqual(counts, { beats: 1, deaf: 1 });
  clock.pass(399);
  assert.deepEqual(counts, { beats: 11, deaf: 11 });
});

test('a message between two beats does not count as the answer to the next', () => {
  const { clock, counts, heartbeat } = setUp(() => false);
  heartbeat.start();
  clock.pass(20);
  heartbeat.heard();
  clock.pass(25);
  assert.deepEqual(counts, { beats: 1, deaf: 1 });
});

test('it beats neither before its start nor after its stop, and a second start adds no second heartbeat', () => {
  const { clock, counts, heartbeat } = setUp(() => true);
  clock.pass(100);
  assert.equal(counts.beats, 0);
  heartbeat.start();
  heartbeat.start();
  clock.pass(31);
  assert.equal(counts.beats, 1);
  heartbeat.stop();
  clock.pass(300);
  assert.deepEqual(counts, { beats: 1, deaf: 0 });
  heartbeat.start();
  clock.pass(31);
  assert.equal(counts.beats, 2);
});

test('64 programs that start in the same moment, sixteen times with no pause, all get an answer', () => {
  const clock = createClock();
  const [calls, refusals] = [createLimit(CALLS), createLimit(REFUSALS)];
  let [now, random, served, dropped] = [0, 0, 0, 0];
  const call = (attempt: number) => {
    if (calls.take(1000, now)) return void served++;
    if (!refusals.take(1000, now)) return void dropped++;
    random = (random + 0.618) % 1;
    const ms = retryMs(attempt, random);
    const at = now + ms / 1000;
    clock.timer(ms, () => {
      now = at;
      call(attempt + 1);
    });
  };
  for (let batch = 1; batch <= 16; batch++) {
    for (let i = 0; i < 64; i++) call(1);
    clock.pass(PATIENCE_MS);
    assert.deepEqual([served, dropped], [64 * batch, 0], `batch ${batch}`);
  }
});
