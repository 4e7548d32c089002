// Killed before each file operation of recording, summing up and deleting, the history keeps its records and counts no byte twice.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { createHistoryService } from '../../../daemon/history/history-service.ts';
import { NOON, seen } from '../../support/history/seen.ts';
import { moments } from '../../support/moments.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace';
const LATER = 14 * 60;
const program = bundleScript(join(import.meta.dirname, '../../support/history/act.ts'), temporary({ after }));

const boot = (directory: string, now: number) => createHistoryService({ directory, say() {}, now: () => now });

/** A day that an earlier version kept in quarters of an hour, with its changes. */
const QUARTERS = [0, 900, 1_800, 2_700, 3_600].map(
  second => `${Date.parse('2026-11-05') / 1000 + second} 900 3 2000 1000 3000 0 1000 10\n`,
);
const CHANGE = `${JSON.stringify({ at: Date.parse('2026-11-05T00:20:00Z'), kind: 'state', state: 'connected' })}\n`;

/** A history with a connection that goes on, a week-old day in full, a day in quarters, and a day that is too old. */
function prepare(t: TestContext): string {
  const directory = join(temporary(t, 'crash'), 'history');
  boot(directory, NOON).record([seen(0, 'connected', null, 100), seen(1, 'connected', null, 300)]);
  const old = (day: string) =>
    [1, 2, 61].map(second => `${Date.parse(day) / 1000 + second} 5 1 1000 1000 1000 0 10 1\n`).join('');
  for (const day of ['2026-11-14', '2026-08-01']) writeFileSync(join(directory, `${day}.log`), old(day));
  writeFileSync(
    join(directory, '2026-11-05.log'),
    `# quarter\n${QUARTERS.slice(0, 2).join('')}${CHANGE}${QUARTERS.slice(2).join('')}`,
  );
  writeFileSync(join(directory, '2026-11-20.sums'), '@ 1763596800 0 9720\n');
  return directory;
}

async function killedAt(t: TestContext, act: string, check: (directory: string, what: string) => Promise<void>) {
  const directory = prepare(t);
  const all = await moments(t, join(directory, '..'), [process.execPath, program, directory, act], { env: {} });
  t.diagnostic(`${act}: ${all.map(({ after }) => after).join(', ')}`);
  assert.ok(all.length > 3, `${all.length} moments`);
  for (const { after, restore } of all) {
    restore();
    await check(directory, `${act}, after ${after}`);
  }
}

test('recording and summing up', { skip }, async t => {
  await killedAt(t, 'record', async (directory, what) => {
    const week = readFileSync(join(directory, '2026-11-14.log'), 'utf8');
    const [full, minutes] = [
      /^(\d+ 5 1 1000 1000 1000 0 10 1\n){3}$/,
      /^# minute\n\d+ 10 2 .* 20 2\n\d+ 5 1 .* 10 1\n$/,
    ];
    const hours = /^# hour\n\d+ 15 3 .* 30 3\n$/;
    assert.ok(
      [full, minutes, hours].some(form => form.test(week)),
      `${what}: ${week}`,
    );
    const month = readFileSync(join(directory, '2026-11-05.log'), 'utf8');
    assert.match(
      month,
      /^# (quarter\n(\d+ 900 3 .*\n){2}\{.*\n(\d+ 900 3 .*\n){3}|hour\n\d+ 3600 12 .* 4000 40\n\{.*\n\d+ 900 3 .*\n)$/,
      what,
    );
    const later = NOON + LATER * 60_000;
    const next = boot(directory, later);
    next.record([seen(LATER - 1, 'connected', null, 1_000)]);
    const { totals, samples } = await next.read({ since: '2d', resolution: 'full' }, true);
    assert.equal(totals?.received, 900, what);
    assert.equal(
      samples.reduce((sum, { received }) => sum + received, 0),
      900,
      what,
    );
    const all = await next.read({ since: '60d', resolution: 'hour' }, true);
    assert.equal(all.totals?.received, 900 + 30 + 5_000, `${what}: with the older days`);
    const old = all.samples.filter(({ at }) => at.startsWith('2026-11-05'));
    assert.deepEqual(
      old.map(({ at, seconds, latencyMs, latencyMaxMs, received }) => [
        at.slice(11, 16),
        seconds,
        latencyMs,
        latencyMaxMs,
        received,
      ]),
      [
        ['00:00', 3600, 2, 3, 4_000],
        ['01:00', 900, 2, 3, 1_000],
      ],
      what,
    );
    const leftOver = readdirSync(directory).filter(name => !/\.(log|sums)$/.test(name));
    assert.ok(
      leftOver.every(name => name.endsWith('.culvert-new')),
      `${what}: ${leftOver}`,
    );
  });
});

test('deleting', { skip }, async t => {
  await killedAt(t, 'clear', async (directory, what) => {
    const { samples } = await boot(directory, NOON + 120_000).read({ since: '7d' }, true);
    assert.equal(existsSync(`${directory}.cleared`), false, what);
    const all = existsSync(directory) ? 5 : 0;
    assert.equal(existsSync(directory) ? readdirSync(directory).length : 0, all, what);
    assert.equal(samples.length > 0, all > 0, what);
  });
});
