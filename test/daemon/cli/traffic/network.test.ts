// `culvert network`: where this machine is, and what the rules for networks do.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, culvert, ended, prints, startDaemon, startOnTerminal } from '../../../support/daemon/command.ts';
import { link } from '../../../support/networks/mocks.ts';

test('prints each link with what identifies its network', async t => {
  const home = createHome(t);
  const running = await startDaemon(t, home);
  assert.match((await culvert(home, ['network'])).stdout, /^Neither NetworkManager nor systemd-networkd nor iwd runs/);
  running.network = { service: 'NetworkManager', links: [] };
  assert.equal((await culvert(home, ['network'])).stdout, 'No network: no physical link is up.\n');
  const wifi = link('wlan0', {
    name: 'Café\u001b[31m',
    security: 'psk',
    gateway: '192.0.2.1',
    gatewayHardware: '02:00:00:00:00:01',
    metered: true,
  });
  running.network = { service: 'NetworkManager', links: [link('eth0', { kind: 'ethernet' }), wifi] };
  const { stdout } = await culvert(home, ['network']);
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'eth0: Ethernet',
    'wlan0: Wi-Fi “Café [31m”',
    'security  psk',
    'gateway   192.0.2.1, 02:00:00:00:00:01',
    'metered   yes',
  ]);
  const json = JSON.parse((await culvert(home, ['network', '--json'])).stdout);
  assert.deepEqual([json.ok, json.service, json.links.length], [true, 'NetworkManager', 2]);
});

const RULES = `[[network]]
name = "home"
ssid = "Home"
warp = "pause"

[[network]]
name = "cafes"
any = "unknown-wifi"
warp = "connect"
`;

test('sets rules from a file, shows what they do here and elsewhere, and takes the answer', async t => {
  const home = createHome(t);
  const running = await startDaemon(t, home, (state, action) => {
    state.set('status', { ...state.snapshot().status, state: action === 'connect' ? 'connected' : 'disconnected' });
    return null;
  });
  const { state } = running.daemon;
  state.set('status', { ...state.snapshot().status, state: 'connected' });
  state.set('settings', { Mode: 'warp' });
  state.set('account', { registered: true, type: 'Free', organization: null, managed: false });
  running.network = { service: 'NetworkManager', links: [link('wlan0', { name: 'Home', security: 'psk' })] };
  const said = async (words: string[], input = '') => {
    const { stdout, stderr, code } = await culvert(home, ['network', ...words], input);
    return [code, stdout + stderr] as const;
  };
  assert.deepEqual(await said(['rules']), [0, 'There are no rules. Write some with: culvert network edit\n']);
  assert.match(
    (await said(['apply'], `${RULES}mode = 1`))[1],
    /Line 6: The value of mode is not valid\. Nothing was changed\./,
  );
  assert.deepEqual(await said(['apply'], RULES), [0, '2 rules are set.\n']);
  assert.deepEqual(running.performed, []);
  const waiting =
    'Not yet: WARP is paused, by the rule “home”. It waits for your permission: anyone can copy what identifies this network.';
  assert.equal(
    (await said([]))[1],
    `wlan0: Wi-Fi “Home”\nsecurity  psk\n${waiting} Allow it: culvert network allow home\n`,
  );
  assert.equal((await said(['export']))[1], RULES);
  assert.equal(
    (await said(['what-if', '--unknown']))[1],
    'Rule cafes: any unknown Wi-Fi\nWARP is on, by the rule “cafes”.\n',
  );
  assert.match((await said(['what-if', '--ssid', 'Home']))[1], /^Rule home: Wi-Fi “Home”\nNot yet: WARP is paused/);
  assert.equal((await said(['what-if', '--ethernet']))[1], 'No rule is for this network: everything stays as it is.\n');
  assert.equal((await said(['what-if', '--ethernet', '--ssid', 'x']))[0], 2);
  assert.equal((await said(['what-if', '--security', 'x']))[0], 2);
  assert.equal((await said(['what-if', '--gateway', 'x']))[0], 2);
  assert.equal((await said(['what-if', '--beacon', 'x']))[0], 2);
  assert.match((await said(['allow', 'nowhere']))[1], /There is no rule “nowhere”/);
  assert.deepEqual(await said(['allow', 'home']), [0, 'WARP is paused, by the rule “home”.\n']);
  assert.deepEqual(running.performed, [['disconnect', undefined]]);
  assert.match((await said(['rules']))[1], /strength +Lowers protection\. You allowed it/);
  assert.equal((await said(['revert']))[1], 'The rules do nothing more until the network changes.\n');
  assert.deepEqual(running.performed[1], ['connect', undefined]);
  assert.match((await said(['refuse', 'home']))[1], /Not done: WARP is paused, by the rule “home”: you refused it\./);
});

test('keeps the text of the editor where the rules have changed since', async t => {
  const home = createHome(t);
  await startDaemon(t, home);
  const [editor, rules] = [join(home.path, 'editor'), join(home.path, 'rules.toml')];
  writeFileSync(rules, RULES);
  writeFileSync(editor, `#!/bin/sh\ncp '${rules}' "$1"\n`, { mode: 0o755 });
  const child = await startOnTerminal(home, ['network', 'edit', '--yes'], { EDITOR: editor });
  t.after(() => child.kill('SIGKILL'));
  await prints(child, 'stdout', /Set these rules\? \[y\/N\]/);
  assert.equal((await culvert(home, ['network', 'apply'], `# other rules\n${RULES}`)).code, 0);
  child.stdin.write('y\r');
  const { code, stdout } = await ended(child);
  assert.equal(code, 1, stdout);
  const [, file = ''] = /Set it with: culvert network apply (\S+)/.exec(stdout) ?? [];
  assert.equal(readFileSync(file, 'utf8'), RULES);
});

test('says what the rules would do with one beacon, with any, and on a connection', async t => {
  const home = createHome(t);
  await startDaemon(t, home);
  const rule = (name: string, match: string) => `[[network]]\nname = "${name}"\n${match}\nwarp = "connect"\n`;
  const beacon = (port: number) => `beacon = {address = "192.0.2.1:${port}", sha256 = "${'ab'.repeat(32)}"}`;
  const document = rule('one', beacon(1)) + rule('two', beacon(2)) + rule('dock', 'uuid = "1f0c"');
  assert.equal((await culvert(home, ['network', 'apply'], document)).code, 0);
  for (const [words, name] of [
    [['--beacon'], 'one'],
    [['--beacon', '192.0.2.1:2'], 'two'],
    [['--uuid', '1f0c'], 'dock'],
  ] as const)
    assert.match((await culvert(home, ['network', 'what-if', ...words])).stdout, new RegExp(`^Rule ${name}: `));
});
