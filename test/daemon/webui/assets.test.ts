// The files of the browser page over HTTP: off and on, compression, caching, headers, and access to them.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { raw, request, startListeners } from '../../support/daemon/listeners.ts';

const SCRIPT = 'app-0123abcd.js';
const HTML =
  '<!doctype html><html lang="en"><title>page</title><script type="module" src="/app-0123abcd.js"></script></html>';
const FILES = { 'index.html': HTML, [SCRIPT]: 'console.log("ü")' };

/** Listeners with a small page in their directory; the page is off until it is turned on. */
async function startPage(t: TestContext, options = {}) {
  const running = await startListeners(t, options);
  const { daemon, directory, port } = running;
  mkdirSync(daemon.webui);
  for (const [name, text] of Object.entries(FILES)) {
    writeFileSync(join(directory, 'webui', name), text);
    writeFileSync(join(directory, 'webui', `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(directory, 'webui', `${name}.gz`), gzipSync(text));
  }
  const get = (path: string, headers: Record<string, string | null> = {}, method = 'GET') =>
    raw({ port }, request(`${method} ${path}`, `127.0.0.1:${port}`, { connection: 'close', ...headers }));
  const turn = (enabled: boolean) => daemon.settings.setSession({ webui: { enabled } });
  return { ...running, get, turn };
}

test('while the page is off, every path outside the API says how to turn it on', async t => {
  const { get } = await startPage(t);
  for (const path of ['/', '/index.html', `/${SCRIPT}`, '//', '/apis', '/favicon.ico']) {
    const answer = await get(path);
    assert.equal(answer.status, 404, path);
    assert.equal(answer.headers['content-type'], 'application/problem+json');
    const { code, hint } = answer.json() as { code?: string; hint?: string };
    assert.equal(code, 'not-found');
    assert.match(hint!, /culvert web/);
  }
  assert.equal((await get('/api/health')).status, 200);
});

test('while the page is off, a browser gets a page that says how to turn it on', async t => {
  const { get } = await startPage(t);
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  for (const path of ['/', '/mode', '/api/']) {
    const { status, headers, body } = await get(path, { accept, 'sec-fetch-mode': 'navigate' });
    assert.deepEqual([status, headers['content-type']], [404, 'text/html; charset=utf-8'], path);
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/);
    assert.match(body, /The browser page is off\..*<code>culvert web<\/code>/s);
  }
  assert.equal((await get('/', { accept }, 'HEAD')).body, '');
});

test('turned on and off at run time, the page comes and goes', async t => {
  const { get, turn } = await startPage(t);
  assert.equal((await get('/')).status, 404);
  turn(true);
  const page = await get('/');
  assert.equal(page.status, 200);
  assert.match(page.body, /<title>page/);
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  turn(false);
  assert.equal((await get('/')).status, 404);
});

test('the address of the API leads a browser to the page, and a program to what it can ask', async t => {
  const { get, turn } = await startPage(t);
  turn(true);
  const opened = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' };
  const { status, headers } = await get('/api/', opened);
  assert.deepEqual([status, headers.location], [302, '/']);
  for (const accept of ['*/*', 'application/json'])
    assert.match((await get('/api/', { accept })).body, /openapi\.json/);
});

test('an address with a query is the page as well', async t => {
  const { get, turn } = await startPage(t);
  turn(true);
  assert.match((await get('/?a=b')).body, /<title>page/);
});

test('a file comes compressed as the browser accepts it, and plain where it accepts nothing', async t => {
  const { get, turn } = await startPage(t);
  turn(true);
  const read = async (accepted: string | null) => {
    const { headers, body } = await get(`/${SCRIPT}`, accepted === null ? {} : { 'accept-encoding': accepted });
    assert.equal(headers.vary, 'accept-encoding');
    return [headers['content-encoding'], Buffer.from(body, 'latin1')] as const;
  };
  for (const accepted of ['gzip, deflate, br', 'br;q=0.5, gzip;q=1', 'BR']) {
    const [coding, body] = await read(accepted);
    assert.deepEqual([coding, brotliDecompressSync(body).toString()], ['br', FILES[SCRIPT]], accepted);
  }
  const [coding, body] = await read('gzip, br;q=0');
  assert.deepEqual([coding, gunzipSync(body).toString()], ['gzip', FILES[SCRIPT]]);
  for (const accepted of [null, 'identity', 'br;q=0, gzip; q=0', 'brotli'])
    assert.deepEqual(await read(accepted), [undefined, Buffer.from(FILES[SCRIPT]!)], String(accepted));
});

test('hashed files are cached for a year, and the page itself, which names them, is not', async t => {
  const { get, turn } = await startPage(t);
  turn(true);
  assert.equal((await get(`/${SCRIPT}`)).headers['cache-control'], 'max-age=31536000, immutable');
  const { headers } = await get('/');
  assert.equal(headers['cache-control'], 'no-store');
});

test('another machine without the token gets the page, which holds no state', async t => {
  const { get, turn } = await startPage(t, { remote: 'a'.repeat(43), uid: 4_294_967_294 });
  turn(true);
  const page = await get('/');
  assert.deepEqual([page.status, page.body], [200, HTML]);
  assert.equal((await get('/api/snapshot')).status, 401);
});

test('every file carries the policy that keeps scripts, frames and other hosts out', async t => {
  const { get, turn } = await startPage(t);
  turn(true);
  for (const path of ['/', `/${SCRIPT}`]) {
    const { headers } = await get(path);
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
    );
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.ok(!Object.keys(headers).some(name => name.startsWith('access-control')));
  }
});

test('only the files of the page can be asked for, and only read', async t => {
  const { get, turn, directory } = await startPage(t);
  writeFileSync(join(directory, 'secret.json'), '{}');
  turn(true);
  for (const path of ['/../secret.json', '/%2e%2e/secret.json', '/..%2fsecret.json', `/${SCRIPT}.br`, '/index.html'])
    assert.equal((await get(path)).status, 404, path);
  const head = await get('/', {}, 'HEAD').catch(error => error);
  assert.deepEqual([head.status, head.body], [200, '']);
  const answer = await get('/', {}, 'DELETE');
  assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET, HEAD']);
});

test('the guard protects the page from another host, origin or site', async t => {
  const { get, turn } = await startPage(t);
  turn(true);
  assert.equal((await get('/', { host: 'evil.example' })).status, 421);
  assert.equal((await get('/', { origin: 'http://evil.example' })).status, 403);
  for (const site of ['cross-site', 'same-site'])
    assert.equal((await get('/', { 'sec-fetch-site': site })).status, 403, site);
  assert.equal((await get('/', { 'sec-fetch-site': 'none' })).status, 200);
});

test('an installation without the page says so, and goes on', async t => {
  const { daemon, port } = await startListeners(t);
  daemon.settings.setSession({ webui: { enabled: true } });
  const answer = await raw({ port }, request('GET /', `127.0.0.1:${port}`));
  assert.deepEqual([answer.status, answer.json().code], [404, 'not-found']);
  assert.equal((await raw({ port }, request('GET /api/health', `127.0.0.1:${port}`))).status, 200);
});
