// Gateways of several machines with one pool: cooldowns and credits that they share, and a store that is gone for a while.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { homeFor, json, openGateway, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
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
    const text = `[pool]\nurl = "${store.url}"\nmachine = "${name}"\n${pool}\n[capacity.fake]\n${capacity}\n`;
    fs.appendFileSync(path.join(box.config, 'config.toml'), text);
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
