// `culvert diagnose record --try` over the emulator and a daemon: what it changes, it puts back, also when it is killed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MODES } from '../../../../daemon/api/actions.ts';
import type { KillSwitch } from '../../../../daemon/api/schema.ts';
import { PROBE } from '../../../../daemon/cli/commands/doctor/trial.ts';
import type { KillSwitchControl } from '../../../../daemon/controls.ts';
import { NO_KILL_SWITCH, setPart } from '../../../../daemon/state/store.ts';
import { parseTranscript } from '../../../../daemon/warp/record/transcript.ts';
import {
  type Child,
  createHome,
  ended,
  prints,
  start,
  startDaemon,
  startOnTerminal,
} from '../../../support/daemon/command.ts';
import { showIn } from '../../../support/daemon/memory-tunnel.ts';
import { startTunnel } from '../../../support/daemon/tunnel.ts';
import { BLOCKED_ENTRY } from '../../../support/killswitch/blocked-entry.ts';
import { inTurn } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const OFF: KillSwitch = { ...NO_KILL_SWITCH, active: false, installed: true, confirmable: true };

/** Called with the number of each change that reaches the client or the root service, before and after it. */
type Moment = (number: number, when: 'before' | 'after') => unknown;

/** A daemon over the emulator, with a root service whose counters count what is sent while it blocks. */
async function setUp(t: TestContext, { words = [] as string[], installed = true } = {}) {
  const real = await startTunnel(t, { connectMs: 30 });
  if (words.length > 0) for (const word of words) await real.cli.run(...word.split(' '));
  await real.fresh();
  const home = createHome(t);
  let number = 0;
  const machine = { moment: (() => {}) as Moment, changes: 0, running: 0 };
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    const own = ++number;
    machine.changes = number;
    machine.running += 1;
    try {
      await machine.moment(own, 'before');
      const result = await work();
      await machine.moment(own, 'after');
      return result;
    } finally {
      machine.running -= 1;
    }
  };
  const { runAction } = real.tunnel;
  const tunnel = { ...real.tunnel, runAction: (request: never) => counted(() => runAction(request)) };
  const running = await startDaemon(t, home, undefined, { tunnel });
  const { state } = running.daemon;
  showIn(state, real);
  state.set('killSwitch', installed ? OFF : NO_KILL_SWITCH);
  Object.assign(running.killSwitch, rootService(t, state, counted));
  const warp = join(home.path, 'warp-cli');
  const exports = Object.entries(real.cli.env).filter(([name]) => name.startsWith('CULVERT_'));
  const lines = exports.map(([name, value]) => `export ${name}='${value}'`).join('\n');
  writeFileSync(warp, `#!/bin/sh\n${lines}\nexec ${real.cli.bin} "$@"\n`, { mode: 0o755 });
  home.env.CULVERT_WARP_CLI = warp;
  const facts = () => {
    const { settings, connection } = JSON.parse(readFileSync(real.cli.stateFile, 'utf8'));
    return {
      mode: settings.mode ?? 'warp',
      connected: connection !== null,
      killSwitch: state.snapshot().killSwitch.enabled,
    };
  };
  // the change at which the command was killed may still be made
  const isSettled = () => machine.running === 0 && state.snapshot().changes.length === 0;
  // a value that is not read yet can't be reverted, so that the daemon would refuse the change
  return { home, state, machine, facts, isSettled, fresh: real.fresh };
}

/** Turns on and off like the real one, and reverts unconfirmed changes automatically. */
function rootService(
  t: TestContext,
  state: Awaited<ReturnType<typeof startDaemon>>['daemon']['state'],
  counted: <T>(work: () => Promise<T>) => Promise<T>,
): Partial<KillSwitchControl> {
  let timer: NodeJS.Timeout | undefined;
  let packets = 0;
  t.after(() => clearTimeout(timer));
  const show = (enabled: boolean, seconds?: number) => {
    clearTimeout(timer);
    const [setAt, confirmBy] = [0, (seconds ?? 0) * 1000].map(ms => new Date(Date.now() + ms).toISOString()) as [
      string,
      string,
    ];
    const unconfirmed =
      seconds === undefined ? null : { setAt, confirmBy, previous: { enabled: false, allowLan: false } };
    const change = {
      subject: 'killSwitch',
      value: 'on',
      previous: 'off',
      setAt,
      confirmBy,
      endsAt: null,
      endingSoon: false,
      problem: null,
    } as const;
    state.set('killSwitch', { ...OFF, enabled, active: enabled, unconfirmed });
    setPart(state, 'kill-switch', seconds === undefined ? [] : [change]);
    if (seconds !== undefined) timer = setTimeout(show, seconds * 1000, false);
    return state.snapshot().killSwitch;
  };
  return {
    read: async () => state.snapshot().killSwitch,
    set: ({ enabled, confirmWithin }) => counted(async () => show(enabled, confirmWithin)),
    decide: what => counted(async () => show(what === 'confirm')),
    blocked: async () => ({
      recordingSince: '2020-02-29T07:00:00Z',
      entries: [{ ...BLOCKED_ENTRY, rule: 'kill-switch', address: PROBE.address, packets: packets++ }],
      hidden: 0,
      missed: 0,
    }),
  };
}

const WORDS = ['diagnose', 'record', '--try'];

for (const [title, words] of [
  ['a tunnel that is down', ['disconnect']],
  ['a tunnel that is up, in another mode', ['mode doh', 'connect']],
] as const)
  test(`tries ${title}, and puts it back`, async t => {
    const { home, facts, isSettled, machine } = await setUp(t, { words: [...words] });
    const before = facts();
    const file = join(home.path, 'tried.jsonl');
    const { code, stdout, stderr } = await ended(await start(home, [...WORDS, '--yes', file]));
    assert.equal(code, 0, stderr);
    assert.deepEqual(facts(), before);
    assert.ok(isSettled());
    assert.match(stdout, /Mode, connection and kill switch are as before\./);
    assert.match(stdout, before.connected ? /disconnect: done after/ : /connect: done after/);
    for (const mode of MODES) if (mode !== before.mode) assert.ok(stdout.includes(`setMode ${mode}: done after`), mode);
    // without a network nothing can be blocked, and it says so
    assert.match(stdout, /kill switch: (?:proved: its counters rose|not proved: this machine has no network)/);
    // the connection, the kill switch and six modes, and three reverts
    assert.equal(machine.changes, 11);
    const rows = parseTranscript(readFileSync(file, 'utf8'));
    const tried = rows.filter(({ note }) => note?.startsWith('trial: '));
    const mode = tried.find(({ argv, note }) => note === 'trial: setMode dot' && argv.join(' ') === '-j settings');
    assert.match(mode?.stdout ?? '', /"operation_mode": "dot"/);
    assert.ok(tried.some(({ argv }) => argv.join(' ') === 'mode dot'));
  });

test('says where the kill switch is not there, and what a client refuses', async t => {
  const { home, facts } = await setUp(t, { installed: false });
  const before = facts();
  const file = join(home.path, 'tried.jsonl');
  const { code, stdout } = await ended(await start(home, [...WORDS, '--yes', file]));
  assert.equal(code, 0);
  assert.match(stdout, /kill switch: not proved: its root service is not installed/);
  assert.deepEqual(facts(), before);
});

test('asks first, and does nothing after a no or without an answer', async t => {
  const { home, facts, machine } = await setUp(t);
  const before = facts();
  const piped = await ended(await start(home, WORDS));
  assert.equal(piped.code, 2);
  assert.match(piped.stderr, /changes its mode 6 times\..*Everything is put back.*confirm with --yes/s);
  const child = await startOnTerminal(home, WORDS);
  t.after(() => child.kill('SIGKILL'));
  await prints(child, 'stdout', /Try it now\? \[y\/N\]/);
  child.stdin.write('n\r');
  assert.equal((await ended(child)).code, 1);
  assert.deepEqual([facts(), machine.changes], [before, 0]);
});

test('tries nothing while another change waits', async t => {
  const { home, facts, machine } = await setUp(t);
  const other = await start(home, ['mode', 'doh', '--confirm-within', '600']);
  await ended(other);
  const { code, stderr } = await ended(await start(home, [...WORDS, '--yes']));
  assert.equal(code, 1);
  assert.match(stderr, /Another change waits to be confirmed or reverted\./);
  assert.deepEqual([facts().mode, machine.changes], ['doh', 1]);
});

/** Changes of a trial: the kill switch and its revert, the connection and its revert, six modes and their revert. */
const CHANGES = Array.from({ length: 11 }, (_, at) => at + 1);

for (const when of ['before', 'after'] as const)
  test(`puts everything back after kill -9 ${when} each change`, async t => {
    const { home, facts, isSettled, machine, fresh } = await setUp(t);
    const before = facts();
    // in a short run every third change, others before than after it
    for (const at of inTurn(CHANGES, when === 'before' ? 0 : 1)) {
      machine.changes = 0;
      await fresh();
      const child = await start(home, [...WORDS, '--yes', '--confirm-within', '2', join(home.path, 'killed.jsonl')]);
      const killed = killAt(child, machine, at, when);
      await Promise.all([killed, ended(child)]);
      await until(
        () => isSettled() && JSON.stringify(facts()) === JSON.stringify(before),
        () => `${at}: ${JSON.stringify(facts())}`,
      );
      assert.equal(child.signalCode, 'SIGKILL', `change ${at} was never made: ${JSON.stringify(child.text)}`);
    }
    assert.ok(!existsSync(join(home.path, 'killed.jsonl')));
  });

/** Kills the command at a change, counted from now. */
function killAt(child: Child, machine: { moment: Moment }, at: number, when: 'before' | 'after'): Promise<void> {
  let seen = 0;
  return new Promise(resolve => {
    const die = () => {
      child.kill('SIGKILL');
      resolve();
    };
    child.once('exit', () => resolve());
    machine.moment = (_, now) => {
      if (now === 'before') seen += 1;
      if (seen === at && now === when) die();
    };
  });
}

test('reverts everything immediately after Ctrl+C, and writes nothing', async t => {
  const { home, facts, isSettled, machine, fresh } = await setUp(t);
  const before = facts();
  const file = join(home.path, 'stopped.jsonl');
  for (const at of [1, 3, 6]) {
    let seen = 0;
    await fresh();
    const child = await start(home, [...WORDS, '--yes', '--confirm-within', '600', file]);
    machine.moment = (_, now) => {
      if (now === 'before') seen += 1;
      if (seen === at && now === 'after') child.kill('SIGINT');
    };
    const { code } = await ended(child);
    assert.equal(code, 130);
    machine.moment = () => {};
    // nothing waits for the limit of ten minutes
    await until(
      () => isSettled() && JSON.stringify(facts()) === JSON.stringify(before),
      () => JSON.stringify(facts()),
    );
    assert.ok(!existsSync(file));
  }
});
