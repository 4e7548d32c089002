// `culvert status` in each of its forms, and the line that it shares with the daemon's status file.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import stringWidth from 'string-width';
import type { Change } from '../../../../daemon/api/changes.ts';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { statusText } from '../../../../daemon/cli/commands/connection/status.ts';
import { MODES } from '../../../../daemon/cli/labels.ts';
import { plain } from '../../../../daemon/core/terminal.ts';
import { statusLine } from '../../../../daemon/state/status-line.ts';
import { createState, NO_KILL_SWITCH, NO_TUNNEL } from '../../../../daemon/state/store.ts';
import { paths } from '../../../../daemon/system/paths.ts';
import {
  createHome,
  culvert,
  ended,
  prints,
  reason,
  start,
  startDaemon,
  startHome,
  startOnTerminal,
  status,
} from '../../../support/daemon/command.ts';
import { until } from '../../../support/until.ts';

const tunnelCli = { available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false };
const shown = (more: Partial<Snapshot>): Snapshot => ({
  ...createState(tunnelCli).snapshot(),
  status: status('connected'),
  splitTunnel: { mode: 'exclude', ips: [], hosts: [] },
  ...more,
});

const change = (more: Partial<Change>): Change => ({
  subject: 'connection',
  value: 'off',
  previous: 'on',
  setAt: '2026-01-01T10:00:00.000Z',
  confirmBy: null,
  endsAt: null,
  endingSoon: false,
  problem: null,
  ...more,
});

/** Soon after the states of `status` began. */
const NOW = Date.parse('2026-01-01T10:00:05.000Z');
const LINES: [string, Partial<Snapshot>, string][] = [
  ['connected', { settings: { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' } }, '● Connected · All traffic · MASQUE'],
  [
    'connected',
    { lostChanges: { file: '/state/changes.json.broken' } },
    '● Connected · changes did not revert, see: culvert doctor',
  ],
  [
    'connected, without a list of what bypasses WARP',
    { settings: { Mode: 'warp' }, splitTunnel: { mode: null, ips: [], hosts: [] } },
    '● Connected · It is not known which traffic goes through WARP',
  ],
  [
    'connected, for a list alone',
    {
      settings: { Mode: 'warp' },
      splitTunnel: { mode: 'include', ips: [{ value: '192.0.2.0/24', description: null }], hosts: [] },
    },
    '● Connected · Only the sites and networks on your list use WARP',
  ],
  ['unstable', { status: status('connected', { network: 'unstable' }) }, '● Connected · network unstable'],
  [
    'the protocol in use, when none is set',
    { tunnel: { ...NO_TUNNEL, protocol: 'WireGuard' } },
    '● Connected · WireGuard',
  ],
  [
    'a phase',
    { status: status('connecting', reason('Checking connectivity')) },
    '▲ Connecting… · Setting up the tunnel…',
  ],
  ['disconnecting', { status: status('disconnecting') }, '▼ Disconnecting…'],
  [
    'what ends by itself',
    { status: status('disconnected'), changes: [change({ endsAt: '2026-01-02T18:00:00.000Z' })] },
    '|| Paused · Back on at 2026-01-02 18:00',
  ],
  [
    'what is not confirmed',
    { changes: [change({ subject: 'mode', value: 'doh', confirmBy: '2026-01-02T18:00:05.000Z' })] },
    '● Connected · Mode: changed, not confirmed; reverts at 2026-01-02 18:00:05',
  ],
  [
    'what could not be reverted',
    { changes: [change({ subject: 'mode', value: 'doh', problem: 'no service' })] },
    '● Connected · Mode could not be reverted yet: no service',
  ],
  [
    'a block by the kill switch',
    { status: status('disconnected'), killSwitch: { ...NO_KILL_SWITCH, active: true } },
    '■ Internet is blocked · The kill switch waits for WARP',
  ],
  ['disconnected', { status: status('disconnected', reason('Manual')) }, '○ Disconnected · Manual'],
  [
    'disconnected by the user',
    { status: status('disconnected', { reason: { code: 'Manual', text: 'Manual Disconnection', byUser: true } }) },
    '○ Disconnected · Turned off by you',
  ],
  [
    'disconnected, perhaps never connected',
    { status: status('disconnected', { reason: { code: 'Manual', text: 'Manual Disconnection' } }) },
    '○ Disconnected',
  ],
  [
    'a failure with a code',
    { status: status('unable', { reason: { code: 'NoNetwork', text: 'No Network' } }) },
    '× Can’t connect · You are offline (NoNetwork)',
  ],
  [
    'unable',
    { status: status('unable', reason('Happy Eyeballs Failed')) },
    '× Can’t connect · No Cloudflare server could be reached',
  ],
  [
    'what blocks, with the way out',
    { status: status('unable', { blocked: 'not-registered', ...reason('Registration Missing') }) },
    '! Not ready · This device is not set up. Register this device with: culvert account register',
  ],
  [
    'a registration that Cloudflare no longer knows',
    {
      status: status('unable', {
        blocked: 'not-registered',
        ...reason('Registration Missing due to: Does not exist in API'),
      }),
    },
    '! Not ready · Cloudflare does not know this registration. The device was deleted in the dashboard, or joining the organization failed. A service token may have expired. Register again with: culvert account register',
  ],
  [
    'output nobody knows',
    { status: status('unknown', { raw: '\nHa\u009b31m\x1b[2J!\nmore' }) },
    '? State not known · it printed: Ha 31m [2J!',
  ],
  [
    'a state of a newer version, in its own word',
    {
      status: status('unknown', {
        raw: '{\n  "status": "Hibernating"\n}',
        unknown: [{ name: 'status', value: 'Hibernating' }],
      }),
    },
    '? State not known · WARP reports: Hibernating',
  ],
  [
    'a network of a newer version, in its own word',
    { status: status('connected', { unknown: [{ name: 'network', value: 'of your employer' }] }) },
    '● Connected · network of your employer',
  ],
  [
    'a program that crashed',
    { status: status('unknown', { raw: 'Segmentation fault', reason: { code: 'ProgramFailed', text: '' } }) },
    '? State not known · WARP’s program failed · it printed: Segmentation fault · see: culvert doctor',
  ],
  [
    'a connection that WARP accepted and did not make',
    {
      status: status('disconnected', {
        reason: { code: 'ConnectIgnored', text: 'WARP accepted, but did not connect' },
      }),
    },
    '○ Disconnected · WARP accepted, but did not connect · see: culvert doctor',
  ],
  [
    'a program that printed nothing',
    { status: status('unknown', { raw: '', reason: { code: 'ProgramFailed', text: '' } }) },
    '? State not known · WARP’s program failed · see: culvert doctor',
  ],
  [
    'the emulator',
    { tunnelCli: { available: true, path: null, version: null, emulated: true } },
    '● Connected · demo: no tunnel',
  ],
  ['other machines that are let in', { remoteAccess: { address: null } }, '● Connected · Remote access is on'],
];
for (const [what, part, line] of LINES) {
  test(`the status line shows ${what}`, () => assert.equal(statusLine(shown(part), undefined, NOW), line));
}

test('the line of every mode fits 60 columns', () => {
  for (const Mode of Object.keys(MODES)) {
    const line = statusLine(shown({ settings: { Mode, 'WARP tunnel protocol': 'WireGuard' } }));
    assert.ok(stringWidth(line) <= 60, line);
    assert.ok(line.includes(MODES[Mode as keyof typeof MODES]), line);
  }
});

test('on a terminal the line is broken between its parts, and a long part at its spaces', () => {
  const at = (width: number, more: Partial<Snapshot>, taken?: number) =>
    statusText({ style: plain, width }, shown(more), taken, NOW);
  const demo: Partial<Snapshot> = {
    settings: { Mode: 'warp+doh', 'WARP tunnel protocol': 'WireGuard' },
    tunnelCli: { available: true, path: null, version: null, emulated: true },
  };
  const [line, end] = ['● Connected · All traffic, encrypted DNS (HTTPS) · WireGuard', 'demo: no tunnel'];
  assert.equal(at(120, demo), `${line} · ${end}`);
  assert.equal(at(60, demo), `${line}\n  ${end}`);
  assert.equal(at(70, demo, 10), `${line}\n${' '.repeat(12)}${end}`, 'after a time');
  for (const [what, part, whole] of LINES) {
    const text = at(60, part);
    for (const each of text.split('\n')) assert.ok(stringWidth(each) <= 60, `${what}: ${each}`);
    assert.equal(at(Number.POSITIVE_INFINITY, part), whole);
  }
});

test('status prints one line, and --check turns "not connected" into exit code 3', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('disconnected', reason('Manual Disconnection')));
  assert.deepEqual(await culvert(home, ['status']), {
    code: 0,
    stdout: '○ Disconnected · Manual Disconnection\n',
    stderr: '',
  });
  assert.equal((await culvert(home, ['status', '--check'])).code, 3);
  daemon.state.set('status', status('connected'));
  assert.deepEqual(await culvert(home, ['status', '-c']), { code: 0, stdout: '● Connected\n', stderr: '' });
});

test('status --json is the state with mode and port, and --long --json the whole snapshot', async t => {
  const { home, daemon, port } = await startHome(t);
  daemon.state.set('settings', { Mode: 'doh' });
  const remoteAccess = { address: null };
  daemon.state.set('remoteAccess', remoteAccess);
  const { status, tunnelCli } = daemon.state.snapshot();
  assert.deepEqual(JSON.parse((await culvert(home, ['status', '--json'])).stdout), {
    ok: true,
    summary: 'unknown',
    status,
    mode: 'doh',
    tunnelCli,
    port,
    remoteAccess,
    changes: [],
    lostChanges: null,
  });
  const long = JSON.parse((await culvert(home, ['status', '--long', '--json'])).stdout);
  assert.deepEqual(long, JSON.parse(JSON.stringify(daemon.state.snapshot())));
});

test('status --long adds what is known and leaves out what is not', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connected'));
  daemon.state.set('settings', { Mode: 'proxy' });
  daemon.state.set('tunnel', {
    ...NO_TUNNEL,
    endpoints: ['162.159.198.2:443'],
    latencyMs: 12,
    loss: 0.0002,
    bytesSent: 1_572_864,
    handshakeAgeSeconds: 125,
  });
  const { stdout } = await culvert(home, ['status', '--long']);
  assert.match(stdout, /^ {2}Since +2026-01-01 10:00:00$/m);
  assert.match(stdout, /^ {2}Mode +Chosen apps only \(proxy\)$/m);
  assert.match(stdout, /^ {2}Endpoint +162\.159\.198\.2:443$/m);
  assert.match(stdout, /^ {2}Latency +12 ms$/m);
  assert.match(stdout, /^ {2}Packet loss +0\.02 %$/m);
  assert.match(stdout, /^ {2}Last handshake +2:05$/m);
  assert.match(stdout, /^ {2}Sent +1\.6 MB$/m);
  assert.doesNotMatch(stdout, /Data center|Received|null|undefined/);
});

test('status --long says why the history is not recorded', async t => {
  const { home, daemon, history } = await startHome(t);
  const directory = paths(daemon.env).history;
  mkdirSync(dirname(directory), { recursive: true });
  writeFileSync(directory, '');
  history.start();
  t.after(() => history.stop());
  daemon.state.set('status', status('connected'));
  await until(async () => /^ {2}History +not recorded: ./m.test((await culvert(home, ['status', '--long'])).stdout));
});

test('without a daemon every form of status exits 5 and says how to start one', async t => {
  const home = createHome(t);
  for (const words of [['status'], ['status', '--check'], ['status', '--watch']]) {
    const { code, stdout, stderr } = await culvert(home, words);
    assert.deepEqual(
      [code, stdout, stderr],
      [5, '', 'culvert: The Culvert daemon is not running.\nStart it with: culvert\n'],
    );
  }
  const { code, stdout, stderr } = await culvert(home, ['status', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).code, stderr], [5, 'daemon-not-running', '']);
});

test('status --watch prints a line for each change, none for what changes nothing, and ends cleanly on Ctrl+C', async t => {
  const { home, daemon } = await startHome(t);
  const child = await start(home, ['status', '--watch']);
  await prints(child, 'stdout', /Reading the state…\n/);
  daemon.state.set(
    'status',
    status('connecting', { ...reason('Performing happy eyeballs'), since: new Date().toISOString() }),
  );
  await prints(child, 'stdout', /Looking/);
  daemon.state.set('tunnel', { ...NO_TUNNEL, bytesSent: 5 });
  daemon.state.set('status', status('connected', { since: '2026-01-01T11:00:00.000Z' }));
  await prints(child, 'stdout', /Connected/);
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended(child);
  assert.equal(
    stdout,
    '? Reading the state…\n▲ Connecting… · Looking for the fastest way to Cloudflare…\n● Connected\n',
  );
  assert.deepEqual([code, stderr], [0, '']);
});

test('status --watch says once when the settings are old, in JSON with each line', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('status', status('connected'));
  const text = await start(home, ['status', '--watch']);
  const json = await start(home, ['status', '--watch', '--json']);
  await Promise.all([prints(text, 'stdout', /● Connected/), prints(json, 'stdout', /"state":"connected"/)]);
  daemon.state.set('hasOldParts', true);
  await prints(text, 'stderr', /^WARP’s settings could not be read again, so these may be old\.\n$/);
  await prints(json, 'stdout', /"hasOldParts":true\}\n$/);
  daemon.state.set('status', status('disconnected'));
  await prints(text, 'stdout', /○ Disconnected/);
  daemon.state.set('hasOldParts', false);
  await prints(json, 'stdout', /"lostChanges":null\}\n$/);
  text.kill('SIGINT');
  json.kill('SIGINT');
  assert.equal((await ended(text)).stderr.match(/may be old/g)?.length, 1);
  await ended(json);
});

test('status --watch outlives the daemon, says so, and shows the state of the next one', async t => {
  const home = createHome(t);
  const first = await startDaemon(t, home);
  first.daemon.state.set('status', status('connected'));
  const text = await start(home, ['status', '--watch']);
  const json = await start(home, ['status', '--watch', '--json']);
  await prints(text, 'stdout', /Connected/);
  await prints(json, 'stdout', /"connected"/);
  rmSync(home.socket);
  await first.listeners.close('restart', 0);
  await prints(text, 'stderr', /The daemon is stopping\. Waiting for it to come back\.\n/);
  await prints(json, 'stdout', /"ok":false/);
  // never the state before
  await prints(text, 'stdout', /^\? Unavailable$/m);
  const second = await startDaemon(t, home);
  second.daemon.state.set('status', status('disconnected'));
  await prints(text, 'stdout', /Disconnected/);
  await prints(json, 'stdout', /"disconnected"/);
  for (const child of [text, json]) child.kill('SIGINT');
  assert.match((await ended(text)).stderr, /The daemon is back\.\n$/);
  const lines = (await ended(json)).stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  assert.equal(lines.at(-1).port, second.port);
});

for (const [begin, ...format] of [[/Reading the state…/], [/"alt"/, '--format', 'waybar']] as [RegExp, ...string[]][])
  test(`${['status --watch', ...format].join(' ')} ends silently when its reader closes the pipe`, async t => {
    const { home, daemon } = await startHome(t);
    const child = await start(home, ['status', '--watch', ...format]);
    await prints(child, 'stdout', begin);
    child.stdout.destroy();
    let flip = false;
    const timer = setInterval(() => {
      flip = !flip;
      daemon.state.set('status', status(flip ? 'connected' : 'disconnected'));
    }, 20);
    t.after(() => clearInterval(timer));
    const { code, stderr } = await ended(child);
    assert.deepEqual([code, stderr], [0, '']);
  });

test('color goes to terminals only, and NO_COLOR takes it away there as well', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connected'));
  daemon.state.set('settings', { Mode: 'doh' });
  const line = '● Connected · DNS only';
  assert.equal((await ended(await startOnTerminal(home, ['status'], { NO_COLOR: '1' }))).stdout, `${line}\r\n`);
  assert.match((await ended(await startOnTerminal(home, ['status']))).stdout, /\x1b\[32m●\x1b\[39m/);
  assert.equal((await culvert(home, ['status'])).stdout, `${line}\n`);
});
