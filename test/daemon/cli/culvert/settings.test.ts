// `culvert mode`, `protocol`, `proxy` and `config`: what is set, where it comes from, and how it is changed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { NO_TUNNEL } from '../../../../daemon/state/store.ts';
import {
  createHome,
  culvert,
  ended,
  startDaemon,
  startHome,
  startOnTerminal,
} from '../../../support/daemon/command.ts';

test('mode prints the name alone to a program and marks it among all names on a terminal', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  assert.equal((await culvert(home, ['mode'])).code, 1);
  daemon.state.set('settings', { Mode: 'warp+doh' });
  assert.deepEqual(await culvert(home, ['mode']), { code: 0, stdout: 'warp+doh\n', stderr: '' });
  assert.deepEqual(JSON.parse((await culvert(home, ['mode', '--json'])).stdout), { ok: true, mode: 'warp+doh' });
  const { stdout } = await ended(await startOnTerminal(home, ['mode'], { NO_COLOR: '1' }));
  assert.match(stdout, /^● {2}warp\+doh {5}All traffic, encrypted DNS \(HTTPS\)\r$/m);
  assert.match(stdout, /^ {3}tunnel_only {2}All traffic, your own DNS\r$/m);
});

test('protocol says where MASQUE uses HTTP/2, and a program reads the name alone on stdout', async t => {
  const { home, daemon } = await startHome(t);
  const { settings, options } = daemon.state.snapshot();
  const document = async () => JSON.parse((await culvert(home, ['protocol', '--json'])).stdout);
  daemon.state.set('settings', { ...settings, Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
  assert.deepEqual(await culvert(home, ['protocol']), { code: 0, stdout: 'MASQUE\n', stderr: '' });
  assert.deepEqual(await document(), { ok: true, protocol: 'MASQUE' });
  daemon.state.set('options', { ...options, masque: 'MASQUE (HTTP/2)' });
  const words = 'MASQUE uses HTTP/2 (TCP).\n';
  assert.deepEqual(await culvert(home, ['protocol']), { code: 0, stdout: 'MASQUE\n', stderr: words });
  assert.deepEqual(await document(), { ok: true, protocol: 'MASQUE', http2: true });
  const { stdout } = await ended(await startOnTerminal(home, ['protocol'], { NO_COLOR: '1' }));
  assert.match(stdout, /MASQUE uses HTTP\/2 \(TCP\)\./);
});

test('mode and protocol are set by any spelling of a known name, and by no other', async t => {
  const home = createHome(t);
  const { performed } = await startDaemon(t, home);
  assert.deepEqual(await culvert(home, ['mode', 'WARP+DoH']), {
    code: 0,
    stdout: '',
    stderr: 'Mode set to warp+doh.\n',
  });
  assert.equal((await culvert(home, ['protocol', 'wireguard'])).code, 0);
  assert.deepEqual(await culvert(home, ['protocol', 'H2-only']), {
    code: 0,
    stdout: '',
    stderr: 'MASQUE set to h2-only.\n',
  });
  const wrong = await culvert(home, ['mode', 'off']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /There is no mode "off"\.\nChoose one of: warp, doh/);
  assert.equal((await culvert(home, ['protocol', 'constructor'])).code, 2);
  assert.deepEqual(performed, [
    ['setMode', 'warp+doh'],
    ['setProtocol', 'WireGuard'],
    ['setMasqueOptions', 'h2-only'],
  ]);
});

test('HTTP/2 is found by help and by explain, in the words that people use', async t => {
  const home = createHome(t);
  const { stdout } = await culvert(home, ['help', '--all']);
  assert.match(stdout, /protocol.*h2-only where\s+UDP is blocked/);
  for (const words of [
    ['udp'],
    ['udp', 'blocked'],
    ['UDP is blocked'],
    ['tcp'],
    ['h2'],
    ['HTTP/2'],
    ['no', 'udp'],
    ['quic'],
  ])
    assert.match((await culvert(home, ['explain', ...words])).stdout, /culvert protocol h2-only/, words.join(' '));
});

test('proxy on and off switch the mode, and off leaves every other mode alone', async t => {
  const home = createHome(t);
  const { daemon, performed } = await startDaemon(t, home, (state, action) => {
    if (action === 'enableLocalProxy') {
      state.set('settings', { Mode: 'proxy' });
      state.set('tunnel', { ...NO_TUNNEL, proxyPort: 40_000 });
    }
    return undefined;
  });
  daemon.state.set('settings', { Mode: 'doh' });
  assert.equal((await culvert(home, ['proxy', 'off'])).stderr, 'The local proxy is already off.\n');
  const on = 'Local proxy on at 127.0.0.1:40000.\nDNS now bypasses WARP; back: culvert mode doh.\n';
  assert.equal((await culvert(home, ['proxy', 'on', '--yes'])).stderr, on);
  assert.deepEqual(JSON.parse((await culvert(home, ['proxy', '--json'])).stdout), {
    ok: true,
    enabled: true,
    address: '127.0.0.1:40000',
  });
  assert.equal((await culvert(home, ['proxy', 'off', '--yes'])).code, 0);
  assert.deepEqual(performed, [
    ['enableLocalProxy', undefined],
    ['setMode', 'warp'],
  ]);
});

test('config set writes the file of the user, --session does not, and unset reverts both', async t => {
  const home = createHome(t);
  const { directory, daemon } = await startDaemon(t, home);
  const file = () => JSON.parse(readFileSync(join(directory, 'user.json'), 'utf8'));
  assert.equal((await culvert(home, ['config', 'set', 'ui.theme', 'dark'])).code, 0);
  assert.deepEqual(file(), { ui: { theme: 'dark' } });
  assert.equal((await culvert(home, ['config', 'set', '--session', 'ui.openBrowser', 'off'])).code, 0);
  assert.deepEqual(file(), { ui: { theme: 'dark' } });
  assert.deepEqual(daemon.settings.config.ui, { openBrowser: false, theme: 'dark', locale: 'en', firstSteps: true });
  const { stdout } = await culvert(home, ['config']);
  assert.match(stdout, /^ui\.theme +user +dark$/m);
  assert.match(stdout, /^ui\.openBrowser +session +false$/m);
  assert.match(stdout, /^server\.port +default +4173$/m);
  assert.equal((await culvert(home, ['config', 'get', 'ui.theme'])).stdout, 'dark\n');
  assert.equal((await culvert(home, ['config', 'unset', 'ui.theme'])).code, 0);
  assert.equal((await culvert(home, ['config', 'unset', '--session', 'ui.openBrowser'])).code, 0);
  assert.deepEqual(daemon.settings.config.ui, { openBrowser: true, theme: 'system', locale: 'en', firstSteps: true });
});

test('config set says when a higher layer keeps the key as it is', async t => {
  const home = createHome(t);
  await startDaemon(t, home);
  await culvert(home, ['config', 'set', '--session', 'ui.theme', 'light']);
  const { code, stderr } = await culvert(home, ['config', 'set', 'ui.theme', 'dark']);
  assert.equal(code, 0);
  assert.match(stderr, /It stays light: the session layer overrides it\. .*config unset --session ui\.theme/);
});

for (const [key, value, text] of [
  ['server.port', '5000', '{"server":{"port":5000}}'],
  ['warp.cli', '/opt/warp-cli', '{"warp":{"cli":"/opt/warp-cli"}}'],
  ['webui.allowRemote', 'true', '{"webui":{"allowRemote":true}}'],
] as const) {
  test(`config set ${key} names the file, what to write into it, and the restart`, async t => {
    const home = createHome(t);
    await startDaemon(t, home);
    for (const layer of [[], ['--session']]) {
      const { code, stderr } = await culvert(home, ['config', 'set', ...layer, key, value]);
      assert.equal(code, 1);
      assert.ok(
        stderr.includes(`put ${text} into ${home.path}/.config/culvert/config.json; then: culvert restart`),
        stderr,
      );
    }
  });
}

for (const [words, why] of [
  [['get', 'ui.color'], /There is no key "ui\.color"/],
  [['get', 'theme'], /Did you mean ui\.theme\?/],
  [['set', 'UI.Theme', 'dark'], /Did you mean ui\.theme\?/],
  [['get', 'ui.__proto__'], /There is no key/],
  [['set', 'ui.openBrowser', 'maybe'], /true or false, not "maybe"/],
  [['set', 'server.port', '4e3'], /a whole number/],
  [['set', 'ui.theme', 'purple'], /ui\.theme can't be "purple"\.\nExpected one of system, light, dark\.\n$/],
  [['set', 'ui.theme'], /missing required argument 'value'/],
] as const) {
  test(`config ${words.join(' ')} is wrong usage and says why`, async t => {
    const home = createHome(t);
    await startDaemon(t, home);
    const { code, stderr } = await culvert(home, ['config', ...words]);
    assert.equal(code, 2);
    assert.match(stderr, why);
  });
}
