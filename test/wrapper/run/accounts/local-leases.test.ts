// The claim on an account whose pause has ended: one run tries it. And how a pause is stored.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { claimProbe } from '../../../../wrapper/run/accounts/local-leases.ts';
import { pathsFor } from '../../../../wrapper/store/paths.ts';
import { isBeingProbed, PROBE_MS } from '../../../../wrapper/store/pause.ts';
import { readState, updateState } from '../../../../wrapper/store/state.ts';
import { temporary } from '../../../support/temporary.ts';

/** An account that was paused until 1,000, and that another run may have claimed. */
function paused(t: TestContext, probedAt?: number) {
  const paths = pathsFor({ HOME: temporary(t, 'probe') });
  updateState(paths, 'x', state => {
    state.paused.a = { class: 'rate', until: 1_000, since: 0, ...(probedAt !== undefined && { probedAt }) };
  });
  /** @param times of the clock, one for each reading; the last one stays */
  const claim = (...times: number[]) => {
    const now = () => (times.length > 1 ? times.shift()! : times[0]!);
    return claimProbe('a', { plan: { cli: 'x' }, state: readState(paths, 'x'), context: { paths, now } });
  };
  return { paths, claim };
}

test('the first run after a pause may try the account, the next one only a minute later', t => {
  const { paths, claim } = paused(t);
  assert.equal(claim(2_000), true);
  assert.equal(readState(paths, 'x').paused.a?.probedAt, 2_000);
  assert.equal(claim(2_001), false);
  assert.equal(claim(2_000 + PROBE_MS - 1), false);
  assert.equal(claim(2_000 + PROBE_MS), true);
});

test('a claim that was made while a run waited for the lock counts', t => {
  const { claim } = paused(t, 2_000);
  assert.equal(claim(1_999, 2_001), false);
});

test('a claim of the future, before the clock was set back, does not count', () => {
  assert.equal(isBeingProbed({ probedAt: 2_000 }, 1_999), false);
  assert.equal(isBeingProbed({ probedAt: 2_000 }, 2_000), true);
  assert.equal(isBeingProbed({}, 2_000), false);
});

test('a pause that an older version stored counts, and is stored under its new name', t => {
  const { paths } = paused(t);
  const file = join(paths.accounts, 'x.json');
  const older = { b: { class: 'quota', until: 2_000, since: 0 } };
  writeFileSync(file, JSON.stringify({ resting: older }));
  assert.deepEqual({ ...readState(paths, 'x').paused }, older);
  updateState(paths, 'x', () => {});
  const stored = JSON.parse(readFileSync(file, 'utf8'));
  assert.deepEqual([stored.paused, stored.resting], [older, undefined]);
});
