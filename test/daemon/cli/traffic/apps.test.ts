// `culvert apps launch`: the question before the whole machine changes to proxy mode, and the way back after a failure.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { LaunchRequest } from '../../../../daemon/api/schema.ts';
import { Problem } from '../../../../daemon/problem.ts';
import { createHome, culvert, ended, prints, startDaemon, startOnTerminal } from '../../../support/daemon/command.ts';
import { memoryTunnel, showIn, type Values } from '../../../support/daemon/memory-tunnel.ts';
import { app } from '../../../support/gnome/initial.ts';

const LAUNCH = ['apps', 'launch', 'firefox.desktop'];
const CONSEQUENCE = /Other traffic then bypasses WARP; back: culvert mode warp/;

/** A daemon whose tunnel has values in memory, and whose apps start in proxy mode as `start` decides. */
async function setUp(t: TestContext, given: Partial<Values> = {}, start: () => void = () => {}) {
  const home = createHome(t);
  const memory = memoryTunnel(given);
  const { daemon } = await startDaemon(t, home, undefined, { tunnel: memory.tunnel });
  showIn(daemon.state, memory);
  const { handlers } = daemon.features;
  const launch = handlers['POST /api/apps/proxy-launcher'];
  const requests: LaunchRequest[] = [];
  handlers['POST /api/apps/proxy-launcher'] = input => {
    requests.push(input.body);
    if (memory.values.mode !== 'proxy' || !memory.values.connected)
      throw new Problem('proxy-not-enabled', 'The local proxy is off, so nothing was started.');
    start();
    return launch(input);
  };
  return { home, memory, values: memory.values, daemon, requests };
}

test('an app that uses the tunnel only, or bypasses it, needs no proxy and changes no mode', async t => {
  const { home, values, requests } = await setUp(t);
  const { stdout } = await culvert(home, ['apps', 'launch', '--tunnel-only', 'firefox.desktop']);
  assert.equal(stdout, 'Started firefox.desktop. It uses the tunnel only.\n');
  assert.deepEqual([requests, values.mode], [[], 'warp']);
  const outside = await culvert(home, ['apps', 'launch', '--outside', 'firefox.desktop']);
  assert.equal(outside.stdout, 'Started firefox.desktop. It sends nothing through the tunnel.\n');
  for (const [options, pattern] of [
    [['--tunnel-only', '--verify'], /--tunnel-only uses no proxy/],
    [['--outside', '--shortcut'], /--outside uses no proxy/],
    [['--outside', '--tunnel-only'], /do not go together/],
  ] as const) {
    const { stderr, code } = await culvert(home, ['apps', 'launch', ...options, 'firefox.desktop']);
    assert.match(stderr, pattern);
    assert.equal(code, 2);
  }
});

test('a shortcut for the tunnel only switches no proxy on', async t => {
  const { home, daemon } = await setUp(t);
  const asked: unknown[] = [];
  daemon.features.handlers['POST /api/apps/shortcut'] = ({ body }) => {
    asked.push(body);
    return { ok: true, appId: body.appId, shortcut: '/a/b.desktop' };
  };
  const { stdout, stderr } = await culvert(home, ['apps', 'shortcut', '--tunnel-only', 'a.desktop']);
  assert.deepEqual([stdout, stderr], ['/a/b.desktop\n', '']);
  await culvert(home, ['apps', 'shortcut', '--outside', '--remove', 'a.desktop']);
  assert.deepEqual(asked, [
    { appId: 'a.desktop', present: true, way: 'tunnel-only' },
    { appId: 'a.desktop', present: false, way: 'outside' },
  ]);
});

test('lists the apps below one sentence for each way to use the proxy', async t => {
  const { home, daemon } = await setUp(t);
  const note = 'Culvert doesn’t know how to set its proxy.';
  const list = [
    app('vim', 'Vim', { method: 'proxychains', note }),
    app('firefox', 'Firefox', { method: 'profile', shortcut: '/home/a/x.desktop' }),
    app('htop', 'Htop', { method: 'proxychains', note, packaging: 'snap' }),
  ];
  daemon.features.handlers['GET /api/apps'] = () => ({ ok: true, apps: list });
  const { stdout } = await culvert(home, ['apps']);
  assert.equal(
    stdout,
    [
      'Own profile',
      'The app starts with its own profile, without your bookmarks.',
      '  firefox.desktop  Firefox, in the app menu',
      '',
      'May leak',
      `Some of its traffic may bypass WARP. ${note}`,
      '  vim.desktop      Vim',
      '  htop.desktop     Htop, snap',
      '',
    ].join('\n'),
  );
});

test('refuses to change the mode of the machine without a terminal, and says what would change', async t => {
  const { home, values, memory } = await setUp(t);
  for (const words of [LAUNCH, [...LAUNCH, '--json']]) {
    const { code, stdout, stderr } = await culvert(home, words);
    assert.equal(code, 2);
    assert.match(stdout + stderr, CONSEQUENCE);
    assert.match(stdout + stderr, /--yes/);
  }
  assert.deepEqual([values.mode, memory.performed], ['warp', []]);
});

test('asks at a terminal, and changes nothing after a no', async t => {
  const { home, values, memory } = await setUp(t);
  const child = await startOnTerminal(home, LAUNCH);
  t.after(() => child.kill('SIGKILL'));
  await prints(child, 'stdout', /Switch the proxy on and start firefox\.desktop\? \[y\/N\]/);
  assert.match(child.text.stdout, CONSEQUENCE);
  child.stdin.write('n\r');
  assert.equal((await ended(child)).code, 1);
  assert.deepEqual([values.mode, memory.performed], ['warp', []]);
});

test('starts the app after a yes, and says what changed and the way back', async t => {
  const { home, values, daemon, requests } = await setUp(t, { mode: 'tunnel_only' });
  const child = await startOnTerminal(home, LAUNCH);
  t.after(() => child.kill('SIGKILL'));
  await prints(child, 'stdout', /\[y\/N\]/);
  child.stdin.write('y\r');
  const { code, stdout } = await ended(child);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /Other traffic now bypasses WARP; back: culvert mode tunnel_only/);
  assert.match(
    stdout,
    /If the app soon ends with an error, the mode is reverted\. Otherwise the mode stays, even after the app ends\./,
  );
  const restore = { mode: 'tunnel_only', protocol: 'MASQUE', connected: true };
  assert.deepEqual(requests.at(-1), { appId: 'firefox.desktop', restore });
  assert.deepEqual([values.mode, daemon.state.snapshot().changes], ['proxy', []]);
});

test('asks nothing where the local proxy is on', async t => {
  const { home, requests } = await setUp(t, { mode: 'proxy' });
  const { code, stderr } = await culvert(home, LAUNCH);
  assert.equal(code, 0, stderr);
  assert.deepEqual(requests, [{ appId: 'firefox.desktop' }]);
  assert.doesNotMatch(stderr, /directly/);
});

for (const given of [
  {},
  { mode: 'doh', connected: false },
  { mode: 'warp+doh', protocol: 'WireGuard' },
  { mode: 'proxy', connected: false },
] satisfies Partial<Values>[])
  test(`sets back everything after a failed start: ${JSON.stringify(given)}`, async t => {
    const world = await setUp(t, given, () => {
      // if the command were killed now, its change would still revert
      assert.equal(world.daemon.state.snapshot().changes.length, given.mode === 'proxy' ? 0 : 1);
      throw new Problem('app-launch-failed', 'Firefox did not start.');
    });
    const { home, memory, values, daemon } = world;
    const { mode, connected, protocol } = { ...values };
    // as the daemon does it for the real client
    memory.before = ({ action }) => {
      if (action === 'enableLocalProxy') Object.assign(values, { connected: true, protocol: 'MASQUE' });
    };
    const { code, stderr } = await culvert(home, [...LAUNCH, '--yes']);
    assert.equal(code, 1);
    assert.match(stderr, /Firefox did not start/);
    assert.deepEqual([values.mode, values.connected, values.protocol], [mode, connected, protocol]);
    assert.deepEqual(daemon.state.snapshot().changes, []);
  });

test('a reverted proxy restores protocol and connection as well', async t => {
  const { home, memory, values } = await setUp(t, { mode: 'warp', connected: false, protocol: 'WireGuard' });
  memory.before = ({ action }) => {
    if (action === 'enableLocalProxy') Object.assign(values, { connected: true, protocol: 'MASQUE' });
  };
  const child = await startOnTerminal(home, ['proxy', 'on']);
  t.after(() => child.kill('SIGKILL'));
  await prints(child, 'stdout', /Switch the proxy on\? \[y\/N\]/);
  child.stdin.write('y\r');
  await prints(child, 'stdout', /Other traffic now bypasses WARP; back: culvert mode warp/);
  await prints(child, 'stdout', /Keep this change/);
  child.stdin.write('n\r');
  assert.equal((await ended(child)).code, 1);
  assert.deepEqual([values.mode, values.connected, values.protocol], ['warp', false, 'WireGuard']);
});

for (const words of [
  ['history', 'clear'],
  ['account', 'delete'],
  ['action', 'deleteRegistration'],
  ['action', 'resetSettings'],
  ['proxy', 'on'],
  ['action', 'enableLocalProxy'],
])
  test(`refuses a change of the mode, or a permanent change, without a terminal and --yes: ${words.join(' ')}`, async t => {
    const { home, memory } = await setUp(t);
    assert.equal((await culvert(home, words)).code, 2);
    assert.deepEqual(memory.performed, []);
    assert.notEqual((await culvert(home, [...words, '--yes'])).code, 2);
  });

test('refuses without a terminal and --yes to switch the proxy off, which changes the mode', async t => {
  const { home, values } = await setUp(t, { mode: 'proxy' });
  assert.equal((await culvert(home, ['proxy', 'off'])).code, 2);
  assert.equal(values.mode, 'proxy');
  assert.equal((await culvert(home, ['proxy', 'off', '--yes'])).code, 0);
  assert.equal(values.mode, 'warp');
});

for (const [mode, ...words] of [
  ['warp', 'proxy', 'on'],
  ['warp', 'action', 'enableLocalProxy'],
  ['proxy', 'proxy', 'off'],
] as const)
  test(`asks at a terminal before it changes the mode, and leaves it after a no: ${words.join(' ')}`, async t => {
    const { home, memory, values } = await setUp(t, { mode });
    const child = await startOnTerminal(home, words);
    t.after(() => child.kill('SIGKILL'));
    await prints(child, 'stdout', /changes the mode of the whole machine.*\? \[y\/N\]/s);
    child.stdin.write('n\r');
    const { code, stdout } = await ended(child);
    assert.deepEqual([code, values.mode, memory.performed], [1, mode, []]);
    assert.match(stdout, /Nothing was changed\./);
  });

for (const group of ['settings', 'routes', 'split'])
  test(`an export leaves a file as it is that is there: ${group}`, async t => {
    const { home } = await setUp(t);
    const file = join(home.path, 'mine');
    writeFileSync(file, 'keep me\n');
    const refused = await culvert(home, [group, 'export', file]);
    assert.deepEqual([refused.code, readFileSync(file, 'utf8')], [1, 'keep me\n']);
    assert.match(refused.stderr, /already exists.*\n.*--force/);
    assert.equal((await culvert(home, [group, 'export', file, '--force'])).code, 0);
    assert.notEqual(readFileSync(file, 'utf8'), 'keep me\n');
  });
