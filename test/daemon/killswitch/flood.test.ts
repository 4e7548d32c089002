// Attacks on the root service by messages of every size, from users whom the bus lets through and from others. The service
// stays within the memory of its unit, and goes on repairing the table and answering others.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { memoryLimit, peakMemory } from '../../support/killswitch/load/memory.ts';
import { missing, type Stage, shippedAnd, stageFor, which } from '../../support/killswitch/stage.ts';
import { suspend } from '../../support/signal.ts';
import { FULL, third } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const FLOOD = resolve(import.meta.dirname, '../../support/killswitch/load/flood.py');
const NARROW = ['ba(ssaq)', 'false', '1', '162.159.193.0/24', 'udp', '1', '2408'];
const NOBODY = 65534;
/** Duration of an attack, in seconds; all cores are busy. */
const SECONDS = FULL ? 2 : 1.2;
/** With room for a machine that is busy with other tests; without a gate, the answer comes only after the service was killed. */
const ANSWER_MS = 15_000;
/** Memory limit of the service and its children after any number of calls. Without collection it takes 130 MiB. */
const CALLED_KIB = 100 << 10;
/** Each poll starts a process, which should not be the machine's main work. */
const REPAIR = { limitMs: 15_000, pollMs: 50 };

type Attack = readonly [kind: string, bytes: number, connections: number];
/** They end a service whose gate lets everything pass, or that leaves collecting garbage to GJS. */
const ATTACKS: readonly Attack[] = [
  ['Enable', 24_000, 100],
  ['Enable', 14_000, 4],
  ['Enable', 33_000_000, 4],
  ['Enable', 2_400_000, 20],
  ['Enable', 24_000, 4],
  ['Disable', 24_000, 20],
  ['Status', 10, 20],
  ['Ping', 1_000_000, 20],
  ['signal', 5_000, 20],
  ['signal', 30_000_000, 4],
];

async function flood(stage: Stage, [kind, bytes, connections]: Attack, uid = NOBODY) {
  const words = [stage.path('bus'), uid, connections, SECONDS, kind, bytes].map(String);
  const attacker = stage.start(['/usr/bin/python3', '-I', FLOOD, ...words]);
  await once(attacker.stdout!, 'data');
  return { ended: once(attacker, 'exit') };
}

/** Kinds whose messages differ in what the service does with them. */
const classOf = ([kind]: Attack) => (kind === 'Disable' ? 'Enable' : kind);

for (const attack of third(ATTACKS, classOf)) {
  const [kind, bytes, connections] = attack;
  test(`survives ${kind} messages of ${bytes} bytes from ${connections} connections, and still repairs the table`, {
    skip: missing,
  }, async t => {
    const stage = await stageFor(t);
    const service = await stage.serve();
    assert.ok((await stage.call('Enable', NARROW)).ok);
    const before = await stage.table();
    await until(() => stage.state()?.protection !== 'none');
    const { ended } = await flood(stage, attack);
    const started = performance.now();
    await stage.nft('flush', 'ruleset');
    await until(async () => (await stage.table()) === before, undefined, REPAIR);
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
    await until(async () => (await stage.table()) === before, undefined, REPAIR);
    t.diagnostic(`repaired in ${mended.toFixed()} ms, answered in ${answered.toFixed()} ms, peak ${peak >> 10} MiB`);
  });
}

test('goes on after thousands of calls that it answers, with the memory of the first', {
  skip: missing || (!FULL && 'only with --full'),
}, async t => {
  const stage = await stageFor(t);
  const service = await stage.serve();
  await stage.call('Enable', NARROW);
  const { ended } = await flood(stage, ['Introspect', 10, 8], 0);
  await ended;
  const status = await flood(stage, ['Status', 10, 8], 0);
  await status.ended;
  await until(async () => (await stage.call('Status')).ok, undefined, { limitMs: ANSWER_MS });
  for (let i = 0; i < 40; i++)
    await Promise.all(
      Array.from({ length: 4 }, async (_, at) => {
        const { ok, text } = await stage.call('Enable', shippedAnd().with(1, String(at % 2 === 0)));
        assert.ok(ok, `${i} ${at}: ${text}`);
      }),
    );
  assert.equal(service.exitCode, null);
  const peak = peakMemory(service.pid!);
  assert.ok(peak < CALLED_KIB, `${peak} KiB`);
  t.diagnostic(`peak ${peak >> 10} MiB`);
});

const broker = which('dbus-broker-launch');
for (const bus of ['dbus-daemon', 'dbus-broker'])
  test(`users without a session reach the service on ${bus}, and polkit decides about them`, {
    skip: missing || (bus === 'dbus-broker' && broker === null && 'needs dbus-broker'),
  }, async t => {
    const policy = readFileSync(resolve('data/killswitch/org.culvert.KillSwitch1.conf'), 'utf8');
    assert.doesNotMatch(policy, /<policy at_console/, 'dbus-broker takes every user for one at the console');
    const stage = await stageFor(t, 'played', 'nft', 'network', bus === 'dbus-broker' ? broker! : undefined);
    await stage.serve();
    for (const [method, args] of [
      ['Enable', shippedAnd()],
      ['Disable', []],
      ['Pause', ['u', '5']],
    ] as const)
      assert.match((await stage.call(method, args, NOBODY)).text, /Denied: /, method);
    assert.ok((await stage.call('Status', [], NOBODY)).ok);
    // no other interface of the service is theirs
    for (const [name, method, ...args] of [
      ['org.freedesktop.DBus.Introspectable', 'Introspect'],
      ['org.freedesktop.DBus.Properties', 'GetAll', 's', 'org.culvert.KillSwitch1'],
      ['org.freedesktop.DBus.Peer', 'Ping'],
    ] as const) {
      const target = ['org.culvert.KillSwitch1', '/org/culvert/KillSwitch1', name, method, ...args];
      const busctl = ['busctl', '--system', '--auto-start=no', 'call', ...target];
      const as = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...busctl];
      const [code] = await once(stage.start(as, stage.env), 'exit');
      assert.notEqual(code, 0, `${name}.${method}`);
    }
  });

test('a monitor that has stopped listening is noticed and started again', { skip: missing }, async t => {
  const stage = await stageFor(t);
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
    await suspend(Number(monitor));
  await stage.nft('flush', 'ruleset');
  await until(async () => (await stage.table()) === before);
  await stage.nft('flush', 'ruleset');
  await until(async () => (await stage.table()) === before, undefined, REPAIR);
});
