// Gateways of several machines with one pool: pauses and credits that they share, and a store that is gone for a while.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../../../wrapper/gateway/gateway.ts';
import { Ledger } from '../../../wrapper/gateway/ledger.ts';
import { useStore } from '../../../wrapper/pool/open.ts';
import { suspend } from '../../support/signal.ts';
import { until } from '../../support/until.ts';
import { contextOf, homeFor, json, openGateway, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';

const AB = { a: 'real-a', b: 'real-b' };
const CREDITS = 25;

interface Machine {
  name: string;
  keys?: Record<string, string>;
  pool?: string;
  /** More settings: those of the provider, and the capacity. */
  more?: [provider: string, capacity: string];
}

/** The gateways of machines in one pool, in front of one provider. */
async function setUp(t: TestContext, respond: Respond, machines: readonly Machine[]) {
  const store = await storeServer(t);
  const { calls, port } = await startProvider(t, respond);
  const gateways = machines.map(async ({ name, keys = AB, pool = '', more: [provider, capacity] = ['', ''] }) => {
    const box = homeFor(t, port, keys, provider.replaceAll('PORT', String(port)));
    // a busy machine takes its time; the usual 2 s are for people
    const patient = `machine = "${name}"\ntimeout = "20s"\n`;
    box.configure(`[pool]\nurl = "${store.url}"\n${patient}${pool}\n[capacity.fake]\n${capacity}\n`);
    const { ask } = await openGateway(t, box);
    return async () => (await ask('/scrape', { method: 'POST', body: '{}' })).status;
  });
  return { store, calls, asks: await Promise.all(gateways) };
}

test('an account that is used up at one gateway is not tried at the other', async t => {
  const respond: Respond = (key, _req, res) => json(res, key === 'real-a' ? 402 : 200, {});
  const { asks, calls } = await setUp(t, respond, [{ name: 'one' }, { name: 'other' }]);
  for (const ask of asks) assert.equal(await ask(), 200);
  assert.deepEqual(calls, ['real-a POST /scrape', 'real-b POST /scrape', 'real-b POST /scrape']);
});

test('simultaneous requests at two gateways spend each credit once, and meet no limit', async t => {
  const left = new Map(Object.values(AB).map(key => [key, CREDITS]));
  let refused = 0;
  const respond: Respond = (key, req, res) => {
    const credits = left.get(key)!;
    if (req.url === '/usage') return json(res, 200, { remaining: credits, limit: CREDITS });
    if (credits === 0) {
      refused += 1;
      return json(res, 402, {});
    }
    left.set(key, credits - 1);
    json(res, 200, {});
  };
  const more: Machine['more'] = [
    '[providers.fake.usage]\nurl = "http://127.0.0.1:PORT/usage"\nremaining = "remaining"\nlimit = "limit"\n',
    'reserve = 0',
  ];
  const { asks } = await setUp(t, respond, [
    { name: 'one', more },
    { name: 'other', more },
  ]);
  const statuses = await Promise.all(asks.flatMap(ask => Array.from({ length: CREDITS }, ask)));
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.deepEqual([[...left.values()], refused], [[0, 0], 0]);
  assert.notEqual(await asks[0]!(), 200);
  assert.equal(refused, 0, 'the pool knows that nothing is left');
});

test('a body that took too long at two gateways goes on with the account of the first one', async t => {
  const respond: Respond = (_key, _req, res) => json(res, 408, {});
  const { asks, calls } = await setUp(t, respond, [
    { name: 'one', keys: { a: 'real-a', b: 'real-b' } },
    { name: 'other', keys: { b: 'real-b', a: 'real-a' } },
  ]);
  const [one, other] = asks as [() => Promise<number>, () => Promise<number>];
  for (const ask of [one, other, other, one]) assert.equal(await ask(), 408);
  assert.deepEqual(
    calls.map(call => call.split(' ')[0]),
    ['real-a', 'real-b', 'real-a', 'real-a'],
  );
});

test('requests at a gateway share one connection to the store', async t => {
  const respond: Respond = (_key, _req, res) => json(res, 408, {});
  const { store, asks } = await setUp(t, respond, [{ name: 'one' }]);
  const connections = async () => Number(/total_connections_received:(\d+)/.exec(await store.client.info('stats'))![1]);
  const before = await connections();
  for (let count = 0; count < 5; count += 1) assert.equal(await asks[0]!(), 408);
  assert.equal((await connections()) - before, 1);
});

test('a request that ends after its gateway leaves no connection open', async t => {
  const store = await storeServer(t);
  const box = homeFor(t, 1, AB);
  box.configure(`[pool]\nurl = "${store.url}"\nmachine = "one"\n`);
  const ledger = new Ledger('fake', contextOf(box));
  const { pool } = await ledger.plan();
  await ledger.close();
  const late = await useStore(pool!, ledger.context);
  await late.status('fake');
  const connections = async () =>
    String(await store.client.client('LIST'))
      .trim()
      .split('\n').length;
  assert.equal(await connections(), 2);
  late.close();
  await until(async () => (await connections()) === 1);
});

test('an answer about a job does not wait for a store that hangs', async t => {
  const store = await storeServer(t);
  const { port } = await startProvider(t, async (_key, _req, res) => {
    await suspend(store.pid());
    json(res, 200, { id: 'job-12345678' });
  });
  const box = homeFor(t, port, AB);
  fs.appendFileSync(
    path.join(box.config, 'config.toml'),
    `[pool]\nurl = "${store.url}"\nmachine = "one"\ntimeout = "30s"\n`,
  );
  const { ask } = await openGateway(t, box);
  const began = Date.now();
  assert.equal((await ask('/crawl', { method: 'POST', body: '{}' })).status, 200);
  assert.ok(Date.now() - began < 15_000);
  process.kill(store.pid(), 'SIGCONT');
});

test('a gateway without its store refuses, and goes on when the store is back', async t => {
  const { store, asks, calls } = await setUp(t, (_key, _req, res) => json(res, 200, {}), [{ name: 'one' }]);
  const [ask] = asks;
  assert.equal(await ask!(), 200);
  await store.kill();
  assert.equal(await ask!(), 500);
  assert.equal(calls.length, 1);
  await store.start();
  assert.equal(await ask!(), 200);
});

test('one request fails on a connection to the store that is dead without a sign, and the next one goes on', async t => {
  const store = await storeServer(t);
  const { port } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const sockets: Socket[] = [];
  const proxy = createServer(client => {
    const upstream = connect(store.socket);
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    client.pipe(upstream).pipe(client);
  });
  await once(proxy.listen(path.join(store.directory, 'proxy')), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const box = homeFor(t, port, AB);
  const pool = `[pool]\nurl = "valkey+unix://${store.directory}/proxy"\nmachine = "one"\n`;
  box.configure(pool);
  const { ask } = await openGateway(t, box);
  const statusOf = async () => (await ask('/scrape', { method: 'POST', body: '{}' })).status;
  assert.equal(await statusOf(), 200);
  for (const socket of sockets) socket.unpipe().resume();
  assert.deepEqual([await statusOf(), await statusOf()], [500, 200]);
});

test('a gateway without its store uses its share of the reserve, and no more', async t => {
  const { store, asks, calls } = await setUp(t, (_key, _req, res) => json(res, 200, {}), [
    {
      name: 'one',
      pool: 'offline = "local"\nmachines = 10\naccounts = { fake = ["b"] }',
      more: [
        '[providers.fake.usage]\nurl = "http://127.0.0.1:PORT/usage"\nremaining = "remaining"\nlimit = "limit"\n',
        'reserve = 20',
      ],
    },
  ]);
  const [ask] = asks;
  await store.kill();
  const statuses = [await ask!(), await ask!(), await ask!()];
  assert.deepEqual(statuses.slice(0, 2), [200, 200]);
  assert.notEqual(statuses[2], 200);
  assert.deepEqual(calls, ['real-b POST /scrape', 'real-b POST /scrape']);
});

test('when all accounts of a pool are out, machines say so in the words of the provider where they know them', async t => {
  const store = await storeServer(t);
  const { calls, port, server } = await startProvider(t, (key, _req, res) =>
    json(res, 402, { error: `none for ${key}` }),
  );
  server.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'));
  const machine = async (name: string) => {
    const box = homeFor(t, port, AB);
    box.configure(`[pool]\nurl = "${store.url}"\nmachine = "${name}"\n`);
    return await openGateway(t, box);
  };
  const [one, other] = [await machine('one'), await machine('other')];
  const answerOf = async ({ ask }: typeof one) => {
    const answer = await ask('/scrape', { method: 'POST', body: '{}' });
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    assert.equal(answer.headers.get('retry-after'), null, 'the provider named no time');
    return [answer.status, await answer.text()];
  };
  assert.deepEqual(await answerOf(one), [402, JSON.stringify({ error: `none for ${one.key.slice(0, 6)}` })]);
  assert.deepEqual(calls, ['real-a POST /scrape', 'real-b POST /scrape']);
  assert.deepEqual(await answerOf(one), [402, JSON.stringify({ error: `none for ${one.key.slice(0, 6)}` })]);
  const [status, text] = await answerOf(other);
  assert.equal(status, 429);
  assert.match(String(text), /\\"a\\" is paused for .*\\"b\\" is paused for/);
  const headers = { connection: 'Upgrade', upgrade: 'websocket', authorization: `Bearer ${one.key}` };
  const [refused] = await once(request(`${one.gateway.url}/socket`, { headers }).end(), 'response');
  assert.equal(refused.statusCode, 402);
  assert.equal(calls.length, 2);
});

test('a refusal of the provider is repeated during its pause, whole to its own program only', async t => {
  const store = await storeServer(t);
  let refused = 0;
  const { port } = await startProvider(t, (_key, _req, res) => {
    refused += 1;
    json(res, 402, { code: 'NO_CREDITS', error: 'No credits for https://example.com/private' });
  });
  const box = homeFor(t, port, AB);
  box.configure(`[pool]\nurl = "${store.url}"\nmachine = "one"\n`);
  const add = async (name: string) => (await box.json('serve', 'token', 'add', 'fake', name)).placeholder;
  const [own, other] = [await add('own'), await add('other')];
  let later = 0;
  const gateway = await startGateway('fake', { ...contextOf(box), now: () => Date.now() + later });
  t.after(() => gateway.close());
  const answerFor = async (placeholder: string) => {
    const headers = { authorization: `Bearer ${placeholder}` };
    const answer = await fetch(`${gateway.url}/scrape`, { method: 'POST', headers, body: '{}' });
    return { status: answer.status, text: await answer.text() };
  };
  const first = await answerFor(own);
  assert.match(first.text, /private/);
  assert.deepEqual(await answerFor(own), first);
  const { status, text } = await answerFor(other);
  assert.deepEqual([status, JSON.parse(text).code], [402, 'NO_CREDITS']);
  assert.doesNotMatch(text, /private/);
  later = 7_200_000;
  assert.equal((await answerFor(own)).status, 429);
  later = 0;
  for (const account of await store.client.keys('culvert:1:{fake}:account:*'))
    await store.client.hset(account, 'class', 'rate');
  assert.equal((await answerFor(own)).status, 429);
  assert.equal(refused, 2);
});

test('a pool lets a program read its job when nothing is left', async t => {
  const { url } = await storeServer(t);
  let isOut = false;
  const { port, calls } = await startProvider(t, (_key, req, res) =>
    json(res, isOut && req.method === 'POST' ? 402 : 200, { id: 'job-12345678' }),
  );
  const box = homeFor(t, port, { a: 'real-a' });
  box.configure(`[pool]\nurl = "${url}"\nmachine = "one"\n`);
  const { ask } = await openGateway(t, box);
  const crawl = async () => (await ask('/crawl', { method: 'POST', body: '{}' })).status;
  assert.equal(await crawl(), 200);
  isOut = true;
  assert.deepEqual([await crawl(), await crawl()], [402, 402]);
  assert.equal(calls.length, 2);
  assert.equal((await ask('/crawl/job-12345678')).status, 200);
});
