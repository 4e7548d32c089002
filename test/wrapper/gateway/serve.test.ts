// Programs behind `culvert-wrap serve` use the accounts of a provider that counts, and never see a key.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';

type Respond = (key: string, req: IncomingMessage, res: ServerResponse) => void;

/** Runs a script behind a gateway in front of a provider. */
async function setUp(t: TestContext, keys: Record<string, string>, respond: Respond) {
  const calls: string[] = [];
  const server = createServer((req, res) => {
    const key = (req.headers.authorization ?? '').replace('Bearer ', '');
    calls.push(`${key} ${req.method} ${req.url}`);
    req.resume().on('end', () => respond(key, req, res));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\n');
  box.provider(
    'fake',
    `inject = ["FAKE_KEY"]
[providers.fake.http]
base = "http://127.0.0.1:${port}"
base_variable = "FAKE_URL"
key_variable = "FAKE_KEY"
key_prefix = "fk-"
billed = "chargeId"
creators = [{ request = "POST /crawl", id = "id" }]
rewrite = ["next"]`,
  );
  box.accounts('fake', keys);
  const program = (script: string) =>
    box.run(process.execPath, [
      buildWrapper(),
      'serve',
      'fake',
      '--',
      process.execPath,
      '-e',
      `const ask = (path, more = {}) => fetch(path.startsWith('http') ? path : process.env.FAKE_URL + path, { ...more, headers: { authorization: 'Bearer ' + process.env.FAKE_KEY } });
       (async () => { ${script} })()`,
    ]);
  return { calls, port, program };
}

const json = (res: ServerResponse, status: number, value: object) =>
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

test('each status of the ladder leads to the next account, and the program sees the answer that counts', async t => {
  const status: Record<string, number> = { 'real-a': 401, 'real-b': 402, 'real-c': 429, 'real-d': 200 };
  const keys = { a: 'real-a', b: 'real-b', c: 'real-c', d: 'real-d' };
  const { calls, program } = await setUp(t, keys, (key, _req, res) => json(res, status[key] ?? 500, { ok: true }));
  const { stdout, exit } = await program(`
    const answer = await ask('/scrape', { method: 'POST', body: '{}' });
    console.log(answer.status, JSON.stringify(process.env).includes('real-'));`);
  assert.equal(stdout, '200 false\n');
  assert.equal(exit, 0);
  assert.deepEqual(calls, Object.values(keys).map(key => `${key} POST /scrape`));
});

test('when all accounts are out, the last answer goes out and says when to ask again; the key in it is hidden', async t => {
  const { calls, program } = await setUp(t, { a: 'real-a', b: 'real-b' }, (key, _req, res) => json(res, 429, { key }));
  const { stdout } = await program(`
    const answer = await ask('/scrape');
    const text = await answer.text();
    console.log(answer.status, answer.headers.get('x-should-retry'), answer.headers.get('retry-after'), text.includes('real-'));`);
  assert.equal(stdout, '429 false 60 false\n');
  assert.equal(calls.length, 2);
});

test('what was billed is not asked of another account', async t => {
  const { calls, program } = await setUp(t, { a: 'real-a', b: 'real-b' }, (_key, _req, res) =>
    json(res, 402, { chargeId: 'c' }),
  );
  assert.equal((await program(`console.log((await ask('/scrape')).status)`)).stdout, '402\n');
  assert.equal(calls.length, 1);
});

test('a crawl is read to its last page with the account that created it, also over a new gateway', async t => {
  let isOut = false;
  const { calls, port, program } = await setUp(t, { a: 'real-a', b: 'real-b' }, (key, req, res) => {
    if (req.method === 'POST') return json(res, key === 'real-a' && isOut ? 402 : 200, { id: 'job-12345678' });
    const skip = Number(new URL(req.url!, 'http://x').searchParams.get('skip'));
    const next = `https://127.0.0.1:${port}/crawl/job-12345678?skip=${skip + 100}`;
    return json(res, 200, { data: Array(Math.min(100, 250 - skip)).fill(0), ...(skip < 200 && { next }) });
  });
  await program(`await ask('/crawl', { method: 'POST', body: '{}' })`);
  isOut = true;
  await program(`await ask('/other', { method: 'POST', body: '{}' })`);
  const { stdout } = await program(`
    let [next, count] = ['/crawl/job-12345678', 0];
    while (next) { const page = await (await ask(next)).json(); count += page.data.length; next = page.next; }
    console.log(count);`);
  assert.equal(stdout, '250\n');
  const followers = calls.filter(call => call.includes(' GET '));
  assert.equal(followers.length, 3);
  assert.ok(followers.every(call => call.startsWith('real-a ')));
});

test('a request without the placeholder, and one under another name, reach nobody', async t => {
  const { calls, program } = await setUp(t, { a: 'real-a' }, (_key, _req, res) => json(res, 200, {}));
  const { stdout } = await program(`
    const { request } = require('node:http');
    const statusOf = headers => new Promise(resolve =>
      request(process.env.FAKE_URL + '/x', { headers }, answer => resolve(answer.resume().statusCode)).end());
    const authorization = 'Bearer ' + process.env.FAKE_KEY;
    console.log(await statusOf({}), await statusOf({ authorization, host: 'evil.example' }), await statusOf({ authorization, origin: 'null' }));`);
  assert.equal(stdout, '401 421 403\n');
  assert.deepEqual(calls, []);
});
