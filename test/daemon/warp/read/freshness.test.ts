// A part is read again only when it may have changed, and a failing one ever more seldom.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createFreshness } from '../../../../daemon/warp/read/freshness.ts';

function clock() {
  let now = 0;
  const fresh = createFreshness<'a' | 'b'>({ firstMs: 100, longestMs: 1000 }, () => now);
  return { fresh, pass: (ms: number) => (now += ms) };
}

test('a part is stale before it is read, and after its time', () => {
  const { fresh, pass } = clock();
  assert.equal(fresh.isDue('a'), true);
  fresh.read('a', 50);
  assert.deepEqual([fresh.isDue('a'), fresh.isDue('b')], [false, true]);
  pass(49);
  assert.equal(fresh.isDue('a'), false);
  pass(1);
  assert.equal(fresh.isDue('a'), true);
});

test('a part without an end stays fresh until it is expired', () => {
  const { fresh, pass } = clock();
  fresh.read('a', Number.POSITIVE_INFINITY);
  pass(1e9);
  assert.equal(fresh.isDue('a'), false);
  fresh.expire('a', 'b');
  assert.equal(fresh.isDue('a'), true);
});

test('failures pause a part twice as long each time, up to a limit, and a success resets that', () => {
  const { fresh, pass } = clock();
  for (const ms of [100, 200, 400, 800, 1000, 1000]) {
    fresh.failed('a');
    pass(ms - 1);
    assert.equal(fresh.isDue('a'), false, `${ms}`);
    pass(1);
    assert.equal(fresh.isDue('a'), true, `${ms}`);
  }
  fresh.read('a', 0);
  fresh.failed('a');
  pass(100);
  assert.equal(fresh.isDue('a'), true);
});

test('an answer from before a change is not taken for a current one', () => {
  const { fresh } = clock();
  const began = fresh.begin('a');
  fresh.expire('a');
  fresh.read('a', 1000, began);
  assert.equal(fresh.isDue('a'), true);
  fresh.read('a', 1000, fresh.begin('a'));
  assert.equal(fresh.isDue('a'), false);
});

test('a failure from before a change pauses nothing', () => {
  const { fresh } = clock();
  const began = fresh.begin('a');
  assert.equal(fresh.expiredSince('a', began), false);
  fresh.expire('a');
  assert.equal(fresh.expiredSince('a', began), true);
  fresh.failed('a', began);
  assert.equal(fresh.isDue('a'), true);
  fresh.failed('a', fresh.begin('a'));
  assert.equal(fresh.isDue('a'), false);
});

test('a failure pauses a part for two seconds at first, and for a minute at most', () => {
  let now = 0;
  const fresh = createFreshness<'a'>(undefined, () => now);
  const pauses = [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000];
  for (const ms of pauses) {
    fresh.failed('a');
    now += ms - 1;
    assert.equal(fresh.isDue('a'), false, `${ms}`);
    now += 1;
    assert.equal(fresh.isDue('a'), true, `${ms}`);
  }
});

test('a part is outdated, with a known age, while a pause after a failure runs', () => {
  const { fresh, pass } = clock();
  assert.deepEqual([fresh.age('a'), fresh.isOutdated('a')], [null, true]);
  fresh.read('a', 50);
  pass(50);
  fresh.failed('a');
  assert.deepEqual([fresh.age('a'), fresh.isOutdated('a'), fresh.isDue('a')], [50, true, false]);
});
