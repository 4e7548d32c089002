// The script's rules for the store itself: its schema, lost and flushed keys, and their lifetimes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { account, HOUR, knows, quota, scriptPools } from '../../support/wrapper/pool/script-pools.ts';

const { server, pool } = await scriptPools({ after });

test('a store with another schema is refused with the versions and what to do', async t => {
  const { cli, lease } = await pool(t);
  await server.client.set(`culvert:{${cli}}:schema`, '2');
  await assert.rejects(lease(), {
    code: 'pool-refused',
    message: `the pool at ${server.url} has the schema 2, and this version of culvert-wrap knows the schema 1`,
    hint: /one version of culvert-wrap on all machines/,
  });
  assert.deepEqual(await server.client.keys(`culvert:1:{${cli}}*`), [], 'nothing was written');
});

test('a share of the reserve comes back once the provider was asked after it was used', async t => {
  const { lease, pass, row, got } = await pool(t);
  const own = { accounts: [account('a')], reserve: 20 };
  await got({ ...own, seen: [knows('a', 100)] });
  await lease({ ...own, away: [{ fp: 'a', spent: 5 }] });
  assert.equal((await row('a')).remaining, 95);
  const ask = async () => (await lease({ ...own, away: [{ fp: 'a', spent: 0 }] })).intact;
  assert.deepEqual(await ask(), []);
  await pass(1_000);
  await lease({ ...own, seen: [knows('a', 19)] });
  assert.deepEqual(await ask(), [], 'the whole reserve must be there');
  await pass(1_000);
  await lease({ ...own, seen: [knows('a', 94)] });
  assert.deepEqual(await ask(), ['a']);
});

test('a store that was flushed gives a share back as well, once the provider was asked', async t => {
  const { lease, pass, flush } = await pool(t);
  const own = { accounts: [account('a')], reserve: 20 };
  await lease({ ...own, away: [{ fp: 'a', spent: 5 }] });
  await flush();
  const ask = async () => (await lease({ ...own, away: [{ fp: 'a', spent: 0 }] })).intact;
  assert.deepEqual(await ask(), []);
  await pass(1_000);
  await lease({ ...own, seen: [knows('a', 94)] });
  assert.deepEqual(await ask(), ['a']);
});

test('a pause ends after a year at most, whatever a tool printed', async t => {
  const { got, release, row, flush } = await pool(t);
  for (const rest of [quota(1e300), { ...quota(0), kind: 'time' as const, at: 1e300 }]) {
    await release(await got({ accounts: [account('b')] }), { rest: { ...rest, class: 'rate' } });
    assert.equal((await row('b')).paused, 366 * 24 * HOUR);
    await flush();
  }
});

test('a store that dropped some keys goes on, and gives nothing away', async t => {
  const { cli, store, got, lease, release, row, pass } = await pool(t);
  const base = `culvert:1:{${cli}}`;
  const own = { accounts: [account('a')] };
  await got({ ...own, seen: [knows('a', 5)] });
  await server.client.del(`${base}:leases`);
  assert.deepEqual(await store.leases(cli), []);
  await pass(90_000);
  const held = await got(own);
  await server.client.del(`${base}:account:a`);
  await release(held, { spent: 1 });
  await got({ ...own, seen: [knows('a', 1)] });
  const reply = await lease(own);
  assert.equal(reply.kind, 'none', `one was left: ${JSON.stringify(await row('a'))}`);
});

test('a clock that is set back does not keep old figures or questions', async t => {
  const { lease, got, row, pass } = await pool(t);
  const own = { askable: true, accounts: [account('a')] };
  await got({ ...own, seen: [knows('a', 50)] });
  assert.equal((await lease({ ...own, accounts: [account('b')] })).kind, 'ask');
  await pass(-HOUR);
  assert.equal((await lease({ ...own, accounts: [account('b')] })).kind, 'ask', 'whoever asked was not so long');
  assert.deepEqual((await got(own)).refresh, ['a']);
  await lease({ ...own, seen: [knows('a', 10)] });
  assert.equal((await row('a')).remaining, 10);
});

test('every key but the schema has an end', async t => {
  const { cli, got, release } = await pool(t);
  await release(await got({ seen: [knows('a', 10)] }), { spent: 1, rest: quota(HOUR) });
  await got({ accounts: [account('b')] });
  for (const key of await server.client.keys(`culvert:1:{${cli}}*`)) {
    assert.ok((await server.client.ttl(key)) > 0, `${key} has a lifetime`);
  }
});

test('a long pause lives on whatever happens to its account', async t => {
  const { cli, got, release, lease } = await pool(t);
  const [a, b] = ['a', 'b'].map(fp => ({ accounts: [account(fp)] }));
  const days = async (key: string) => (await server.client.ttl(`culvert:1:{${cli}}:${key}`)) / 86_400;
  const rest = (ms: number) => release({ fence: '1', fp: 'a' }, { rest: quota(ms) });
  await release(await got(a), { rest: quota(100 * 24 * HOUR) });
  const events = {
    'a shorter pause': () => rest(HOUR),
    'a refused credential': () =>
      release({ fence: '1', fp: 'a' }, { rest: { class: 'auth', kind: 'credential', fallback: HOUR } }),
    'an observation': () => lease({ ...b, seen: [knows('a', 10)] }),
    'no use without the store': () => lease({ ...b, away: [{ fp: 'a', spent: 0 }] }),
    'use without the store': () => lease({ ...b, away: [{ fp: 'a', spent: 1 }] }),
  };
  for (const [event, happen] of Object.entries(events)) {
    await happen();
    assert.ok((await days('account:a')) > 99, event);
  }
  await lease({ ...b, seen: [knows('a', 10, { identity: 'team' })] });
  const [shared] = await server.client.keys(`culvert:1:{${cli}}:budget:*`);
  assert.ok((await server.client.ttl(shared!)) / 86_400 > 99, 'a budget that became shared');
});

test('keys that are used at least once a day live on', async t => {
  const { cli, got, release, pass } = await pool(t);
  const base = `culvert:1:{${cli}}`;
  await release(await got({ seen: [knows('a', 10, { identity: 'team' })] }));
  const keys = [
    `${base}:accounts`,
    `${base}:leases`,
    `${base}:account:a`,
    ...(await server.client.keys(`${base}:budget:*`)),
  ];
  assert.equal(keys.length, 4, 'the shared budget has a separate key');
  for (const key of keys) await server.client.expire(key, 1_000);
  await pass(13 * HOUR);
  await release(await got());
  await pass(13 * HOUR);
  await release(await got());
  for (const key of keys) assert.ok((await server.client.ttl(key)) > 39 * 86_400, key);
});
