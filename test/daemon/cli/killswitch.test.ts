import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KillSwitch } from '../../../daemon/api/schema.ts';
import { cutPeer } from '../../../daemon/cli/killswitch.ts';
import type { KillSwitchControl } from '../../../daemon/features.ts';
import { Problem } from '../../../daemon/problem.ts';
import { NO_KILL_SWITCH } from '../../../daemon/state.ts';
import { createHome, culvert, ended, type Home, prints, startDaemon, startOnTerminal } from './command.ts';

const OFF: KillSwitch = { ...NO_KILL_SWITCH, active: false, installed: true, backend: 'nftables 1.0.6' };
const ON: KillSwitch = { ...OFF, enabled: true, active: true, protection: 'watchdog', bootGuard: true };
const SSH = { SSH_CONNECTION: '203.0.113.9 50000 198.51.100.2 22' };

/** A daemon whose kill switch does what it is told. */
async function startWith(t: Parameters<typeof startDaemon>[0], home: Home, first: KillSwitch, refusal?: Problem) {
  const calls: unknown[] = [];
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
    read: async () => state.snapshot().killSwitch,
    set: async request => act(request, request.enabled ? { ...ON, allowLan: request.allowLan } : OFF),
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
  running.daemon.features.killSwitch = async () => control;
  return { calls, show };
}

test('says what is wanted, what is measured and what is missing', async t => {
  const home = createHome(t);
  const { show } = await startWith(t, home, OFF);
  for (const [state, said] of [
    [OFF, /^Kill switch off; it does not block\.\n$/],
    [ON, /^Kill switch on; it blocks\.\n$/],
    [{ ...ON, allowLan: true }, /on, local network allowed; it blocks/],
    [{ ...ON, active: null, detail: 'Not known.' }, /whether it blocks is not known\.\nNot known\./],
    [{ ...ON, protection: 'none', bootGuard: false }, /Nothing answers .*\n.*will not block while the machine starts/],
    [{ ...ON, active: false, pausedUntil: new Date(Date.now() + 299_500).toISOString() }, /Paused, (5:00|4:5\d) left/],
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
  assert.match(
    (await culvert(home, ['killswitch', 'on', '--allow-lan'])).stdout,
    /on, local network allowed; it blocks/,
  );
  assert.match((await culvert(home, ['killswitch', 'pause', '5'])).stdout, /Paused, (5:00|4:5\d) left/);
  assert.match((await culvert(home, ['killswitch', 'resume'])).stdout, /it blocks/);
  assert.match((await culvert(home, ['killswitch', 'off'])).stdout, /off/);
  assert.deepEqual(calls, [{ enabled: true, allowLan: true }, 300, 0, { enabled: false, allowLan: false }]);
  for (const minutes of ['0', '61', '-1', 'x', '1e1', '60.5', ''])
    assert.equal((await culvert(home, ['killswitch', 'pause', '--', minutes])).code, 2, minutes);
});

test('counts a pause down on a terminal until it blocks again', async t => {
  const home = createHome(t);
  const { show } = await startWith(t, home, ON);
  const child = await startOnTerminal(home, ['killswitch', 'pause', '1', '--wait']);
  await prints(child, 'stdout', /1:00 left/);
  await prints(child, 'stdout', /0:5\d left/);
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

test('who is cut off is judged by the peer of the session', () => {
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
