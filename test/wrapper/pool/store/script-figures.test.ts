// The script's rules for pauses, figures and questions, with a clock that the test sets.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { account, HOUR, knows, MINUTE, quota, START, scriptPools } from '../../../support/wrapper/pool/script-pools.ts';

const { server, pool } = await scriptPools({ after });

test('a pause is never shortened, and ends automatically', async t => {
  const { got, release, pass, lease } = await pool(t);
  await release(await got(), { rest: quota(HOUR) });
  const again = await got({ accounts: [account('b')] });
  await release(again);
  for (const ms of [1, MINUTE]) {
    const done = [{ fence: '1', fp: 'a', spent: 0, rest: quota(ms) }];
    const reply = await lease({ accounts: [account('a')], done });
    assert.deepEqual([reply.kind, reply.kind === 'none' && reply.ms], ['none', HOUR]);
  }
  await pass(HOUR - 1);
  assert.equal((await lease({ accounts: [account('a')] })).kind, 'none');
  await pass(1);
  assert.equal((await got()).fp, 'a');
});

test('a refused credential is paused for good, and another credential of the account does not', async t => {
  const { got, release, pass, lease } = await pool(t);
  await release(await got(), { rest: { class: 'auth', kind: 'credential', fallback: HOUR } });
  await pass(39 * 24 * HOUR);
  const reply = await lease({ accounts: [account('a')] });
  assert.equal(reply.kind === 'none' && reply.accounts[0]!.state, 'refused');
  assert.equal((await got({ accounts: [{ fp: 'a2', name: 'a' }] })).fp, 'a2');
  assert.equal((await lease({ accounts: [account('a')] })).kind, 'none', 'the old one stays refused');
});

test('the newest observation wins, whatever the order in which they arrive', async t => {
  const { lease, row, got, release } = await pool(t);
  await release(await got({ seen: [knows('a', 50, { age: 1_000 })] }));
  await lease({ seen: [knows('a', 70, { age: 5_000 })], accounts: [account('b')] });
  assert.equal((await row('a')).remaining, 50, 'an older one is left out');
  await lease({ seen: [knows('a', 40, { age: 500 })], accounts: [account('b')] });
  assert.equal((await row('a')).remaining, 40);
});

test('use after an observation is subtracted from it', async t => {
  const { got, release, row, pass } = await pool(t);
  const first = await got({ seen: [knows('a', 50)] });
  await pass(1_000);
  await release(first, { spent: 5 });
  assert.equal((await row('a')).remaining, 45);
  // asked before the release, and on its way for two seconds
  await pass(500);
  await got({ seen: [knows('a', 48, { age: 1_400 })] });
  assert.equal((await row('a')).remaining, 43);
  await pass(500);
  await got({ seen: [knows('a', 43, { age: 100 })] });
  assert.equal((await row('a')).remaining, 43, 'one that was made after it has it');
});

test('an observation that comes with the end of a command contains what the command used', async t => {
  const { got, release, row, pass } = await pool(t);
  const lease = await got({ seen: [knows('a', 50)] });
  await pass(1_000);
  await release(lease, { spent: 5, seen: [knows('a', 44, { limit: 100, age: 10 })] });
  assert.equal((await row('a')).remaining, 44);
});

test('a lease that has ended can pause its account and lower its figures, and cannot raise them', async t => {
  const { got, release, row, pass, lease } = await pool(t);
  const lost = await got({ seen: [knows('a', 50)], want: 5 });
  await pass(90_000);
  await lease({ accounts: [account('b')] });
  assert.deepEqual([(await row('a')).remaining, (await row('a')).leases], [45, 0], 'it counts as used');
  await pass(1_000);
  assert.equal(await release(lost, { spent: 5, seen: [knows('a', 49)] }), false);
  assert.equal((await row('a')).remaining, 45, 'not higher, and not counted twice');
  await release(lost, { seen: [knows('a', 30)] });
  assert.equal((await row('a')).remaining, 30);
  await release(lost, { rest: quota(HOUR) });
  assert.equal((await row('a')).paused, HOUR);
});

test('a report that is older than the log of uses can only lower the figures', async t => {
  const { got, lease, row, pass } = await pool(t);
  await got({ seen: [knows('a', 50)] });
  await pass(10 * MINUTE);
  await lease({ seen: [knows('a', 90, { age: 5 * MINUTE })], accounts: [account('b')] });
  assert.equal((await row('a')).remaining, 49);
  await lease({ seen: [knows('a', 20, { age: 4 * MINUTE })], accounts: [account('b')] });
  assert.equal((await row('a')).remaining, 20);
});

test('accounts with the same identity share one budget, also leases that were out before this was known', async t => {
  const { got, lease, release, store, cli } = await pool(t);
  const early = await got({ want: 3 });
  const seen = [knows('a', 10, { identity: 'team' }), knows('b', 10, { identity: 'team' })];
  await got({ accounts: [account('b')], want: 4, seen });
  const rows = await store.status(cli);
  assert.equal(new Set(rows.map(row => row.budget)).size, 1);
  assert.deepEqual(
    rows.map(row => row.reserved),
    [7, 7],
  );
  const reply = await lease({ want: 4 });
  assert.equal(reply.kind, 'none', 'three are left of ten');
  await release(early, { rest: quota(HOUR) });
  const paused = await lease();
  assert.deepEqual(paused.kind === 'none' && paused.accounts.map(({ state }) => state), ['paused', 'paused']);
});

test('the identity is not in the store', async t => {
  const { got } = await pool(t);
  await got({ seen: [knows('a', 10, { identity: 'team-name-of-somebody' })] });
  assert.ok(!(await server.client.keys('*')).join().includes('somebody'));
});

test('one machine asks what none of them knows, while others wait for it and not forever', async t => {
  const { lease, got, pass } = await pool(t);
  const askable = { askable: true, accounts: [account('a')] };
  const asked = await lease(askable);
  assert.deepEqual(asked.kind === 'ask' && asked.ask, ['a']);
  const other = await lease(askable);
  assert.deepEqual(other.kind === 'none' && [other.accounts[0]!.state, other.soon], ['asking', true]);
  await pass(10_000);
  assert.equal((await lease(askable)).kind, 'ask', 'whoever asked first has not come back');
  const lease1 = await got({ ...askable, seen: [knows('a', 10)] });
  assert.equal(lease1.refresh, undefined);
  await pass(MINUTE);
  const flags = [(await got(askable)).refresh, (await got(askable)).refresh];
  assert.deepEqual(flags, [['a'], undefined], 'old figures are asked for by one command, after it has ended');
});

test('an account that has nothing left is asked for again, because its owner may have paid for more', async t => {
  const { lease, got, pass, release, row } = await pool(t);
  const askable = { askable: true };
  await lease({ ...askable, seen: [knows('a', 0), knows('b', 0)] });
  const refused = await lease(askable);
  assert.deepEqual(refused.kind === 'none' && refused.accounts.map(each => [each.state, each.remaining]), [
    ['spent', 0],
    ['spent', 0],
  ]);
  await pass(MINUTE);
  const asked = await lease(askable);
  assert.deepEqual(asked.kind === 'ask' && asked.ask, ['a', 'b']);
  assert.equal((await lease(askable)).kind, 'none', 'by one machine');
  const lease1 = await got({ ...askable, seen: [knows('a', 0), knows('b', 30)] });
  assert.deepEqual([lease1.fp, lease1.refresh], ['b', undefined]);
  await pass(MINUTE);
  const lease2 = await got(askable);
  assert.deepEqual(lease2.refresh, ['a', 'b'], 'after the command where another account serves it');
  await release(lease2, { spent: 1, seen: [knows('a', 50), knows('b', 29)] });
  assert.equal((await row('b')).remaining, 29);
  assert.equal((await got(askable)).fp, 'a');
  assert.equal((await row('a')).remaining, 50);
});

test('a reserve that is all that is left is asked for again as well', async t => {
  const { lease, got, pass } = await pool(t);
  const own = { askable: true, accounts: [account('a')], reserve: 20 };
  assert.equal((await lease({ ...own, seen: [knows('a', 20)] })).kind, 'none');
  await pass(MINUTE);
  assert.equal((await lease(own)).kind, 'ask');
  await got({ ...own, seen: [knows('a', 21)] });
});

test('accounts that are one quota are asked for once', async t => {
  const { lease, pass } = await pool(t);
  await lease({ askable: true, seen: [knows('a', 0, { identity: 'team' }), knows('b', 0, { identity: 'team' })] });
  await pass(MINUTE);
  const asked = await lease({ askable: true });
  assert.deepEqual(asked.kind === 'ask' && asked.ask, ['a']);
});

test('use while the remaining quota is unknown is subtracted from an answer on its way', async t => {
  const { lease, got, pass, release, row } = await pool(t);
  const askable = { askable: true, accounts: [account('a')] };
  await lease(askable);
  const first = await got({ ...askable, seen: [knows('a', null)] });
  await pass(5_000);
  await release(first, { spent: 3 });
  await pass(1_000);
  await got({ ...askable, seen: [knows('a', 10, { age: 2_000 })] });
  assert.equal((await row('a')).remaining, 7);
});

test('a provider that gives no answer is not asked before each command', async t => {
  const { lease, got } = await pool(t);
  const askable = { askable: true, accounts: [account('a')] };
  assert.equal((await lease(askable)).kind, 'ask');
  await got({ ...askable, seen: [knows('a', null)] });
  await got(askable);
});

test('a new period brings back the limit, or makes the figures unknown', async t => {
  const { lease, pass, row, got } = await pool(t);
  const resets = START + HOUR;
  await got({ seen: [knows('a', 1, { limit: 100, resets }), knows('b', 1, { resets })] });
  await got({ accounts: [account('b')] });
  assert.equal((await lease()).kind, 'none');
  await pass(HOUR);
  assert.deepEqual([(await row('a')).remaining, (await row('b')).remaining], [100, undefined]);
});

test('a pause until the period ends takes the end that the provider named', async t => {
  const { got, release, row } = await pool(t);
  const period = { class: 'quota', kind: 'period' as const, fallback: HOUR };
  await release(await got({ seen: [knows('a', 5, { resets: START + 7 * HOUR })] }), { rest: period });
  assert.equal((await row('a')).paused, 7 * HOUR);
  await release(await got({ accounts: [account('b')] }), { rest: period });
  assert.equal((await row('b')).paused, HOUR);
});
