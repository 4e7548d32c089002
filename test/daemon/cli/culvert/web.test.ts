// `culvert web`: turns the page on and off, pairs devices, lists and revokes them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createHome, culvert, startDaemon } from '../../../support/daemon/command.ts';

async function running(t: TestContext) {
  const home = createHome(t);
  const { daemon, port } = await startDaemon(t, home);
  const web = (...words: string[]) => culvert(home, ['web', ...words]);
  return { daemon, port, address: `http://127.0.0.1:${port}/`, web };
}

test('the page is turned on, its address is printed, and it is turned off again', async t => {
  const { daemon, address, web } = await running(t);
  const on = await web();
  assert.deepEqual([on.code, on.stdout, daemon.settings.config.webui.enabled], [0, `${address}\n`, true]);
  assert.match(
    on.stderr,
    /stays on, also after a restart.*culvert web off\n.*not opened, because there is no display\./,
  );
  const json = await web('--json');
  assert.deepEqual(JSON.parse(json.stdout), { ok: true, enabled: true, url: address });
  assert.deepEqual([json.stderr, (await web('--no-open')).stderr], ['', '']);
  assert.equal((await web('off')).stdout, 'The browser page is off.\n');
  assert.equal(daemon.settings.config.webui.enabled, false);
});

test('a layer above the user’s that keeps the page off is named', async t => {
  const { daemon, web } = await running(t);
  daemon.settings.setSession({ webui: { enabled: false } });
  const { code, stderr } = await web();
  assert.equal(code, 1);
  assert.match(stderr, /webui\.enabled stays false: the session layer of the configuration sets it\./);
});

test('stdout has the code alone; stderr says what the device may do, and what a connection without TLS means', async t => {
  const { web } = await running(t);
  const reader = await web('--pair');
  assert.match(reader.stdout, /^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}\n$/);
  assert.match(
    reader.stderr,
    /enter this code within five minutes\.\n.*see everything; to let it change things, add --manage/,
  );
  const manager = await web('--pair', '--manage');
  assert.match(manager.stderr, /That device may then see and change everything\./);
  const alone = await web('--manage');
  assert.deepEqual([alone.code, alone.stdout], [2, '']);
  assert.match(alone.stderr, /--manage needs --pair/);
});

test('without TLS the command that pairs says what that means, and behind an encrypted address it does not', async t => {
  const { daemon, web } = await running(t);
  const remote = { open: true, tls: null, problem: null, devices: 0, managing: 0 };
  const warning = /Without TLS, others on the network can read this traffic and take over the access\./;
  daemon.state.set('remoteAccess', { ...remote, address: 'http://192.0.2.7:4173' });
  assert.match((await web('--pair')).stderr, warning);
  daemon.state.set('remoteAccess', { ...remote, address: 'https://culvert.example.org' });
  const { stderr } = await web('--pair');
  assert.match(stderr, /Open https:\/\/culvert\.example\.org\/ on the other device/);
  assert.doesNotMatch(stderr, warning);
});

test('devices are listed, and revoked by their id', async t => {
  const { daemon, web } = await running(t);
  assert.equal((await web('devices')).stdout, 'No device is paired.\n');
  const pairing = daemon.pairing!;
  const { device } = await pairing.pair(pairing.createCode(true).code, 'Firefox \x1b[2Jon Linux', '192.0.2.1');
  await pairing.pair(pairing.createCode(false).code, 'Safari on iPad', '192.0.2.2');
  const { stdout } = await web('devices');
  const [head, ...rows] = stdout.trimEnd().split('\n');
  assert.match(head!, /^ID +NAME +MAY +PAIRED$/);
  assert.match(rows[0]!, new RegExp(`^${device.id} +Firefox .*on Linux +manage +\\d{4}-`));
  assert.match(rows[1]!, / Safari on iPad +read +\d{4}-/);
  assert.ok(!stdout.includes('\x1b'), 'a name steers no terminal');
  assert.equal((await web('revoke', device.id)).stdout, `The device ${device.id} is revoked.\n`);
  const { devices } = JSON.parse((await web('devices', '--json')).stdout);
  assert.deepEqual(
    devices.map(({ name }: { name: string }) => name),
    ['Safari on iPad'],
  );
  const unknown = await web('revoke', device.id);
  assert.notEqual(unknown.code, 0);
  assert.match(unknown.stderr, /No device of this id is paired\./);
});
