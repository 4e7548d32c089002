// `culvert connect`, `disconnect` and `toggle`: what is asked, what is waited for, and how it ends.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ConnectionState, Status } from '../../../../daemon/api/schema.ts';
import { createProgressTracker } from '../../../../daemon/cli/commands/connection/connect.ts';
import { Problem } from '../../../../daemon/problem.ts';
import type { State } from '../../../../daemon/state/store.ts';
import {
  createHome,
  culvert,
  ended,
  type Perform,
  prints,
  reason,
  start,
  startDaemon,
  startHome,
  startOnTerminal,
  status,
} from '../../../support/daemon/command.ts';
import { withPrograms } from '../../../support/doctor/world.ts';

/** Sets one status after another, each in its own turn, as the tunnel CLI's lines arrive. */
function pass(state: State, ...statuses: Status[]): void {
  const [next, ...rest] = statuses;
  if (!next) return;
  setImmediate(() => {
    state.set('status', next);
    pass(state, ...rest);
  });
}

const connecting: Perform = state => {
  pass(
    state,
    status('connecting', reason('Performing happy eyeballs')),
    status('connecting', reason('Establishing connection to 162.159.198.2:443')),
    status('connected'),
  );
  return undefined;
};

test('connect asks and does not wait', async t => {
  const { home, performed } = await startHome(t);
  assert.deepEqual(await culvert(home, ['connect']), { code: 0, stdout: '', stderr: 'Connecting.\n' });
  const { code, stdout, stderr } = await culvert(home, ['disconnect', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).action, stderr], [0, 'disconnect', '']);
  assert.deepEqual(performed, [
    ['connect', undefined],
    ['disconnect', undefined],
  ]);
});

test('connect --wait prints each phase on stderr and the state on stdout', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home, state => {
    state.set('status', status('connecting', reason('Performing happy eyeballs')));
    return undefined;
  });
  daemon.state.set('status', status('disconnected', reason('Manual Disconnection')));
  const child = await start(home, ['connect', '--wait']);
  // each after the previous state was printed: a busy reader gets only the newest state
  await prints(child, 'stderr', /Connecting: Looking for the fastest way to Cloudflare\n/);
  daemon.state.set('status', status('connecting', reason('Establishing connection to 162.159.198.2:443')));
  await prints(child, 'stderr', /Connecting: Connecting to the server\n/);
  daemon.state.set('status', status('connected'));
  const { code, stdout, stderr } = await ended(child);
  assert.deepEqual([code, stdout], [0, '● Connected\n']);
  assert.match(
    stderr,
    /Connecting: Looking for the fastest way to Cloudflare\nConnecting: Connecting to the server\n$/,
  );
});

test('connect --wait on a terminal leaves only the result behind', async t => {
  const { home } = await startHome(t, connecting);
  const { code, stdout } = await ended(await startOnTerminal(home, ['connect', '--wait'], { NO_COLOR: '1' }));
  const visible = stdout.replace(/[^\n]*\x1b\[2K/g, '');
  assert.deepEqual([code, visible], [0, '● Connected\r\n']);
});

test('connect --wait succeeds immediately when the tunnel is up, and --json prints the status', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connected'));
  const { code, stdout } = await culvert(home, ['connect', '--wait', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { ok: true, action: 'connect', status: status('connected') }]);
});

test('connect --wait fails when the tunnel falls back to disconnected', async t => {
  const home = createHome(t);
  await startDaemon(t, home, state => {
    pass(state, status('connecting'), status('disconnected', reason('Settings Changed')));
    return undefined;
  });
  const { code, stderr } = await culvert(home, ['connect', '--wait']);
  assert.equal(code, 1);
  assert.match(stderr, /culvert: The tunnel did not connect\. Its state is: Disconnected: Settings Changed\.\n/);
});

test('connect --wait gives up after --timeout, and names the state it is in', async t => {
  const home = createHome(t);
  await startDaemon(t, home, state => {
    state.set('status', status('connecting', reason('Checking')));
    return undefined;
  });
  const { code, stderr } = await culvert(home, ['connect', '--wait', '--timeout', '1']);
  assert.equal(code, 1);
  assert.match(stderr, /did not connect within 1 s\. Its state is: Connecting: Setting up the tunnel\./);
});

test('connect --wait fails where the tunnel client accepts and does nothing, with the journal of its service', async t => {
  const home = createHome(t);
  const journal = join(import.meta.dirname, '../../../fixtures/journal/nft-missing.txt');
  const { PATH } = withPrograms(t, { journalctl: `cat ${journal}` });
  await startDaemon(t, home, state => {
    state.set(
      'status',
      status('disconnected', { reason: { code: 'ConnectIgnored', text: 'WARP accepted, but did not connect' } }),
    );
    return undefined;
  });
  const { code, stderr } = await culvert(home, ['connect', '--wait'], '', { PATH });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^(?:culvert: )?WARP accepted, but did not connect\.\s.*did not find the program nft.*trying to apply firewall rules/ms,
  );
  const other = await culvert(home, ['status']);
  assert.match(other.stdout, /WARP accepted, but did not connect/);
  assert.doesNotMatch(other.stdout, /Turned off by hand/);
});

test('connect --wait takes errors from the journal that Culvert cannot explain only while they are new', async t => {
  const home = createHome(t);
  await startDaemon(t, home, state => {
    state.set(
      'status',
      status('disconnected', { reason: { code: 'ConnectIgnored', text: 'WARP accepted, but did not connect' } }),
    );
    return undefined;
  });
  for (const [hoursOld, hint] of [
    [5, /The journal of its service has no error of the last minute\. See: culvert doctor\n$/],
    [0, /Its journal: WARN main_loop: no such luck\.\n$/],
  ] as const) {
    const at = (Date.now() - hoursOld * 3_600_000) * 1000;
    const line = JSON.stringify({ __REALTIME_TIMESTAMP: String(at), MESSAGE: 'WARN main_loop: no such luck' });
    const { PATH } = withPrograms(t, { journalctl: `echo '${line}'` });
    assert.match((await culvert(home, ['connect', '--wait'], '', { PATH })).stderr, hint);
  }
});

for (const [action, shown, phase, end] of [
  ['connect', status('connecting', reason('Checking')), 'Setting up the tunnel', '; the tunnel keeps connecting.'],
  [
    'connect',
    status('disconnected', { reason: { code: 'ConnectAccepted', text: 'Waiting for WARP to connect' } }),
    'Waiting for WARP to connect',
    '. Its state is: Disconnected: Waiting for WARP to connect.',
  ],
  [
    'connect',
    status('connecting', { lastKnown: { at: '2020-02-29T12:00:00.000Z', said: null } }),
    'Connecting…, as of',
    '. Its state is: Connecting…, as of 2020-02-29 12:00.',
  ],
  ['disconnect', status('disconnecting'), 'Disconnecting', '; the tunnel keeps disconnecting.'],
  ['disconnect', status('connected'), 'Connected', '. Its state is: Connected.'],
] as const)
  test(`${action} --wait ends on Ctrl+C with 130 and says: Stopped waiting${end}`, async t => {
    const home = createHome(t);
    await startDaemon(t, home, state => {
      state.set('status', shown);
      return undefined;
    });
    const child = await start(home, [action, '--wait']);
    await prints(child, 'stderr', new RegExp(phase));
    child.kill('SIGINT');
    const { code, stderr } = await ended(child);
    assert.equal(code, 130);
    assert.ok(stderr.endsWith(`Stopped waiting${end}\n`), stderr);
  });

test('connect --wait exits 5 when the daemon ends before that', async t => {
  const home = createHome(t);
  const { listeners } = await startDaemon(t, home, state => {
    state.set('status', status('connecting', reason('Checking')));
    return undefined;
  });
  const child = await start(home, ['connect', '--wait']);
  await prints(child, 'stderr', /Setting up the tunnel/);
  await listeners.close('stopped', 0);
  assert.equal((await ended(child)).code, 5);
});

for (const [problem, code, hint] of [
  [new Problem('cli-missing', 'There is no warp-cli.'), 6, /Install Cloudflare WARP/],
  [new Problem('not-authorized', 'A policy locks this.', { hint: 'Ask your admin.' }), 4, /Ask your admin\./],
  [
    new Problem('not-registered', 'Not registered.', { hint: 'Use the action register.' }),
    1,
    /^Register this device with: culvert account register$/m,
  ],
  [
    new Problem('tunnel-cli-failed', 'It failed.', { exitCode: 1, stderr: 'Error: no\x1b[31m way\n' }),
    1,
    /^ {2}Error: no \[31m way$/m,
  ],
  [
    new Problem('tunnel-cli-failed', 'It failed: Error: old.', {
      stderr: 'Error: old.\n',
      hint: 'Use the action rotateKeys.',
    }),
    1,
    /^culvert: It failed: Error: old\.\nUse culvert action rotateKeys\.\n$/,
  ],
] as const) {
  for (const words of [['connect'], ['connect', '--wait']]) {
    test(`${words.join(' ')} exits ${code} for ${problem.code} and says what to do`, async t => {
      const home = createHome(t);
      await startDaemon(t, home, () => {
        throw problem;
      });
      const ended = await culvert(home, words);
      assert.equal(ended.code, code);
      assert.match(ended.stderr, new RegExp(`^culvert: ${problem.message}$`, 'm'));
      assert.match(ended.stderr, hint);
    });
  }
}

test('a problem is a JSON document on stdout with --json', async t => {
  const home = createHome(t);
  await startDaemon(t, home, () => {
    throw new Problem('service-stopped', 'The service does not answer.');
  });
  const { code, stdout, stderr } = await culvert(home, ['connect', '--json']);
  assert.deepEqual([code, stderr], [1, '']);
  const { code: name, status } = JSON.parse(stdout);
  assert.deepEqual([name, status], ['service-stopped', 409]);
});

const TOGGLES: [ConnectionState, string][] = [
  ['connected', 'disconnect'],
  ['connecting', 'disconnect'],
  ['disconnected', 'connect'],
  ['disconnecting', 'connect'],
  ['unable', 'connect'],
];
for (const [state, action] of TOGGLES) {
  test(`toggle asks to ${action} when ${state}`, async t => {
    const { home, daemon, performed } = await startHome(t);
    daemon.state.set('status', status(state));
    assert.equal((await culvert(home, ['toggle'])).code, 0);
    assert.deepEqual(performed, [[action, undefined]]);
  });
}

test('toggle asks nothing when the state is not known, or could not be read again', async t => {
  const { home, daemon, performed } = await startHome(t);
  for (const state of ['unknown', 'connected', 'disconnected'] as const) {
    const lastKnown = { at: '2020-02-29T12:00:00.000Z', said: null };
    if (state !== 'unknown') daemon.state.set('status', { ...status(state), lastKnown });
    const { code, stderr } = await culvert(home, ['toggle']);
    assert.equal(code, 1);
    assert.match(stderr, /Say which: culvert connect, or culvert disconnect/);
  }
  assert.deepEqual(performed, []);
});

for (const value of ['0', '-1', 'soon', '1e3', '']) {
  test(`--timeout "${value}" is wrong usage, and nothing is asked`, async t => {
    const { home, performed } = await startHome(t);
    assert.equal((await culvert(home, ['connect', '--wait', `--timeout=${value}`])).code, 2);
    assert.deepEqual(performed, []);
  });
}

test('the old state right after an action is not a failure, and a return to it later is', () => {
  const judge = createProgressTracker('connect');
  assert.equal(judge(status('disconnected')), 'pending');
  assert.equal(judge(status('connecting')), 'pending');
  assert.equal(judge(status('unknown')), 'pending');
  assert.equal(judge(status('unable')), 'doubtful');
  assert.equal(judge(status('disconnected')), 'failed');
  assert.equal(judge({ ...status('connected'), lastKnown: { at: '2020-02-29T12:00:00.000Z', said: null } }), 'pending');
  assert.equal(judge(status('connected')), 'reached');
  const waiting = status('disconnected', { reason: { code: 'ConnectAccepted', text: '' } });
  assert.equal(judge(waiting), 'pending', 'a tunnel that moved and is still to connect');
  assert.equal(judge({ ...waiting, reason: { code: 'ConnectIgnored', text: '' } }), 'failed');
  assert.equal(createProgressTracker('connect')(status('unable', { blocked: 'not-registered' })), 'failed');
  assert.equal(createProgressTracker('disconnect')(status('disconnected', { blocked: 'not-registered' })), 'reached');
});
