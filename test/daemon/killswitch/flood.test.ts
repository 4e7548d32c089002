// Attacks on the root service by messages of every size, from users whom the bus lets through and from others. The service
// keeps within the memory of its unit, repairs the table, and answers others meanwhile.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { memoryLimit, peakMemory } from '../../support/killswitch/memory.ts';
import { missing, type Stage, setStage } from '../../support/killswitch/stage.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const FLOOD = resolve(import.meta.dirname, '../../support/killswitch/flood.py');
const NARROW = ['ba(ssaq)', 'false', '1', '162.159.193.0/24', 'udp', '1', '2408'];
const NOBODY = 65534;
/** How long an attack lasts, in seconds; all cores are busy meanwhile. */
const LONG = 2;
const BRIEF = FULL ? LONG : 0.8;
/** With room for a machine that is busy with other tests; without the mend it takes until the service is killed. */
const ANSWER_MS = 15_000;
/** Each look starts a process, which should not be the machine's main work. */
const MEND = { limitMs: 15_000, pollMs: 50 };

type Attack = readonly [kind: string, bytes: number, connections: number, seconds: number];
/** The long ones end a service whose gate lets everything pass, or one that leaves collecting garbage to GJS. */
const ATTACKS: readonly Attack[] = [
  ['Enable', 14_000, 4, BRIEF],
  ['Enable', 24_000, 4, BRIEF],
  ['Enable', 24_000, 100, LONG],
  ['Enable', 2_400_000, 20, LONG],
  ['Enable', 33_000_000, 4, LONG],
  ['Disable', 24_000, 20, LONG],
  ['Status', 10, 20, BRIEF],
  ['Ping', 1_000_000, 20, BRIEF],
  ['signal', 5_000, 20, LONG],
  ['signal', 30_000_000, 4, BRIEF],
];

async function flood(stage: Stage, [kind, bytes, connections, seconds]: Attack, uid = NOBODY) {
  const words = [stage.path('bus'), uid, connections, seconds, kind, bytes].map(String);
  const attacker = stage.start(['/usr/bin/python3', '-I', FLOOD, ...words]);
  await once(attacker.stdout!, 'data');
  return { ended: once(attacker, 'exit') };
}

for (const attack of ATTACKS) {
  const [kind, bytes, connections] = attack;
  test(`survives ${kind} messages of ${bytes} bytes from ${connections} connections, and repairs the table meanwhile`, {
    skip: missing,
  }, async t => {
    const stage = await setStage();
    try {
      const service = await stage.serve();
      assert.ok((await stage.call('Enable', NARROW)).ok);
      const before = await stage.table();
      await until(() => stage.state()?.protection !== 'none');
      const { ended } = await flood(stage, attack);
      const started = performance.now();
      await stage.nft('flush', 'ruleset');
      await until(async () => (await stage.table()) === before, undefined, MEND);
      const mended = performance.now() - started;
      const asked = performance.now();
      // the bus refuses calls itself while the queue of a connection is full
      await until(async () => (await stage.call('Status')).ok, undefined, { limitMs: ANSWER_MS });
      const answered = performance.now() - asked;
      await ended;
      await until(async () => (await stage.call('Status')).ok, undefined, { limitMs: ANSWER_MS });
      const peak = peakMemory(service.pid!);
      assert.ok(peak < memoryLimit(), `${peak} KiB`);
      assert.equal(service.exitCode, null);
      assert.equal(stage.state()?.active, true);
      // the readers still hear: a foreign change is repaired as before
      await stage.nft('flush', 'ruleset');
      await until(async () => (await stage.table()) === before, undefined, MEND);
      t.diagnostic(`repaired in ${mended.toFixed()} ms, answered in ${answered.toFixed()} ms, peak ${peak >> 10} MiB`);
    } finally {
      await stage.end();
    }
  });
}

test('goes on after thousands of calls that it answers', { skip: missing }, async () => {
  const stage = await setStage();
  try {
    const service = await stage.serve();
    await stage.call('Enable', NARROW);
    const { ended } = await flood(stage, ['Introspect', 10, 8, LONG], 0);
    await ended;
    const status = await flood(stage, ['Status', 10, 8, LONG], 0);
    await status.ended;
    await until(async () => (await stage.call('Status')).ok, undefined, { limitMs: ANSWER_MS });
    for (let i = 0; i < 40; i++) assert.ok((await stage.call('Enable', NARROW)).ok, `${i}`);
    assert.equal(service.exitCode, null);
  } finally {
    await stage.end();
  }
});

test('the bus refuses users without a session on a seat, whatever they send', { skip: missing }, async () => {
  const stage = await setStage('played', 'nobody');
  try {
    await stage.serve();
    stage.allow('enable', 'disable', 'pause');
    assert.ok((await stage.call('Enable', NARROW)).ok, 'root may call');
    for (const [method, args] of [
      ['Enable', NARROW],
      ['Disable', []],
      ['Pause', ['u', '5']],
      ['Status', []],
    ] as const) {
      const { ok, text } = await stage.call(method, args, NOBODY);
      assert.ok(!ok && /Rejected send message|Access denied/i.test(text), `${method}: ${text}`);
    }
    const { ended } = await flood(stage, ['signal', 1_000_000, 4, BRIEF]);
    assert.ok((await stage.call('Status')).ok);
    await ended;
  } finally {
    await stage.end();
  }
});

test('a monitor that went deaf is found out and started again', { skip: missing }, async t => {
  const stage = await setStage();
  try {
    await stage.serve();
    await stage.call('Enable', NARROW);
    if (stage.state()?.protection === 'owner-persist') return t.skip('the table has an owner, and needs no monitor');
    const before = await stage.table();
    await until(() => stage.state()?.protection === 'watchdog');
    for (const monitor of execFileSync('pgrep', ['-P', String(stage.state()!.pid), '-f', 'nft monitor'], {
      encoding: 'utf8',
    })
      .trim()
      .split('\n'))
      process.kill(Number(monitor), 'SIGSTOP');
    await stage.nft('flush', 'ruleset');
    await until(async () => (await stage.table()) === before);
    await stage.nft('flush', 'ruleset');
    await until(async () => (await stage.table()) === before, undefined, MEND);
  } finally {
    await stage.end();
  }
});
