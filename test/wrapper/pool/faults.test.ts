// A pool whose store or machines fail, with uses counted by the provider. What can't be guaranteed is shown.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore, type Store } from '../../../wrapper/pool/store.ts';
import { freePort } from '../../support/ports.ts';
import { suspend } from '../../support/signal.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';
import { type CountingApi, countingApi } from '../../support/wrapper/counting-api.ts';
import { assertFencesRise, type Fleet, machines } from '../../support/wrapper/pool-machines.ts';
import { onPort, type StoreServer, storeServer } from '../../support/wrapper/store-server.ts';

const KEYS = ['a1', 'b2', 'c3'];
const MACHINES = FULL ? 8 : 4;
const LEASES = FULL ? 300 : 30;
/** Longer than a machine waits for an answer. */
const FAULT_MS = 1_300;
const TTL_MS = 1_500;

interface Running {
  server: StoreServer;
  fleet: Fleet;
  api: CountingApi;
}

/** Machines at work, a third of the way; the provider has credits for nine tenths of what they want. */
async function running(t: TestContext): Promise<Running> {
  const server = await storeServer(t);
  const limit = Math.floor((MACHINES * LEASES * 0.9) / KEYS.length);
  const api = await countingApi(t, Object.fromEntries(KEYS.map(key => [key, limit])));
  const options = { machines: MACHINES, leases: LEASES, ttl: TTL_MS };
  const fleet = machines(t, { url: server.url, api: api.url, keys: KEYS, timeoutMs: 1_000, ...options });
  await until(() => fleet.seen.filter(({ done }) => done).length > (MACHINES * LEASES) / 3);
  return { server, fleet, api };
}

/** @param wasted requests that may have been refused, over all accounts */
async function finish({ server, fleet, api }: Running, wasted: number): Promise<void> {
  await fleet.ended;
  const refused = [...api.refused.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(refused <= wasted, `${refused} requests were refused, and at most ${wasted} may be`);
  assert.ok(
    [...api.served.values()].every(times => times === 1),
    'each command was served once',
  );
  assertFencesRise(fleet.seen);
  const store = openStore({ url: server.url, timeoutMs: 10_000 });
  await until(async () => (await store.leases('tool')).length === 0, 'leases that nobody returns to end');
  for (const { name, reserved, leases } of await store.status('tool'))
    assert.deepEqual([name, reserved, leases], [name, 0, 0]);
  store.close();
}

const silences: Record<string, (server: StoreServer) => Promise<unknown>> = {
  'a paused store (CLIENT PAUSE)': ({ client }) => client.client('PAUSE', FAULT_MS),
  'a store that is busy (DEBUG SLEEP)': ({ client }) => client.call('DEBUG', 'SLEEP', String(FAULT_MS / 1_000)),
  'a partition that heals (SIGSTOP, SIGCONT)': async server => {
    await suspend(server.pid());
    await delay(FAULT_MS);
    process.kill(server.pid(), 'SIGCONT');
  },
};

for (const [what, silence] of Object.entries(silences)) {
  test(`${what} wastes no request and gives no credit twice`, async t => {
    const pool = await running(t);
    await silence(pool.server);
    await finish(pool, 0);
    assert.ok(pool.fleet.seen.some(({ unreachable }) => unreachable === 'it gave no answer within 1 s'));
  });
}

test('a flushed store forgets what runs: at most one request for each running command is wasted', async t => {
  const pool = await running(t);
  await pool.server.client.flushall();
  await finish(pool, MACHINES);
});

test('a killed store starts empty: at most one request for each running command is wasted', async t => {
  const pool = await running(t);
  await pool.server.kill();
  await until(() => pool.fleet.seen.some(({ unreachable }) => unreachable));
  await pool.server.start();
  await finish(pool, MACHINES);
});

test('machines that are killed at any moment waste no request, and their leases end', async t => {
  const pool = await running(t);
  for (const child of pool.fleet.children.slice(0, MACHINES / 2)) {
    child.kill('SIGKILL');
    await delay(Math.random() * 20);
  }
  await finish(pool, 0);
});

test('a promoted replica may have lost a lease, so its credit can be given twice; its fences still rise', async t => {
  const [first, second] = [freePort(), freePort()];
  const primary = await storeServer(t, onPort(first, '--repl-diskless-sync-delay', '0'));
  const replica = await storeServer(t, onPort(second));
  await replica.client.replicaof('127.0.0.1', first);
  const store = openStore({ url: `valkey://127.0.0.1:${first}`, timeoutMs: 10_000 });
  const seen = [{ fp: 'a', remaining: 1, limit: null, resets: null, age: 0 }];
  const use = async (from: Store, more = {}) => {
    const accounts = [{ fp: 'a', name: 'a' }];
    const base = { owner: 'm', accounts, want: 1, ttl: 90_000, strategy: 'in-order', reserve: 0 };
    return from.lease('tool', { ...base, askable: false, stale: 1, ...more });
  };
  await store.lease('tool', {
    owner: 'm',
    accounts: [],
    want: 1,
    ttl: 1,
    strategy: 'in-order',

    reserve: 0,
    askable: false,
    stale: 1,
    seen,
  });
  await until(async () => (await replica.client.hget('culvert:1:{tool}:account:a', 'remaining')) === '1');

  await suspend(replica.pid());
  await primary.client.client('KILL', 'TYPE', 'REPLICA');
  const lost = await use(store);
  assert.equal(lost.kind, 'granted');
  assert.equal((await use(store)).kind, 'none', 'the only credit is reserved');
  await primary.kill();
  process.kill(replica.pid(), 'SIGCONT');
  await until(async () => (await replica.client.replicaof('NO', 'ONE')) === 'OK');

  const promoted = openStore({ url: `valkey://127.0.0.1:${second}`, timeoutMs: 10_000 });
  const again = await use(promoted);
  assert.equal(again.kind, 'granted', 'the lease that the replica never saw does not bind it');
  if (again.kind !== 'granted' || lost.kind !== 'granted') return;
  assert.ok(Number(again.lease.fence) > Number(lost.lease.fence));
  assert.equal(await promoted.release('tool', { fence: lost.lease.fence, fp: 'a', spent: 1 }), false);
  assert.equal(
    (await promoted.status('tool'))[0]!.remaining,
    1,
    'and its holder can only pause the account or lower it',
  );
  for (const each of [store, promoted]) each.close();
});

test('a machine with an older or newer schema in the same store is refused, and neither disturbs the other', async t => {
  const server = await storeServer(t);
  const store = openStore({ url: server.url, timeoutMs: 10_000 });
  await store.status('tool');
  assert.equal(await server.client.get('culvert:{tool}:schema'), '1');
  await server.client.set('culvert:{other}:schema', '7');
  await assert.rejects(store.status('other'), {
    code: 'pool-refused',
    message: /has the schema 7, .* knows the schema 1/,
  });
  await store.status('tool');
  store.close();
});
