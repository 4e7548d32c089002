// The root service and its nft killed at each system call of a change: the table is the old one or the new one, never
// absent, and a restart brings what is stored. CULVERT_FULL=1 tries every call, the short run some of each process.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { alive } from '../../support/daemon/fake-cli.ts';
import { attachStrace, killingAt } from '../../support/killswitch/load/strace.ts';
import { missing, type Stage, stageFor, which } from '../../support/killswitch/stage.ts';
import { FULL, spread } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

/** Injections for each process: nft makes thousands of calls, most of them reads of the same files. */
const MOST = FULL ? 400 : 3;
const ENDPOINT = ['1', '162.159.193.0/24', 'udp', '1', '2408'];
const NARROW = ['ba(ssaq)', 'false', ...ENDPOINT];
const WIDE = ['ba(ssaq)', 'true', ...ENDPOINT];
/**
 * A change in progress neither forks nor ends a process. How often it waits or maps memory differs from run to run, and
 * these calls change nothing that is tested here.
 */
const POINTLESS = new Set(
  ['exit', 'exit_group', 'restart_syscall', '+++', '---', 'futex', 'poll'].concat([
    'mmap',
    'munmap',
    'mprotect',
    'mremap',
    'madvise',
    'brk',
  ]),
);

const skip = missing || (which('strace') ? false : 'needs strace');

for (const victim of ['service', 'nft'] as const) {
  test(`the ${victim} killed anywhere in a change leaves the old table or the new one`, { skip }, async t => {
    const stage = await stageFor(t);
    const tables = await bothTables(stage);
    const points = await recordPoints(stage, victim);
    const chosen = spread(points, MOST);
    const tally = { old: 0, new: 0, missed: 0 };
    for (const [call, ordinal] of chosen) {
      const at = `${victim} killed at ${call} ${ordinal}`;
      console.log(at); // progress, for the runner
      const killed = await killAt(stage, victim, call, ordinal);
      const table = await stage.table();
      assert.ok(table === tables.narrow || table === tables.wide, `${at}: ${table}`);
      if (!killed) tally.missed++;
      else tally[table === tables.narrow ? 'old' : 'new']++;
      if (victim === 'service' && killed) await stage.serve();
      const wide = readFileSync(stage.path('state/rules.nft'), 'utf8').includes('"allowLan":true');
      await until(async () => (await stage.table()) === (wide ? tables.wide : tables.narrow));
      assert.deepEqual(
        readdirSync(stage.path('state')).filter(name => !name.startsWith('rules.nft')),
        [],
        at,
      );
      await change(stage, NARROW);
    }
    t.diagnostic(`${chosen.length} injections of ${points.length} points: ${JSON.stringify(tally)}`);
    assert.ok(tally.old + tally.new >= chosen.length / 2, `most of them hit: ${JSON.stringify(tally)}`);
  });
}

async function bothTables(stage: Stage): Promise<{ narrow: string | null; wide: string | null }> {
  await stage.serve();
  await change(stage, WIDE);
  const wide = await stage.table();
  await change(stage, NARROW);
  return { wide, narrow: await stage.table() };
}

async function change(stage: Stage, args: readonly string[]): Promise<void> {
  const { ok, text } = await stage.call('Enable', args);
  assert.ok(ok, text);
}

/** Each system call that a change makes, by name and how many of that name its thread made before: so strace counts. */
async function recordPoints(stage: Stage, victim: 'service' | 'nft'): Promise<[string, number][]> {
  const detach = await attachStrace(stage, pidOf(stage, victim), ['-f', '-o', stage.path('trace')]);
  await change(stage, WIDE);
  await detach();
  await change(stage, NARROW);
  const counts = new Map<string, number>();
  const points = new Map<string, [string, number]>();
  for (const line of readFileSync(stage.path('trace'), 'utf8').split('\n')) {
    const [, thread, call] = /^(\d+) +([a-z_0-9]+)\(/.exec(line) ?? [];
    if (!call || POINTLESS.has(call)) continue;
    const ordinal = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, ordinal);
    points.set(`${call} ${ordinal}`, [call, ordinal]);
  }
  return [...points.values()];
}

async function killAt(stage: Stage, victim: 'service' | 'nft', call: string, ordinal: number): Promise<boolean> {
  const pid = pidOf(stage, victim);
  const detach = await attachStrace(stage, pid, ['-f', ...killingAt(call, ordinal)]);
  await stage.call('Enable', WIDE);
  await detach();
  return !alive(pid);
}

/** The service, or its child that takes the transactions. */
function pidOf(stage: Stage, victim: 'service' | 'nft'): number {
  const { pid } = stage.state()!;
  if (victim === 'service') return pid!;
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .find(child => readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0').includes('-i'));
  return Number(child);
}
