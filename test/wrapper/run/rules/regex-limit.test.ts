// The time limit for patterns of the user's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withTimeLimit } from '../../../../wrapper/run/rules/regex-limit.ts';

test('a pattern that backtracks without end is given up', () => {
  const endless = () => /^(a+)+$/.test(`${'a'.repeat(40)}!`);
  assert.equal(withTimeLimit<boolean | null>(50, endless, null), null);
});

test('work that only waits for the processor, as on a busy machine, is finished', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const wait = () => Atomics.wait(cell, 0, 0, 200);
  assert.equal(withTimeLimit<string | null>(50, wait, null), 'timed-out');
});

test('an error of the work is passed on', () => {
  const failing = () => {
    throw new TypeError('no');
  };
  assert.throws(() => withTimeLimit(50, failing, undefined), TypeError);
});
