// Requests through a gateway: which account they use, what is repeated, and what the program sees.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../../../wrapper/gateway/gateway.ts';
import { jobIn } from '../../../wrapper/run/accounts/select-account.ts';
import { REQUEST, readState, updateState } from '../../../wrapper/store/state.ts';
import { contextOf, homeFor, json, openGateway, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
import { auditOf } from '../../support/wrapper/sandbox.ts';

async function setUp(t: TestContext, keys: Record<string, string>, respond: Respond, more = '') {
  const provider = await startProvider(t, respond);
  const box = homeFor(t, provider.port, keys, more);
  return { ...provider, box, ...(await openGateway(t, box)) };
}

const AB = { a: 'real-a', b: 'real-b' };

test('each status of the ladder leads to the next account, and the program sees the answer that counts', async t => {
  const status: Record<string, number> = { 'real-a': 401, 'real-b': 402, 'real-c': 429, 'real-d': 200 };
  const keys = { ...AB, c: 'real-c', d: 'real-d' };
  const { calls, ask, gateway, box } = await setUp(t, keys, (key, _req, res) =>
    json(res, status[key] ?? 500, { ok: true }),
  );
  assert.equal((await ask('/scrape', { method: 'POST', body: '{}' })).status, 200);
  assert.deepEqual(
    calls,
    Object.values(keys).map(key => `${key} POST /scrape`),
  );
  assert.equal((await ask('/scrape')).status, 200);
  assert.equal(calls.length, 5);
  await gateway.close();
  assert.deepEqual(
    auditOf(box).map(({ command, account, outcome }) => [command, account, outcome]),
    [
      ['http', 'a', 'left'],
      ['http', 'b', 'left'],
      ['http', 'c', 'left'],
      ['http', 'd', 'ok'],
      ['http', 'd', 'ok'],
    ],
  );
});

test('when all accounts are out, the last answer goes out and says when the first of them is of use again', async t => {
  const { calls, ask } = await setUp(t, AB, (key, _req, res) => {
    res.setHeader('X-Should-Retry', 'true').setHeader('Retry-After', key === 'real-a' ? '60' : '3600');
    json(res, key === 'real-a' ? 429 : 402, { error: 'none' });
  });
  const answer = await ask('/scrape');
  assert.equal(answer.status, 402);
  assert.equal(answer.headers.get('x-should-retry'), 'false');
  assert.equal(answer.headers.get('retry-after'), '60');
  assert.deepEqual(await answer.json(), { error: 'none' });
  assert.equal(calls.length, 2);
});

test('a request that was billed is not asked of another account', async t => {
  const { calls, ask } = await setUp(t, AB, (_key, _req, res) => json(res, 402, { chargeId: 'c' }));
  assert.equal((await ask('/scrape')).status, 402);
  assert.equal(calls.length, 1);
});

test('a crawl is read to its last page with the account that created it, also over a new gateway', async t => {
  let isOut = false;
  const { calls, port, ask, gateway, box } = await setUp(t, AB, (key, req, res) => {
    if (req.method === 'POST') return json(res, key === 'real-a' && isOut ? 402 : 200, { id: 'job-12345678' });
    const skip = Number(new URL(req.url!, 'http://x').searchParams.get('skip'));
    const next = `https://127.0.0.1:${port}/crawl/job-12345678?skip=${skip + 100}`;
    json(res, 200, { data: Array(Math.min(100, 250 - skip)).fill(0), ...(skip < 200 && { next }) });
  });
  await ask('/crawl', { method: 'POST', body: '{}' });
  isOut = true;
  await ask('/other', { method: 'POST', body: '{}' });
  await gateway.close();
  const again = await openGateway(t, box);
  let count = 0;
  for (let next = '/crawl/job-12345678'; next; ) {
    const page = (await (await again.ask(next)).json()) as { data: unknown[]; next?: string };
    count += page.data.length;
    next = page.next ?? '';
  }
  assert.equal(count, 250);
  const followers = calls.filter(call => call.includes(' GET '));
  assert.equal(followers.length, 3);
  assert.ok(followers.every(call => call.startsWith('real-a ')));
});

test('a key that the provider repeats is hidden in headers, bodies and errors', async t => {
  const { ask, key } = await setUp(t, { a: 'real-a' }, (real, req, res) => {
    res.setHeader('x-key', real);
    if (req.url === '/error') return json(res, 418, { real });
    res.writeHead(200, { 'content-type': 'text/plain' });
    res.write(`long ${'x'.repeat(100_000)} rea`);
    setImmediate(() => res.end(`l-a ${real}`));
  });
  for (const each of ['/stream', '/error']) {
    const answer = await ask(each);
    assert.equal(answer.headers.get('x-key'), key);
    const text = await answer.text();
    assert.ok(text.includes(key.slice(0, 6)) && !text.includes('real-'));
  }
});

test('a program that asks again with its idempotency key gets the account of the first time', async t => {
  let isOut = false;
  const { ask, calls } = await setUp(t, AB, (key, _req, res) => json(res, key === 'real-a' && isOut ? 402 : 200, {}));
  const headers = { 'x-idempotency-key': 'k' };
  await ask('/crawl', { method: 'POST', body: '1', headers });
  isOut = true;
  await ask('/other');
  assert.equal((await ask('/crawl', { method: 'POST', body: '2', headers })).status, 402);
  assert.ok(calls.at(-1)!.startsWith('real-a '));
});

for (const [what, init] of [
  ['with its idempotency key', { body: 'other', headers: { 'idempotency-key': 'k' } }],
  ['with the same body', { body: '{}' }],
] as const)
  test(`after no answer, a program that asks again ${what} gets the account of the first time`, async t => {
    const { ask, calls, box } = await setUp(t, AB, (_key, _req, res) =>
      calls.length === 1 ? void res.destroy() : json(res, 200, {}),
    );
    assert.equal((await ask('/crawl', { method: 'POST', ...init, body: '{}' })).status, 500);
    assert.equal((await box.wrap(['accounts', 'use', 'fake', 'b'])).exit, 0);
    assert.equal((await ask('/crawl', { method: 'POST', ...init })).status, 200);
    assert.deepEqual(calls, ['real-a POST /crawl', 'real-a POST /crawl']);
    await ask('/crawl', { method: 'POST', body: 'another' });
    assert.ok(calls.at(-1)!.startsWith('real-b '));
  });

test('an idempotency key that every account refused is free for any account', async t => {
  const out = new Set(['real-a', 'real-b']);
  const { ask, calls } = await setUp(t, AB, (key, _req, res) => json(res, out.has(key) ? 402 : 200, {}));
  const crawl = async () => (await ask('/crawl', { method: 'POST', headers: { 'idempotency-key': 'k' } })).status;
  assert.equal(await crawl(), 402);
  out.delete('real-a');
  assert.equal(await crawl(), 200);
  assert.ok(calls.at(-1)!.startsWith('real-a '));
});

test('an idempotency key whose request was billed stays with its account', async t => {
  const { ask, calls, box } = await setUp(t, AB, (_key, _req, res) => json(res, 402, { chargeId: 'c' }));
  const crawl = () => ask('/crawl', { method: 'POST', headers: { 'idempotency-key': 'k' } });
  await crawl();
  assert.equal((await box.wrap(['accounts', 'use', 'fake', 'b'])).exit, 0);
  await crawl();
  assert.deepEqual(calls, ['real-a POST /crawl', 'real-a POST /crawl']);
});

test('events go out as they come, and a stream that breaks off breaks off for the program', async t => {
  let more: () => void = () => {};
  let cut: () => void = () => {};
  const { ask } = await setUp(t, { a: 'real-a' }, (_key, _req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    more = () => void res.write('data: 2\n\n');
    cut = () => res.destroy();
  });
  const reader = (await ask('/events')).body!.getReader();
  const read = async () => Buffer.from((await reader.read()).value!).toString();
  assert.equal(await read(), 'data: 1\n\n');
  more();
  assert.equal(await read(), 'data: 2\n\n');
  cut();
  await assert.rejects(reader.read());
});

test('a request without the placeholder, and one under another name, do not reach the provider', async t => {
  const { calls, gateway, key } = await setUp(t, { a: 'real-a' }, (_key, _req, res) => json(res, 200, {}));
  const authorization = `Bearer ${key}`;
  const statusOf = async (headers: IncomingHttpHeaders) => {
    const [answer] = await once(request(`${gateway.url}/x`, { headers }).end(), 'response');
    return answer.resume().statusCode;
  };
  assert.equal(await statusOf({}), 401);
  assert.equal(await statusOf({ authorization, host: 'evil.example' }), 421);
  assert.equal(await statusOf({ authorization, origin: 'null' }), 403);
  assert.deepEqual(calls, []);
});

test('a request cannot bring along a second one, nor headers for the provider', async t => {
  const seen: IncomingHttpHeaders[] = [];
  const { calls, gateway, key } = await setUp(t, { a: 'real-a' }, (_key, req, res) => {
    seen.push(req.headers);
    json(res, 200, {});
  });
  const statusOf = async (headers: OutgoingHttpHeaders) => {
    const second = 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';
    const asking = request(`${gateway.url}/first`, { method: 'POST', headers }).end(second);
    const [answer] = await once(asking, 'response');
    return answer.resume().statusCode;
  };
  const authorization = `Bearer ${key}`;
  assert.equal(await statusOf({ authorization, 'content-length': 4, 'transfer-encoding': 'chunked' }), 400);
  assert.deepEqual(calls, []);
  const own = {
    'x-api-key': 'own',
    'proxy-authorization': 'own',
    'x-forwarded-for': 'own',
    cookie: 'own',
    'x-named': 'own',
  };
  assert.equal(await statusOf({ ...own, authorization, connection: 'content-length, authorization, x-named' }), 200);
  assert.deepEqual(calls, ['real-a POST /first']);
  assert.ok(!Object.values(seen[0]!).includes('own'));
});

test('a gateway that cannot read a new catalog goes on with the earlier one', async t => {
  const { ask, box } = await setUp(t, { a: 'real-a' }, (_key, _req, res) => json(res, 200, {}));
  assert.equal((await ask('/x')).status, 200);
  fs.appendFileSync(path.join(box.config, 'providers.toml'), 'of_a_later_version = true\n');
  assert.equal((await ask('/x')).status, 200);
  assert.equal((await ask('/x')).status, 200);
});

test('jobs of 40 days are kept, and names of requests push none of them out', t => {
  const { paths } = contextOf(homeFor(t, 1, AB));
  const day = 86_400_000;
  const { jobs } = updateState(paths, 'fake', state => {
    state.jobs.old = { account: 'a', at: day };
    for (let index = 0; index < 3_000; index += 1) state.jobs[`crawl-${index}`] = { account: 'a', at: 42 * day };
    for (let index = 0; index < 3_000; index += 1) state.jobs[`${REQUEST}${index}`] = { account: 'b', at: 42 * day };
  });
  assert.deepEqual(
    ['old', 'crawl-0', 'crawl-2999', `${REQUEST}0`, `${REQUEST}2999`].map(id => jobs[id]?.account),
    [undefined, 'a', 'a', undefined, 'b'],
  );
  assert.equal(Object.keys(jobs).length, 5_000);
  assert.equal(jobIn(['constructor'], { jobs }), undefined, 'a word of a path');
});

test('a job that is used is kept on', async t => {
  const { port } = await startProvider(t, (_key, _req, res) => json(res, 200, { id: 'job-12345678' }));
  const box = homeFor(t, port, AB);
  let ahead = 0;
  const context = { ...contextOf(box), now: () => Date.now() + ahead };
  const gateway = await startGateway('fake', context, { placeholder: 'fk-1' });
  t.after(() => gateway.close());
  const headers = { authorization: 'Bearer fk-1' };
  await fetch(`${gateway.url}/crawl`, { method: 'POST', headers });
  const { at: created } = readState(context.paths, 'fake').jobs['job-12345678']!;
  ahead = 30 * 86_400_000;
  await fetch(`${gateway.url}/crawl/job-12345678`, { headers });
  await gateway.close();
  const { at, account } = readState(context.paths, 'fake').jobs['job-12345678']!;
  assert.ok(at - created >= ahead);
  assert.equal(account, 'a');
});

test('a change of accounts or keys counts from the next request on', async t => {
  const { calls, ask, box } = await setUp(t, AB, (_key, _req, res) => json(res, 200, {}));
  const lastKey = async () => {
    await ask('/scrape');
    return calls.at(-1)?.split(' ')[0];
  };
  assert.equal(await lastKey(), 'real-a');
  fs.writeFileSync(path.join(box.config, 'keys.env'), 'fake_a=new-a\nfake_b=real-b\n');
  assert.equal(await lastKey(), 'new-a');
  assert.equal((await box.wrap(['accounts', 'disable', 'fake', 'a'])).exit, 0);
  assert.equal(await lastKey(), 'real-b');
  assert.equal((await box.wrap(['accounts', 'enable', 'fake', 'a'])).exit, 0);
  assert.equal(await lastKey(), 'new-a');
  assert.equal((await box.wrap(['accounts', 'use', 'fake', 'b'])).exit, 0);
  assert.equal(await lastKey(), 'real-b');
});

test('a connection that the provider has just closed is not used for a request that may be billed', async t => {
  const { server, calls, gateway, key } = await setUp(t, AB, (_key, _req, res) => json(res, 200, {}));
  const atProvider: Socket[] = [];
  server.on('connection', socket => atProvider.push(socket));
  const { host, port } = new URL(gateway.url);
  const program = connect(Number(port), '127.0.0.1');
  t.after(() => program.destroy());
  const ask = async () => {
    program.write(
      `POST /scrape HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Length: 2\r\n\r\n{}`,
    );
    const answered = once(program, 'data');
    // the gateway reads both in one turn, the request first
    for (const socket of atProvider) socket.destroy();
    return String((await answered)[0]).split('\r\n', 1)[0];
  };
  for (let round = 0; round < 5; round += 1) assert.equal(await ask(), 'HTTP/1.1 200 OK');
  assert.equal(calls.length, 5);
  assert.equal(atProvider.length, 5);
});

test('a connection that died while the machine slept is not used', async t => {
  const asked = new WeakSet<Socket>();
  // the second request on a connection gets no answer, as if all its packets were lost
  const { port, calls } = await startProvider(t, (_key, req, res) => {
    if (!asked.has(req.socket)) json(res, 200, {});
    asked.add(req.socket);
  });
  let slept = 0;
  const { ask } = await openGateway(t, homeFor(t, port, AB), () => Date.now() + slept);
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await ask('/scrape', { method: 'POST', body: '{}' })).status, 200);
    slept += 3_600_000;
  }
  assert.equal(calls.length, 3);
});

test('the key of an account with its own address is never sent to the address of the entry', async t => {
  const { port, calls } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const box = homeFor(t, port, { own: 'fk-own', b: 'fk-b' }, 'hosts = { env = ["FAKE_URL"] }');
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  fs.writeFileSync(
    config,
    text.replace(
      /FAKE_KEY = "([^"]*)#fake_own"/,
      (all, file) => `${all}, FAKE_URL = "${`file:${file}#URL`.replace('file:file:', 'file:')}"`,
    ),
  );
  fs.appendFileSync(path.join(box.config, 'keys.env'), 'URL=https://self.example\n');
  const { ask } = await openGateway(t, box);
  assert.equal((await ask('/search')).status, 200);
  assert.deepEqual(calls, ['fk-b GET /search']);
});
