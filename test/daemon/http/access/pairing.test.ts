// Pairing devices on other machines: codes, guesses, cookies, rights, revocation, and the file that remembers them.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createPairing, type PairingOptions } from '../../../../daemon/http/access/pairing.ts';
import { open, raw, request, startListeners } from '../../../support/daemon/listeners.ts';
import { until } from '../../../support/until.ts';

function pairingIn(t: TestContext, options: Partial<PairingOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-pairing-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const said: string[] = [];
  const path = join(directory, 'devices.json');
  const create = () => createPairing({ path, say: line => said.push(line), onChange() {}, wrongCodeMs: 0, ...options });
  return { path, said, create, pairing: create() };
}
const cookieOf = (setCookie: string) => setCookie.split(';')[0]!;
const wrong = { code: 'pairing-code-wrong' };

test('a code pairs one device, once, however it is typed', async t => {
  const { pairing, said } = pairingIn(t);
  const { code, manage } = pairing.createCode(false);
  assert.match(code, /^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/);
  assert.equal(manage, false);
  const { device, cookie } = await pairing.pair(` ${code.toLowerCase().replace('-', ' ')} `, 'Phone', '192.0.2.1');
  assert.deepEqual([device.name, device.manage], ['Phone', false]);
  assert.match(cookie, /; HttpOnly; SameSite=Strict$/);
  assert.equal(pairing.rightsOf(`other=1; ${cookieOf(cookie)}`), 'read');
  await assert.rejects(pairing.pair(code, 'Second', '192.0.2.2'), wrong);
  assert.ok(!said.join().includes(code));
});

test('a code is worth nothing after five minutes, and after a newer one', async t => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const { pairing } = pairingIn(t, { now: () => now });
  const late = pairing.createCode(true);
  assert.equal(late.expiresAt, '2026-01-01T00:05:00.000Z');
  now += 5 * 60_000;
  await assert.rejects(pairing.pair(late.code, 'x', 'a'), wrong);
  const replaced = pairing.createCode(false).code;
  pairing.createCode(false);
  await assert.rejects(pairing.pair(replaced, 'x', 'a'), wrong);
});

test('a thousand guesses, many at the same time, withdraw the code after ten and fill no log', async t => {
  const { pairing, said } = pairingIn(t);
  const { code } = pairing.createCode(true);
  const guesses = Array.from({ length: 1000 }, (_, i) => pairing.pair(`GUESS-${i}`, 'x', '192.0.2.9'));
  const results = await Promise.allSettled(guesses);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  await assert.rejects(pairing.pair(code, 'x', '192.0.2.9'), wrong, 'the right code comes too late');
  assert.equal(said.filter(line => /wrong pairing code came from 192\.0\.2\.9/.test(line)).length, 10);
  assert.equal(said.filter(line => /withdrawn/.test(line)).length, 1);
  assert.ok(said.length < 15);
});

test('wrong codes are answered one after the other, each late', async t => {
  const { pairing } = pairingIn(t, { wrongCodeMs: 30 });
  pairing.createCode(false);
  const start = performance.now();
  await Promise.allSettled([1, 2, 3, 4].map(i => pairing.pair(`WRONG-${i}`, 'x', 'a')));
  assert.ok(performance.now() - start >= 4 * 29);
});

test('devices outlive the daemon in a private file that holds no secret of theirs', async t => {
  const { pairing, path, create } = pairingIn(t);
  const { cookie, device } = await pairing.pair(pairing.createCode(true).code, 'Tablet', 'a');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const secret = cookieOf(cookie).split('.')[1]!;
  assert.ok(!readFileSync(path, 'utf8').includes(secret));
  const again = create();
  assert.deepEqual(again.list(), [device]);
  assert.equal(again.rightsOf(cookieOf(cookie)), 'manage');
  again.revoke(device.id);
  assert.equal(again.rightsOf(cookieOf(cookie)), null);
  assert.deepEqual(create().list(), []);
  assert.throws(() => again.revoke(device.id), { code: 'device-not-found' });
});

test('a cookie that is altered, cut, empty or ninety days old is refused', async t => {
  let now = Date.now();
  const { pairing } = pairingIn(t, { now: () => now });
  const cookie = cookieOf((await pairing.pair(pairing.createCode(true).code, 'x', 'a')).cookie);
  const altered = cookie.slice(0, -1) + (cookie.endsWith('A') ? 'B' : 'A');
  for (const each of [undefined, '', 'culvert-device=', cookie.slice(0, -1), `${cookie}A`, altered, `x${cookie}`])
    assert.equal(pairing.rightsOf(each), null, each);
  now += 90 * 24 * 3_600_000;
  assert.equal(pairing.rightsOf(cookie), null);
});

test('a file of devices with something else in it stops the start, and is left as it is', t => {
  const { path, create } = pairingIn(t);
  writeFileSync(path, '{"devices": [{"id": 1}]}');
  assert.throws(create, /Delete it, and pair them again/);
  assert.equal(readFileSync(path, 'utf8'), '{"devices": [{"id": 1}]}');
});

/** Listeners that other machines reach, asked over this machine's address in its network. */
async function startRemote(t: TestContext) {
  const address = Object.values(networkInterfaces())
    .flat()
    .find(i => i && !i.internal && i.family === 'IPv4')?.address;
  if (!address) return null;
  const running = await startListeners(t, { remote: 'a'.repeat(43) });
  running.daemon.settings.setSession({ webui: { enabled: true } });
  const { port } = running;
  const host = `${address}:${port}`;
  const ask = (line: string, cookie?: string, body?: object, headers = {}) =>
    raw(
      { port, host: address },
      request(line, host, { ...(cookie ? { cookie } : {}), ...headers }, body && JSON.stringify(body)),
    );
  const local = (line: string, body?: object) =>
    raw({ port }, request(line, `127.0.0.1:${port}`, {}, body && JSON.stringify(body)));
  const pair = async (manage: boolean) => {
    const { code } = (await local('POST /api/pair/code', { manage })).json() as unknown as { code: string };
    const answer = await ask('POST /api/pair', undefined, { code, name: 'Phone' });
    assert.equal(answer.status, 200, answer.body);
    return cookieOf(answer.headers['set-cookie']!);
  };
  return { ...running, address, host, ask, local, pair };
}

test('without a pairing another machine gets the page to enter a code, and nothing else', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { ask } = remote;
  assert.equal((await ask('GET /')).json().code, 'not-found', 'no page is built here: asked for, and not refused');
  for (const line of [
    'GET /api/health',
    'GET /api/snapshot',
    'GET /api/events',
    'GET /api/devices',
    'GET /api/session',
  ])
    assert.equal((await ask(line)).json().code, 'token-required', line);
  assert.equal((await ask('POST /api/action', undefined, { action: 'connect' })).status, 401);
  assert.equal((await ask('POST /api/pair', undefined, { code: 'x', name: 'y' })).json().code, 'pairing-code-wrong');
  const foreign = await ask('POST /api/pair', undefined, { code: 'x', name: 'y' }, { origin: 'http://evil.example' });
  assert.equal(foreign.json().code, 'origin-not-allowed');
});

test('a paired device reads; only one that was paired to manage changes things', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { ask, pair, performed } = remote;
  const [reader, manager] = [await pair(false), await pair(true)];
  assert.deepEqual((await ask('GET /api/session', reader)).json(), { ok: true, remote: true, rights: 'read' });
  assert.equal((await ask('GET /api/snapshot', reader)).status, 200);
  const refused = await ask('POST /api/action', reader, { action: 'connect' });
  assert.deepEqual([refused.status, refused.json().code], [403, 'device-read-only']);
  assert.deepEqual(performed, []);
  assert.equal((await ask('POST /api/action', manager, { action: 'connect' })).status, 200);
  assert.deepEqual(performed, [['connect', undefined]]);
});

test('a device that reads gets no results of checks, which can hold a file, in any kind of stream', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { pair, port, address, host, daemon } = remote;
  const [reader, manager] = [await pair(false), await pair(true)];
  const published = { running: false, completed: 1, total: 1, result: null, undo: null };
  const revision = String(daemon.state.snapshot().revision);
  const streams = ['', '?brief=1', '?only=doctor,history'].map(query => `GET /api/events${query}`);
  const received = [reader, manager].flatMap(cookie =>
    // from now on, and after a gap
    ([{}, { 'last-event-id': revision }] as Record<string, string>[]).flatMap(headers =>
      streams.map(line => {
        const socket = open({ port, host: address });
        let text = '';
        socket.on('data', data => {
          text += data;
        });
        socket.write(request(line, host, { cookie, ...headers }));
        return { cookie, line, text: () => text };
      }),
    ),
  );
  await until(() => received.every(({ text }) => text().includes('retry:')));
  daemon.state.publish('doctor', published);
  daemon.state.publish('history', { at: '2026-01-01T00:00:00.000Z' } as never);
  await until(() => received.every(({ text }) => text().includes('event: history')));
  for (const { cookie, line, text } of received)
    assert.equal(text().includes('event: doctor'), cookie === manager, line);
});

test('devices are paired, listed and revoked on this machine only', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { ask, pair, local } = remote;
  const manager = await pair(true);
  for (const [line, body] of [
    ['POST /api/pair/code', { manage: true }],
    ['GET /api/devices', undefined],
    ['POST /api/devices/revoke', { id: 'x' }],
  ] as const)
    assert.equal((await ask(line, manager, body)).json().code, 'local-only', line);
  const { devices } = (await local('GET /api/devices')).json() as unknown as { devices: { id: string }[] };
  assert.equal(devices.length, 1);
});

test('revoking a device ends what it has open, and a copy of its cookie is worth nothing', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { ask, pair, local, port, address, host, listeners } = remote;
  const cookie = await pair(true);
  const stream = open({ port, host: address });
  stream.write(request('GET /api/events', host, { cookie }));
  await new Promise(resolve => stream.once('data', resolve));
  assert.equal(listeners.streams.count(), 1);
  const { devices } = (await local('GET /api/devices')).json() as unknown as { devices: { id: string }[] };
  const ended = new Promise(resolve => stream.once('close', resolve));
  stream.resume().on('error', () => {});
  assert.equal((await local('POST /api/devices/revoke', { id: devices[0]!.id })).status, 200);
  await ended;
  assert.equal((await ask('GET /api/snapshot', cookie)).status, 401);
});

test('a reverse proxy of another user is another machine: its clients need a pairing, by the configured name', async t => {
  const address = 'https://culvert.example.org';
  const uid = process.getuid!() + 1; // the daemon takes itself for another user than the client
  const { port, socket } = await startListeners(t, { uid, remote: 'a'.repeat(43), access: { address } });
  const ask = (line: string, headers: Record<string, string>, body?: object) =>
    raw({ port }, request(line, 'culvert.example.org', headers, body && JSON.stringify(body)));
  const forwarded = { 'x-forwarded-for': '192.0.2.9', origin: address };
  assert.equal((await ask('GET /api/snapshot', forwarded)).json().code, 'token-required');
  const made = await raw({ path: socket }, request('POST /api/pair/code', 'localhost', {}, '{"manage":true}'));
  const { code } = made.json() as unknown as { code: string };
  const paired = await ask('POST /api/pair', forwarded, { code, name: 'Phone' });
  assert.match(paired.headers['set-cookie']!, /; Secure$/);
  const cookie = cookieOf(paired.headers['set-cookie']!);
  assert.equal((await ask('POST /api/action', { ...forwarded, cookie }, { action: 'connect' })).status, 200);
  const foreign = { ...forwarded, cookie, origin: 'https://evil.example' };
  assert.equal((await ask('POST /api/action', foreign, { action: 'connect' })).json().code, 'origin-not-allowed');
});
