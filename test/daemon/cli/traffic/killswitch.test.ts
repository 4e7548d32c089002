// `culvert killswitch`: its state, turning it on and off, and the question that confirms it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockedList, KillSwitch } from '../../../../daemon/api/schema.ts';
import { cutPeer } from '../../../../daemon/cli/commands/traffic/killswitch.ts';
import type { KillSwitchControl } from '../../../../daemon/controls.ts';
import { Problem } from '../../../../daemon/problem.ts';
import { NO_KILL_SWITCH } from '../../../../daemon/state/store.ts';
import {
  createHome,
  culvert,
  ended,
  type Home,
  prints,
  startDaemon,
  startOnTerminal,
} from '../../../support/daemon/command.ts';
import { BLOCKED_ENTRY } from '../../../support/killswitch/blocked-entry.ts';

const OFF: KillSwitch = { ...NO_KILL_SWITCH, active: false, installed: true, backend: 'nftables 1.0.6' };
const ON: KillSwitch = { ...OFF, enabled: true, active: true, protection: 'watchdog', bootGuard: true };
/** Never today: a time of another day is printed with its day. */
const LONG_AGO = '2020-02-29T07:00:00Z';
const NOTHING_BLOCKED: BlockedList = { recordingSince: LONG_AGO, entries: [], hidden: 0, missed: 0 };
const SSH = { SSH_CONNECTION: '203.0.113.9 50000 198.51.100.2 22' };

/** A daemon whose kill switch does as requested. */
async function startWith(t: Parameters<typeof startDaemon>[0], home: Home, first: KillSwitch, refusal?: Problem) {
  const calls: unknown[] = [];
  /** Lists of blocked packets, one for each call. */
  const lists: BlockedList[] = [];
  const running = await startDaemon(t, home);
  const { state } = running.daemon;
  const show = (value: KillSwitch) => {
    state.set('killSwitch', value);
    return value;
  };
  show(first);
  const act = (call: unknown, value: KillSwitch) => {
    if (refusal) throw refusal;
    calls.push(call);
    return show(value);
  };
  const control: KillSwitchControl = {
    start() {},
    async stop() {},
    async reapply() {},
    read: async () => state.snapshot().killSwitch,
    set: async request => {
      const value = request.enabled ? { ...ON, allowLan: request.allowLan } : OFF;
      if (request.confirmWithin === undefined) return act(request, value);
      const setAt = new Date().toISOString();
      const confirmBy = new Date(Date.now() + request.confirmWithin * 1000).toISOString();
      const shown = act(request, {
        ...value,
        unconfirmed: { setAt, confirmBy, previous: { enabled: false, allowLan: false } },
      });
      const change = { subject: 'killSwitch' as const, value: 'on', previous: 'off', setAt, confirmBy };
      state.set('changes', [{ ...change, endsAt: null, endingSoon: false, problem: null }]);
      return shown;
    },
    blocked: async () => lists.shift() ?? NOTHING_BLOCKED,
    decide: async what => {
      state.set('changes', []);
      return act(what, what === 'confirm' ? ON : OFF);
    },
    pause: async seconds =>
      act(
        seconds,
        seconds === 0
          ? ON
          : {
              ...ON,
              active: false,
              detail: 'Paused.',
              pausedUntil: new Date(Date.now() + seconds * 1000).toISOString(),
            },
      ),
  };
  Object.assign(running.killSwitch, control);
  return { calls, lists, show };
}

const SOON = new Date(Date.now() + 60_000).toISOString();

test('says what is wanted, what is measured and what is missing', async t => {
  const home = createHome(t);
  const { show } = await startWith(t, home, OFF);
  for (const [state, said] of [
    [OFF, /^Kill switch off; it does not block\.\n$/],
    [ON, /^Kill switch on; it blocks\.\n$/],
    [{ ...ON, allowLan: true }, /on, local network allowed; it blocks/],
    [{ ...ON, active: null, detail: 'Not known.' }, /whether it blocks is not known\.\nNot known\./],
    [{ ...ON, protection: 'none', bootGuard: false }, /Nothing restores .*\n.*will not block while the machine starts/],
    [
      {
        ...ON,
        bootGuard: false,
        unconfirmed: { setAt: SOON, confirmBy: SOON, previous: { enabled: false, allowLan: false } },
      },
      /it blocks\.\nNot confirmed: reverts at [\d: -]+ unless you run: culvert keep\n$/,
    ],
    [{ ...ON, active: false, pausedUntil: new Date(Date.now() + 299_500).toISOString() }, /Paused, [45]:\d\d left/],
    [
      { ...NO_KILL_SWITCH, command: 'culvert killswitch installer | sudo sh' },
      /Install it with: culvert killswitch installer/,
    ],
  ] as const) {
    show(state);
    assert.match((await culvert(home, ['killswitch'])).stdout, said);
  }
  const { stdout } = await culvert(home, ['killswitch', 'status', '--json']);
  assert.equal(JSON.parse(stdout).ok, true);
});

test('turns on and off, pauses and resumes', async t => {
  const home = createHome(t);
  const { calls } = await startWith(t, home, OFF);
  const on = await culvert(home, ['killswitch', 'on', '--allow-lan']);
  assert.match(on.stdout, /on, local network allowed; it blocks/);
  assert.match(on.stderr, /This blocks all users of this machine, even after a restart/);
  assert.match((await culvert(home, ['killswitch', 'pause', '5'])).stdout, /Paused, [45]:\d\d left/);
  assert.match((await culvert(home, ['killswitch', 'resume'])).stdout, /it blocks/);
  assert.match((await culvert(home, ['killswitch', 'off'])).stdout, /off/);
  assert.deepEqual(calls, [{ enabled: true, allowLan: true }, 300, 0, { enabled: false, allowLan: false }]);
  for (const minutes of ['0', '61', '-1', 'x', '1e1', '60.5', ''])
    assert.equal((await culvert(home, ['killswitch', 'pause', '--', minutes])).code, 2, minutes);
});

test('on a terminal it asks whether to go on blocking, and reverts the block without an answer', async t => {
  const home = createHome(t);
  const able = { ...OFF, confirmable: true };
  const { calls, show } = await startWith(t, home, able);
  for (const [answer, code, said, decision] of [
    ['y\n', 0, /even after a restart/, 'confirm'],
    ['n\n', 1, /was reverted/, 'revert'],
    ['\x03', 1, /was reverted/, 'revert'],
  ] as const) {
    show(able);
    const child = await startOnTerminal(home, ['killswitch', 'on']);
    await prints(child, 'stdout', /even after a restart.*Keep this change\? Reverting in (30|29) s \[Y\/n\]/s);
    child.stdin.write(answer);
    const ends = await ended(child);
    assert.equal(ends.code, code);
    assert.match(ends.stdout, said);
    assert.deepEqual(calls.splice(0), [{ enabled: true, allowLan: false, confirmWithin: 30 }, decision]);
  }
  show(able);
  const yes = await startOnTerminal(home, ['killswitch', 'on', '--yes']);
  assert.equal((await ended(yes)).code, 0);
  // an older root service reverts nothing, which keeps no user from blocking
  show(OFF);
  assert.equal((await ended(await startOnTerminal(home, ['killswitch', 'on']))).code, 0);
  assert.deepEqual(calls.splice(0), Array(2).fill({ enabled: true, allowLan: false }));
});

test('without a terminal it reverts only where that was asked for, and "culvert keep" keeps it', async t => {
  const home = createHome(t);
  const { calls, show } = await startWith(t, home, { ...OFF, confirmable: true });
  const plain = await culvert(home, ['killswitch', 'on']);
  assert.equal(plain.code, 0, plain.stderr);
  show(OFF);
  const on = await culvert(home, ['killswitch', 'on', '--confirm-within', '60']);
  assert.deepEqual([on.code, /Reverts in 60 s unless you run: culvert keep/.test(on.stderr)], [0, true]);
  assert.equal((await culvert(home, ['keep', 'killswitch'])).code, 0);
  const off = await culvert(home, ['killswitch', 'off', '--confirm-within', '5']);
  assert.match(off.stderr, /Reverts in 5 s/);
  assert.equal((await culvert(home, ['revert'])).code, 0);
  assert.match((await culvert(home, ['keep'])).stderr, /There is no such change/);
  assert.match((await culvert(home, ['extend', '5m', 'killswitch'])).stderr, /no end that could be extended/);
  assert.deepEqual(calls, [
    { enabled: true, allowLan: false },
    { enabled: true, allowLan: false, confirmWithin: 60 },
    'confirm',
    { enabled: false, allowLan: false, confirmWithin: 5 },
    'revert',
  ]);
  for (const seconds of ['0', '601', 'x'])
    assert.equal((await culvert(home, ['killswitch', 'off', '--confirm-within', seconds])).code, 2);
});

test('counts a pause down on a terminal until it blocks again', async t => {
  const home = createHome(t);
  const { show } = await startWith(t, home, ON);
  const child = await startOnTerminal(home, ['killswitch', 'pause', '1', '--wait']);
  await prints(child, 'stdout', /(\d:\d\d) left[\s\S]*(?!\1)\d:\d\d left/);
  show(ON);
  const { code, stdout } = await ended(child);
  assert.equal(code, 0);
  assert.match(stdout, /it blocks/);
});

test('a denied call ends with the exit code for that', async t => {
  const home = createHome(t);
  await startWith(t, home, ON, new Problem('killswitch-denied', 'This needs the permission of an administrator.'));
  const { code, stderr } = await culvert(home, ['killswitch', 'off']);
  assert.equal(code, 4);
  assert.match(stderr, /administrator/);
});

test('over SSH it refuses to cut its own session, asks on a terminal, and does it when forced', async t => {
  const home = createHome(t);
  const { calls, show } = await startWith(t, home, OFF);
  const refused = await culvert(home, ['killswitch', 'on'], '', SSH);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /203\.0\.113\.9.*cut this session off[\s\S]*--force/);
  assert.deepEqual(calls, []);
  const asked = await startOnTerminal(home, ['killswitch', 'on'], SSH);
  await prints(asked, 'stdout', /\[y\/N\]/);
  asked.stdin.write('n\n');
  assert.equal((await ended(asked)).code, 2);
  assert.deepEqual(calls, []);
  assert.equal((await culvert(home, ['killswitch', 'on', '--force'], '', SSH)).code, 0);
  show(ON);
  assert.equal(
    (await culvert(home, ['killswitch', 'on'], '', SSH)).code,
    0,
    'a session that lives with the block already',
  );
  assert.equal(calls.length, 2);
});

test('the peer of the session decides whether it would be cut off', () => {
  for (const [connection, allowLan, cut] of [
    [undefined, false, null],
    ['', false, null],
    ['127.0.0.1 1 127.0.0.1 22', false, null],
    ['::1 1 ::1 22', false, null],
    ['192.168.1.5 1 192.168.1.2 22', false, '192.168.1.5'],
    ['192.168.1.5 1 192.168.1.2 22', true, null],
    ['172.32.0.1 1 172.32.0.2 22', true, '172.32.0.1'],
    ['fe80::1%eth0 1 fe80::2%eth0 22', true, null],
    ['::ffff:10.0.0.1 1 ::ffff:10.0.0.2 22', true, null],
    ['2001:db8::1 1 2001:db8::2 22', true, '2001:db8::1'],
  ] as const)
    assert.equal(cutPeer(connection, allowLan), cut, connection);
});

test('prints the state without a daemon, and turning off asks the root service directly', async t => {
  const home = createHome(t);
  const status = await culvert(home, ['killswitch']);
  assert.equal(status.code, 0, status.stderr);
  assert.match(status.stderr, /daemon is not running/);
  assert.match(status.stdout, /^Kill switch /);
  const json = await culvert(home, ['killswitch', '--json']);
  assert.deepEqual(JSON.parse(json.stdout).ok, true);
  // no root service here either: the refusal is the service's, not that there is no daemon
  const off = await culvert(home, ['killswitch', 'off']);
  assert.notEqual(off.code, 5);
  assert.doesNotMatch(off.stderr, /Start it with: culvert$/m);
});

test('lists blocked packets by program, destination, count and rule', async t => {
  const home = createHome(t);
  const { lists } = await startWith(t, home, ON);
  const entry = {
    rule: 'kill-switch' as const,
    uid: 1000,
    unit: 'app-gnome-org.example.Mail-1234.scope',
    programs: [],
    source: null,
    protocol: 'tcp',
    address: '203.0.113.5',
    port: 993,
    packets: 3,
    since: '2020-02-29T07:01:00Z',
    last: '2020-02-29T07:02:00Z',
  };
  const own = {
    ...entry,
    rule: 'tunnel-only' as const,
    unit: 'culvert-1.scope',
    programs: ['curl\x1b[31m'],
    packets: 1,
  };
  const list = { ...NOTHING_BLOCKED, entries: [entry, { ...own, address: '2001:db8::1' }], hidden: 2, missed: 7 };
  lists.push(list, list);
  const { stdout } = await culvert(home, ['killswitch', 'blocked']);
  assert.match(stdout, /^LAST +PROGRAM +TO +PACKETS +SINCE +RULE\n/);
  assert.match(
    stdout,
    /^2020-02-29 07:02:00 +org\.example\.Mail +203\.0\.113\.5:993 \(TCP\) +3 +2020-02-29 07:01:00 +kill switch\n/m,
  );
  assert.match(stdout, / curl.* +\[2001:db8::1\]:993 \(TCP\) +1 .* this program uses the tunnel only\n/);
  assert.doesNotMatch(stdout, /\x1b/);
  assert.match(
    stdout,
    /2 more of other users.*sudo culvert killswitch blocked\n7 packets more since 2020-02-29 07:00:00, for which/,
  );
  const { entries, ok } = JSON.parse((await culvert(home, ['killswitch', 'blocked', '--json'])).stdout);
  assert.deepEqual([ok, entries], [true, list.entries]);
  assert.match(
    (await culvert(home, ['killswitch', 'blocked'])).stdout,
    /^Nothing was blocked since .*It goes on for a minute\.\n$/,
  );
  lists.push({ ...NOTHING_BLOCKED, recordingSince: null });
  assert.match((await culvert(home, ['killswitch', 'blocked'])).stdout, /the root service is not running/);
});

test('with --watch it prints a line whenever something is blocked further', async t => {
  const home = createHome(t);
  const { lists } = await startWith(t, home, ON);
  const entry = BLOCKED_ENTRY;
  const lines = [entry, entry, { ...entry, packets: 5 }].map(each => ({ ...NOTHING_BLOCKED, entries: [each] }));
  lists.push(NOTHING_BLOCKED, ...lines);
  const child = await startOnTerminal(home, ['killswitch', 'blocked', '--watch']);
  await prints(
    child,
    'stdout',
    /Watching what is blocked.*A program of user 1000 -> 203\.0\.113\.53:53 \(UDP\), 1 packet: .*, 5 packets: /s,
  );
  child.stdin.write('\x03');
  const { stdout } = await ended(child);
  assert.equal(stdout.match(/ -> /g)?.length, 2);
});
