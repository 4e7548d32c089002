// The bearer token: its file, which others may not read, and the access that it gives to other machines.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { readToken } from '../../../daemon/http/token.ts';
import { raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';

function place(t: TestContext): string {
  const directory = temporary(t, 'token');
  return join(directory, 'state', 'token');
}

test('a token is made once, of 32 bytes, for this user only, and read from then on', async t => {
  const path = place(t);
  assert.equal(await readToken(path), null);
  const token = await readToken(path, { create: true });
  assert.equal(Buffer.from(token, 'base64url').length, 32);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  assert.deepEqual([await readToken(path), await readToken(path, { create: true })], [token, token]);
  assert.deepEqual(readdirSync(join(path, '..')), ['token']);
});

test('concurrent callers, in one process or several, get the same token', async t => {
  const path = place(t);
  const text = `import { readToken } from ${JSON.stringify(resolve(import.meta.dirname, '../../../daemon/http/token.ts'))};
    console.log(await readToken(process.argv[2], { create: true }));`;
  const program = bundleScript({ text }, temporary(t));
  const run = () => promisify(execFile)(process.execPath, [program, path]).then(({ stdout }) => stdout.trim());
  const here = Array.from({ length: 20 }, () => readToken(path, { create: true }));
  const tokens = new Set([...(await Promise.all(here)), ...(await Promise.all([run(), run(), run()]))]);
  assert.equal(tokens.size, 1);
  assert.deepEqual(readdirSync(join(path, '..')), ['token']);
});

test('a file that others may read, a link, and a file with something else are refused with what to do', async t => {
  const path = place(t);
  await readToken(path, { create: true });
  chmodSync(path, 0o640);
  await assert.rejects(readToken(path, { create: true }), {
    name: 'Failure',
    message: /may be read by others.*Delete it/,
  });
  chmodSync(path, 0o600);
  symlinkSync(path, `${path}-link`);
  await assert.rejects(readToken(`${path}-link`), { message: /can't be read/ });
  for (const text of ['', 'short', 'a'.repeat(44), `${'a'.repeat(42)}+`]) {
    writeFileSync(path, text);
    await assert.rejects(readToken(path), { message: /holds no token/ });
  }
});

test('a file that can’t be made is named in the failure', async t => {
  const path = place(t);
  writeFileSync(join(path, '..', '..', 'file'), '');
  await assert.rejects(readToken(join(path, '..', '..', 'file', 'token'), { create: true }), {
    name: 'Failure',
    message: /file\/token can't be (read|made)/,
  });
});

const TOKEN = 'a'.repeat(43);
const bearer = { authorization: `Bearer ${TOKEN}` };
const cookieOf = (setCookie: string | undefined) => setCookie!.split(';')[0]!;

/** Listeners that other machines reach, asked over this machine's address in its network. */
async function startRemote(t: TestContext) {
  const address = Object.values(networkInterfaces())
    .flat()
    .find(i => i && !i.internal && i.family === 'IPv4')?.address;
  if (!address) return null;
  const running = await startListeners(t, { remote: TOKEN });
  running.daemon.settings.setSession({ webui: { enabled: true } });
  const { port } = running;
  const ask = (line: string, headers: Record<string, string> = {}, body?: object) =>
    raw({ port, host: address }, request(line, `${address}:${port}`, headers, body && JSON.stringify(body)));
  return { ...running, ask };
}

test('without the token another machine gets the page to enter it, and nothing else', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { ask, performed } = remote;
  assert.equal((await ask('GET /')).json().code, 'not-found', 'no page is built here: asked for, and not refused');
  for (const line of ['GET /api/health', 'GET /api/snapshot', 'GET /api/events'])
    assert.equal((await ask(line)).json().code, 'token-required', line);
  assert.equal((await ask('POST /api/action', {}, { action: 'connect' })).status, 401);
  for (const headers of [{}, { authorization: `Bearer ${TOKEN}x` }, { cookie: `culvert-token=${TOKEN}x` }]) {
    const answer = await ask('POST /api/session', headers as Record<string, string>, {});
    assert.deepEqual([answer.status, answer.json().code], [401, 'token-required']);
    assert.equal(answer.headers['set-cookie'], undefined);
  }
  assert.deepEqual(performed, []);
});

test('a browser that sends the token keeps it in a cookie that no script and no other site can use', async t => {
  const remote = await startRemote(t);
  if (!remote) return t.skip('this machine has no address beyond loopback');
  const { ask, performed } = remote;
  const foreign = { ...bearer, origin: 'http://evil.example' };
  assert.equal((await ask('POST /api/session', foreign, {})).json().code, 'origin-not-allowed');
  const answer = await ask('POST /api/session', bearer, {});
  assert.match(answer.headers['set-cookie']!, /; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Strict$/);
  const cookie = cookieOf(answer.headers['set-cookie']);
  assert.equal((await ask('GET /api/snapshot', { cookie })).status, 200);
  assert.equal((await ask('POST /api/action', { cookie }, { action: 'connect' })).status, 200);
  assert.deepEqual(performed, [['connect', undefined]]);
});

test('this machine needs no token, and gets no cookie', async t => {
  const { port } = await startListeners(t);
  const answer = await raw({ port }, request('POST /api/session', `127.0.0.1:${port}`, bearer, '{}'));
  assert.deepEqual([answer.status, answer.headers['set-cookie']], [200, undefined]);
});

test('a reverse proxy of another user is another machine: its clients need the token, by the configured name', async t => {
  const address = 'https://culvert.example.org';
  const uid = process.getuid!() + 1; // the daemon takes itself for another user than the client
  const { port } = await startListeners(t, { uid, remote: TOKEN, access: { address } });
  const ask = (line: string, headers: Record<string, string>, body?: object) =>
    raw({ port }, request(line, 'culvert.example.org', headers, body && JSON.stringify(body)));
  const forwarded = { 'x-forwarded-for': '192.0.2.9', origin: address };
  assert.equal((await ask('GET /api/snapshot', forwarded)).json().code, 'token-required');
  const answer = await ask('POST /api/session', { ...forwarded, ...bearer }, {});
  assert.match(answer.headers['set-cookie']!, /; Secure$/);
  const cookie = cookieOf(answer.headers['set-cookie']);
  assert.equal((await ask('POST /api/action', { ...forwarded, cookie }, { action: 'connect' })).status, 200);
  const foreign = { ...forwarded, cookie, origin: 'https://evil.example' };
  assert.equal((await ask('POST /api/action', foreign, { action: 'connect' })).json().code, 'origin-not-allowed');
});
