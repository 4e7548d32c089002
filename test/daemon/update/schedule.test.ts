// Automatic checks: after the start of the daemon, and then once a day at varying times.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startSchedule } from '../../../daemon/update/update.ts';
import { until } from '../../support/until.ts';

const HOUR = 3_600_000;

/** A schedule by a clock that the test sets, which is read in each tick. */
async function scheduleOf(t: TestContext, random: number) {
  let [at, reads, checks] = [Date.parse('2026-11-22T12:00:00Z'), 0, 0];
  const now = () => {
    reads++;
    return at;
  };
  const options = { startupMs: 1, tickMs: 1, now, random: () => random };
  const schedule = startSchedule(options, async () => void checks++);
  t.after(() => schedule.stop());
  await until(() => checks === 1, 'the check after the start');
  return {
    checks: () => checks,
    /** Sets the clock, and waits until some ticks have seen it. */
    async pass(ms: number) {
      at += ms;
      const before = reads;
      await until(() => reads > before + 10);
    },
  };
}

for (const [random, hours] of [
  [0, 21],
  [0.5, 24],
  [1, 27],
] as const)
  test(`the next check is due after ${hours} hours for the random number ${random}`, async t => {
    const { checks, pass } = await scheduleOf(t, random);
    for (let check = 1; check < 4; check++) {
      await pass(hours * HOUR - 1);
      assert.equal(checks(), check);
      await pass(1);
      assert.equal(checks(), check + 1);
    }
  });

test('a clock that is set back by more than a day does not put the check off, and by less it does', async t => {
  const { checks, pass } = await scheduleOf(t, 0.5);
  await pass(-23 * HOUR);
  assert.equal(checks(), 1);
  await pass(-2 * HOUR);
  assert.equal(checks(), 2);
});
