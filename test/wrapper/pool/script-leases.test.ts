// The script's rules for leases: the choice of an account, reservations, fencing numbers and ends.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { account, HOUR, knows, START, scriptPools } from '../../support/wrapper/pool/script-pools.ts';

const { pool } = await scriptPools({ after });

test('a release counts once', async t => {
  const { got, release, row } = await pool(t);
  const lease = await got({ seen: [knows('a', 10)] });
  assert.deepEqual([(await row('a')).reserved, (await row('a')).leases], [1, 1]);
  assert.equal(await release(lease, { spent: 1 }), true);
  assert.equal(await release(lease, { spent: 1 }), false);
  const { remaining, reserved, leases } = await row('a');
  assert.deepEqual([remaining, reserved, leases], [9, 0, 0]);
});

test('reservations keep two commands from spending the same credits, and the reserve is left alone', async t => {
  const { got, lease, release } = await pool(t);
  const one = { accounts: [account('a')], want: 4, reserve: 2 };
  const first = await got({ ...one, seen: [knows('a', 8)] });
  const reply = await lease(one);
  assert.deepEqual(reply.kind === 'none' && [reply.accounts[0]!.state, reply.soon], ['reserved', true]);
  await release(first);
  const second = await got(one);
  await release(second, { spent: 4 });
  const spent = await lease(one);
  assert.deepEqual(spent.kind === 'none' && [spent.accounts[0]!.state, spent.soon], ['spent', false]);
});

test('each strategy chooses as it does without a pool', async t => {
  const { lease, got, release } = await pool(t);
  const accounts = ['a', 'b', 'c'].map(account);
  const day = 24 * HOUR;
  const seen = [
    knows('a', 50, { resets: START + 3 * day }),
    knows('b', 10, { resets: START + 2 * day }),
    knows('c', 90, { resets: START + day }),
  ];
  await lease({ accounts: [account('x')], seen });
  const chosen: Record<string, string> = {};
  for (const strategy of ['in-order', 'most-remaining', 'drain-first', 'soonest-reset']) {
    const chosenNow = await got({ accounts, strategy });
    chosen[strategy] = chosenNow.fp;
    await release(chosenNow);
  }
  assert.deepEqual(chosen, { 'in-order': 'a', 'most-remaining': 'c', 'drain-first': 'b', 'soonest-reset': 'c' });
  const turns = [];
  for (let i = 0; i < 6; i++)
    turns.push((await got({ accounts: ['d', 'e', 'f'].map(account), strategy: 'round-robin' })).fp);
  assert.deepEqual(turns.slice(3), turns.slice(0, 3));
  assert.equal(new Set(turns).size, 3);
});

test('an account below switch_below comes last until it is above return_above', async t => {
  const { lease, got } = await pool(t);
  const limits = { below: 20, above: 40 };
  const look = async (left: number, age: number) => {
    await lease({ accounts: [account('x')], seen: [knows('a', left, { age })] });
    return (await got({ ...limits, want: 0 })).fp;
  };
  assert.equal(await look(30, 900), 'a');
  assert.equal(await look(19, 800), 'b');
  assert.equal(await look(30, 700), 'b', 'between the two it stays where it was');
  assert.equal(await look(40, 600), 'a');
});

test('fences rise, also after the store was flushed', async t => {
  const { got, pass, flush } = await pool(t);
  const fences = [];
  for (let i = 0; i < 5; i++) fences.push((await got()).fence);
  await flush();
  await pass(1);
  fences.push((await got()).fence);
  assert.deepEqual(fences, [...fences].sort());
  assert.equal(new Set(fences).size, 6);
});

test('fences rise also where the clock was set back', async t => {
  const { got, pass } = await pool(t);
  const fences = [await got()];
  await pass(-HOUR);
  fences.push(await got(), await got());
  const numbers = fences.map(({ fence }) => Number(fence));
  assert.deepEqual(numbers, [START * 1000, START * 1000 + 1, START * 1000 + 2]);
});

test('a lease that is not renewed ends in its time, whatever the others do, and counts as used', async t => {
  const { cli, store, got, pass, row } = await pool(t);
  const own = { accounts: [account('a')] };
  const out = async () => (await store.leases(cli)).map(({ ttl }) => ttl);
  const first = await got({ ...own, ttl: 90_000, seen: [knows('a', 100)] });
  await got({ ...own, ttl: 30_000, want: 5 });
  await got({ ...own, ttl: 60_000, want: 7 });
  assert.deepEqual(await out(), [30_000, 60_000, 90_000], 'the lease that ends first comes first');
  await pass(29_999);
  assert.equal((await out()).length, 3);
  await pass(1);
  assert.deepEqual(await out(), [30_000, 60_000]);
  assert.deepEqual([(await row('a')).remaining, (await row('a')).leases], [95, 2]);
  await pass(29_000);
  assert.equal(await store.renew(cli, first.fence, 90_000), true);
  await pass(1_000);
  assert.deepEqual(await out(), [89_000], 'only the renewed lease is left');
  assert.equal(await store.renew(cli, first.fence, 10_000), true, 'it can also be made shorter');
  await pass(10_000);
  assert.deepEqual(await out(), []);
  assert.deepEqual([(await row('a')).remaining, (await row('a')).leases], [87, 0]);
  assert.equal(await store.renew(cli, first.fence, 90_000), false);
  await got({ ...own, ttl: 1_000 });
  await pass(1_000);
  assert.deepEqual(await out(), [], 'a lease that came after all had ended');
});

test('more leases than one call ends are ended by the next ones', async t => {
  const { cli, store, got, pass, row } = await pool(t);
  const own = { accounts: [account('a')] };
  await got({ ...own, seen: [knows('a', 1_000)] });
  for (let i = 1; i < 250; i++) await got(own);
  await pass(90_000);
  const left = [];
  for (let i = 0; i < 3; i++) left.push((await store.leases(cli)).length);
  assert.deepEqual(left, [150, 50, 0]);
  assert.deepEqual([(await row('a')).remaining, (await row('a')).leases, (await row('a')).reserved], [750, 0, 0]);
});

test('a lease needs a valid fencing number', async t => {
  const { cli, store, got, release } = await pool(t);
  await got();
  for (const fence of ['last', 'end', '', '0']) {
    assert.equal(await store.renew(cli, fence, 1_000), false, fence);
    assert.equal(await release({ fence, fp: 'a' }), false, fence);
  }
  assert.equal((await store.leases(cli)).length, 1);
});
