// `culvert wait` and `culvert explain`, with the exit codes that scripts rely on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createSocketServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { explain } from '../../../../daemon/doctor/knowledge.ts';
import {
  createHome,
  culvert,
  ended,
  prints,
  program,
  start,
  startDaemon,
  startHome,
  status,
} from '../../../support/daemon/command.ts';
import { KNOWLEDGE } from '../../../support/doctor/world.ts';
import { serve } from '../../../support/listen.ts';

/** A trace page that answers each request with the next of these words, and then with the last. */
function tracePage(t: TestContext, ...words: string[]): Promise<string> {
  return serve(t, (_, reply) => reply.end(`ip=192.0.2.1\nwarp=${words.length > 1 ? words.shift() : words[0]}\n`));
}

test('wait returns immediately with 0 when the tunnel is up', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connected'));
  const { code, stdout } = await culvert(home, ['wait', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { ok: true, state: 'connected', proof: null }]);
});

test('wait returns when the tunnel comes up', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connecting'));
  const child = await start(home, ['wait', '--timeout', '60']);
  await prints(child, 'stderr', /Waiting for the tunnel: .*Connecting/);
  daemon.state.set('status', status('connected'));
  assert.equal((await ended(child)).code, 0);
});

for (const [what, code, set] of [
  ['a tunnel that is not connected', 3, status('disconnected')],
  ['a device that is not registered', 3, status('unable', { blocked: 'not-registered' })],
  ['a user that is not authorized', 4, status('unknown', { blocked: 'not-authorized' })],
  ['a missing tunnel CLI', 6, status('unknown', { blocked: 'cli-missing' })],
] as const)
  test(`at the time limit, ${what} ends wait with ${code}`, async t => {
    const { home, daemon } = await startHome(t);
    daemon.state.set('status', set);
    assert.equal((await culvert(home, ['wait', '--timeout', '0'])).code, code);
  });

test('a client that is too old is named with its version by commands that need it', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('tunnelCli', { ...daemon.state.snapshot().tunnelCli, version: '2023.7.159' });
  daemon.state.set('status', status('unknown', { blocked: 'cli-too-old' }));
  for (const [argv, expected] of [
    [['wait', '--timeout', '0'], 3],
    [['mode'], 1],
  ] as const) {
    const { code, stderr } = await culvert(home, [...argv]);
    assert.match(stderr, /2023\.7\.159 is too old: install version 2024\.9\.346 or newer/, argv[0]);
    assert.equal(code, expected);
  }
});

test('wait exits with 5 without a daemon, and with 2 for wrong arguments', async t => {
  const home = createHome(t);
  const absent = await culvert(home, ['wait', '--timeout', '1', '--json']);
  assert.deepEqual([absent.code, absent.stderr, JSON.parse(absent.stdout).code], [5, '', 'daemon-not-running']);
  for (const wrong of ['soon', '-1', '1.5', '1e3', '100000', '', ' 5', '5s', '٣']) {
    const { code, stdout } = await culvert(home, ['wait', `--timeout=${wrong}`, '--json']);
    assert.deepEqual([code, JSON.parse(stdout).code], [2, 'usage'], wrong);
    assert.match(JSON.parse(stdout).detail, /^--timeout takes seconds, from 0 to 99999; not "/);
  }
  assert.equal((await culvert(home, ['wait', 'now'])).code, 2);
});

test('at the time limit wait says why the tunnel is not up, and what to do', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('unable', { reason: { code: 'NoNetwork', text: 'No Network' } }));
  const plain = await culvert(home, ['wait', '--timeout', '0']);
  assert.deepEqual([plain.code, plain.stdout], [3, '']);
  assert.match(plain.stderr, /not connected after 0 s: You are offline \(NoNetwork\)\.\n.*culvert doctor/);
  daemon.state.set('status', status('unable', { blocked: 'not-registered' }));
  const {
    type: _,
    title: __,
    ...document
  } = JSON.parse((await culvert(home, ['wait', '--timeout=0', '--json'])).stdout);
  assert.deepEqual(document, {
    ok: false,
    code: 'notConnected',
    detail: 'The tunnel is not connected after 0 s: This device is not set up.',
    hint: 'Register this device with: culvert account register',
  });
});

test('a daemon that does not answer ends wait with 1 near its time limit, not after that of a request', async t => {
  const home = createHome(t);
  const open = new Set<Socket>();
  const silent = createSocketServer(socket => void open.add(socket));
  await new Promise<void>(resolve => silent.listen(home.socket, resolve));
  t.after(() => {
    for (const socket of open) socket.destroy();
    silent.close();
  });
  const started = performance.now();
  const { code, stdout } = await culvert(home, ['wait', '--timeout', '1', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).code], [1, 'daemon-not-answering']);
  assert.ok(performance.now() - started < 25_000, 'a request has 30 s');
  assert.ok(open.size > 0);
});

test('wait lasts until a daemon starts, and survives its restart', async t => {
  const home = createHome(t);
  const child = await start(home, ['wait', '--timeout', '60']);
  await prints(child, 'stderr', /Waiting for the Culvert daemon/);
  const first = await startDaemon(t, home);
  first.daemon.state.set('status', status('connecting'));
  await prints(child, 'stderr', /Waiting for the tunnel/);
  rmSync(home.socket);
  await prints(child, 'stderr', /Waiting for the tunnel[\s\S]*Waiting for the Culvert daemon/);
  const second = await startDaemon(t, home);
  second.daemon.state.set('status', status('connected'));
  const { code, stdout } = await ended(child);
  assert.equal(code, 0);
  assert.match(stdout, /^● Connected$/m);
});

async function startConnected(t: TestContext) {
  const started = await startHome(t);
  started.daemon.state.set('status', status('connected'));
  started.daemon.state.set('settings', { Mode: 'warp' });
  return started;
}

test('wait --proof returns when a request has come through the tunnel', async t => {
  const { home, daemon } = await startConnected(t);
  daemon.settings.setSession({ warp: { traceUrl: await tracePage(t, 'off', 'on') } });
  const { code, stdout } = await culvert(home, ['wait', '--proof', '--json']);
  assert.equal(code, 0);
  assert.match(JSON.parse(stdout).proof, /saw warp=on$/);
});

test('a tunnel that is connected and proves nothing ends wait --proof with 8', async t => {
  const { home, daemon } = await startConnected(t);
  daemon.settings.setSession({ warp: { traceUrl: await tracePage(t, 'off') } });
  const { code, stderr } = await culvert(home, ['wait', '--proof', '--timeout', '1']);
  assert.equal(code, 8);
  assert.match(stderr, /saw warp=off/);
  daemon.state.set('settings', { Mode: 'doh' });
  assert.equal((await culvert(home, ['wait', '--proof'])).code, 8);
});

test('wait --proof asks directly in a mode without a proxy, though the port of one is known', async t => {
  const { home, daemon } = await startConnected(t);
  daemon.state.set('tunnel', { ...daemon.state.snapshot().tunnel, proxyPort: 1 });
  const page = await tracePage(t, 'plus');
  daemon.settings.setSession({ warp: { traceUrl: page } });
  const { code, stdout } = await culvert(home, ['wait', '--proof', '--timeout', '5', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { ok: true, state: 'connected', proof: `${page} saw warp=plus` }]);
  daemon.state.set('settings', { Mode: 'proxy' });
  const through = await culvert(home, ['wait', '--proof', '--timeout', '0', '--json']);
  assert.equal(through.code, 8);
  assert.match(JSON.parse(through.stdout).detail, /: 127\.0\.0\.1:1 refuses connections\.$/);
});

test('a tunnel that goes down while it is proven ends wait with 3', async t => {
  const { home, daemon } = await startConnected(t);
  const asked = await serve(t, (_, reply) => {
    daemon.state.set('status', status('disconnected'));
    reply.end('warp=off\n');
  });
  daemon.settings.setSession({ warp: { traceUrl: asked } });
  const { code, stderr } = await culvert(home, ['wait', '--proof', '--timeout', '2']);
  assert.equal(code, 3);
  assert.match(stderr, /not connected after 2 s: Disconnected\./);
});

test('Ctrl+C ends wait with 130, also while a trace page does not answer', async t => {
  const { home, daemon } = await startConnected(t);
  let [reached, tell] = [false, () => {}];
  const silent = await serve(t, () => {
    reached = true;
    tell();
  });
  daemon.settings.setSession({ warp: { traceUrl: silent } });
  const child = await start(home, ['wait', '--proof', '--timeout', '300']);
  await new Promise<void>(resolve => {
    tell = resolve;
    if (reached) resolve();
  });
  child.kill('SIGINT');
  const { code, stdout } = await ended(child);
  assert.deepEqual([code, stdout], [130, '']);
});

test('Ctrl+C ends wait with 130', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connecting'));
  const child = await start(home, ['wait']);
  await prints(child, 'stderr', /Waiting/);
  child.kill('SIGINT');
  assert.equal((await ended(child)).code, 130);
});

test('explain describes every code and every name that it is also shown as', () => {
  const { codes } = KNOWLEDGE;
  for (const entry of codes) {
    assert.ok(explain(codes, entry.code).includes(entry), entry.code);
    for (const name of entry.also) assert.ok(explain(codes, name).length > 0, name);
  }
  assert.deepEqual(
    explain(codes, 'Status update: Unable. Reason: Happy Eyeballs Failed').map(({ code }) => code),
    ['HappyEyeballsFailed'],
  );
  const [inspected] = explain(codes, 'CF_HAPPY_EYEBALLS_MITM_FAILURE');
  assert.match(inspected!.meaning, /inspects its traffic \(DPI\)/);
  assert.deepEqual(explain(codes, ''), []);
});

/** Lines from public reports. */
const REPORTED: [line: string, first: string][] = [
  [
    'Error communicating with daemon: Critical error processing the callbacks and the IPC session is no longer valid',
    'ServiceHangs',
  ],
  ['Error communicating with daemon: The IPC call hit a timeout and could not be processed', 'ServiceHangs'],
  ['IPC call hit a timeout and could not be processed', 'ServiceHangs'],
  ['Unable to connect to the CloudflareWARP daemon: Connection refused (os error 111)', 'FailedToConnectToDaemon'],
  ['Status update: Disconnected Reason: Manual Disconnection', 'Manual'],
  ['Failed to handle warp compat command err=Could not update firewall rules', 'FirewallRulesNotSet'],
  [
    'An error occurred while trying to apply firewall rules: No such file or directory (os error 2)',
    'FirewallRulesNotSet',
  ],
  ['Error: Failed to communicate with the WARP API', 'ApiUnreachable'],
  ['Error: Failed to communicate with the WARP API.', 'ApiUnreachable'],
  ['Error: Failed to contact the WARP API.', 'ApiUnreachable'],
  ['Disconnected · WARP accepted, but did not connect', 'ConnectIgnored'],
  ['State not known · WARP’s program failed', 'ProgramFailed'],
];

test('explains the lines of public reports, and its own words', () => {
  for (const [line, first] of REPORTED) assert.equal(explain(KNOWLEDGE.codes, line)[0]?.code, first, line);
});

test('explain finds the cause in a line, and takes no word of a sentence for a code', () => {
  const found = (words: string) => explain(KNOWLEDGE.codes, words).map(({ code }) => code);
  for (const [words, ...expected] of [
    ['Reason: Registration Missing due to: Revoked', 'CF_REGISTRATION_MISSING (Revoked)', 'CF_REGISTRATION_MISSING'],
    ['Registration Missing due to: Daemon Startup', 'RegistrationMissing: DaemonStartup'],
    [
      'Unable. Registration Missing due to: Daemon Startup.',
      'RegistrationMissing: DaemonStartup',
      'CF_REGISTRATION_MISSING',
    ],
    ['Status update: Disconnected. Reason: Manual Disconnection', 'Manual'],
    ['Reason: No Network', 'CF_NO_NETWORK'],
    ['cf host_unreachable check', 'CF_HOST_UNREACHABLE_CHECK'],
    ['proxy address bound', 'ProxyAddressBound'],
    ['Reason: Paused', 'Paused'],
    ['Unknown command'],
    ['paused for the night'],
    ['a'],
    ['x'],
    ['…'],
  ])
    assert.deepEqual(found(words!), expected, words);
  const broad = found('dns');
  assert.equal(new Set(broad).size, broad.length);
  assert.ok(broad.indexOf('CF_DNS_PROXY_FAILURE') < broad.indexOf('CF_TLS_INTERCEPTION_BLOCKING_DOH'), 'names first');
});

test('explain needs no daemon, and shows meaning, causes and what to try', async t => {
  const home = createHome(t);
  const entry = KNOWLEDGE.codes.find(({ code }) => code === 'CF_DNS_PROXY_FAILURE')!;
  const listed = (lines: readonly string[]) => lines.map((line, at) => `  ${at + 1}. ${line}`);
  const { code, stdout } = await culvert(home, ['explain', 'cf_dns_proxy_failure']);
  assert.equal(code, 0);
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    `CF_DNS_PROXY_FAILURE: ${entry.title}`,
    `Also shown as: ${entry.also.join(', ')}`,
    entry.meaning,
    'Likely causes:',
    ...listed(entry.causes),
    'What to try:',
    ...listed(entry.try),
    `How to check: ${entry.check}`,
    `Source: https://github.com/cloudflare/cloudflare-docs/blob/production/${entry.source}`,
  ]);
  const json = await culvert(home, ['explain', '--json', 'CF_DNS_PROXY_FAILURE']);
  assert.deepEqual([json.code, JSON.parse(json.stdout)], [0, { ok: true, codes: [entry] }]);
  const all = await culvert(home, ['explain', '--json']);
  assert.deepEqual(JSON.parse(all.stdout), { ok: true, codes: KNOWLEDGE.codes });
  const list = (await culvert(home, ['explain'])).stdout.trimEnd().split('\n');
  assert.deepEqual(
    list.map(line => line.split('  ')[0]),
    KNOWLEDGE.codes.map(each => each.code),
  );
  const unknown = await culvert(home, ['explain', '--json', 'no such thing at all']);
  const { detail, hint } = JSON.parse(unknown.stdout);
  assert.deepEqual(
    [unknown.code, unknown.stderr, detail, hint],
    [1, '', '"no such thing at all" is not known.', 'List all codes with: culvert explain'],
  );
});

/** Writes the user's own file of codes. */
function writeCodes(home: ReturnType<typeof createHome>, text: string): void {
  const directory = join(home.path, '.config', 'culvert', 'knowledge');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'codes.toml'), text);
}

test('explain prints no control characters of its argument or of a user’s file', async t => {
  const home = createHome(t);
  writeCodes(home, '[[code]]\ncode = "MINE_\\u001b[31m"\nkind = "error"\ntitle = "Own \\u009b2J"\nmeaning = "Text"\n');
  const own = await culvert(home, ['explain', 'MINE_[31m']);
  const unknown = await culvert(home, ['explain', '\x1b]0;title\x07']);
  assert.deepEqual([own.code, unknown.code], [0, 1]);
  for (const text of [own.stdout, unknown.stderr]) assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
});

test('explain says which file of the user it can’t use, and goes on with the others', async t => {
  const home = createHome(t);
  writeCodes(home, '[[code]]\ncode = "MINE"\n[[code]\n');
  const { code, stdout, stderr } = await culvert(home, ['explain', 'NoNetwork']);
  assert.equal(code, 0);
  assert.match(stderr, /codes\.toml is not used: line \d+: /);
  assert.match(stdout, /^CF_NO_NETWORK: /);
});

test("explain knows a user's own codes", async t => {
  const home = createHome(t);
  writeCodes(home, '[[code]]\ncode = "MINE_1"\nkind = "error"\ntitle = "Own"\nmeaning = "Text"\n');
  assert.match((await culvert(home, ['explain', 'MINE_1'])).stdout, /^MINE_1: Own\nText\n$/);
});

test('an output that fails ends a command with 1 and one sentence, which the launcher uses as well', t => {
  const { env, path } = createHome(t);
  for (const words of [['explain', 'Manual'], ['explain', 'Manual', '--json'], ['help']]) {
    const line = ['-c', 'exec "$@" >/dev/full', 'sh', process.execPath, program, ...words];
    const { status: code, stderr } = spawnSync('sh', line, { env, cwd: path, encoding: 'utf8' });
    assert.equal(code, 1, words.join(' '));
    assert.match(
      stderr,
      /^(culvert: The output can't be written\.\n|\{"ok":false.*The output can't be written.*\}\n)$/,
    );
  }
});
