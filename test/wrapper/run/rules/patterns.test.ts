// The time limit for patterns of the user's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withTimeLimit } from '../../../../wrapper/run/rules/patterns.ts';

test('stops a pattern that backtracks forever', () => {
  const endless = () => /^(a+)+$/.test(`${'a'.repeat(40)}!`);
  assert.equal(withTimeLimit<boolean | null>(50, endless, null), null);
});

/** Takes time, and none of the processor's: as work does on a busy machine. */
const wait = (ms?: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('finishes work that another program kept from the processor for a while', () => {
  assert.equal(
    withTimeLimit<string | null>(100, () => wait(250), null),
    'timed-out',
  );
});

test('stops work that never gets its time', () => {
  assert.equal(
    withTimeLimit<string | null>(50, () => wait(), null),
    null,
  );
});

test('rethrows an error of the work', () => {
  const failing = () => {
    throw new TypeError('no');
  };
  assert.throws(() => withTimeLimit(50, failing, undefined), TypeError);
});
