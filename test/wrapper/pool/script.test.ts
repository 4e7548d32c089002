// The rules of the pool's script, one by one, on a real store with a clock that the test sets.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type LeaseReply, type LeaseRequest, openStore, type Store } from '../../../wrapper/pool/store/store.ts';
import type { Done } from '../../../wrapper/store/pool-file.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';
import { scriptWithClock, setClock } from '../../support/wrapper/virtual-clock.ts';

const server = await storeServer({ after });
const START = Date.UTC(2026, 10, 22);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
let clock = START;
let clis = 0;

/** A separate pool for each test, with two accounts. */
async function pool(t: { after(end: () => unknown): unknown }) {
  const cli = `tool${clis++}`;
  const store: Store = openStore({ url: server.url, timeoutMs: 10_000, script: scriptWithClock() });
  t.after(() => store.close());
  clock = START;
  await setClock(server.client, clock);
  const request = (more: Partial<LeaseRequest> = {}): LeaseRequest => ({
    owner: 'm1',
    accounts: [account('a'), account('b')],
    want: 1,
    ttl: 90_000,
    strategy: 'in-order',
    pinned: false,
    reserve: 0,
    askable: false,
    stale: MINUTE,
    ...more,
  });
  return {
    cli,
    store,
    pass: async (ms: number) => {
      clock += ms;
      await setClock(server.client, clock);
    },
    lease: (more?: Partial<LeaseRequest>) => store.lease(cli, request(more)),
    got: async (more?: Partial<LeaseRequest>) => granted(await store.lease(cli, request(more))),
    release: (lease: { fence: string; fp: string }, more: Partial<Done> = {}) =>
      store.release(cli, { fence: lease.fence, fp: lease.fp, spent: 0, ...more }),
    row: async (name: string) => (await store.status(cli)).find(row => row.name === name)!,
  };
}

const account = (fp: string) => ({ fp, name: fp });
const knows = (fp: string, remaining: number | null, more: object = {}) => ({
  fp,
  remaining,
  limit: null,
  resets: null,
  age: 0,
  ...more,
});
const quota = (ms: number) => ({ class: 'quota', kind: 'elapsed' as const, ms, fallback: HOUR });

function granted(reply: LeaseReply) {
  assert.equal(reply.kind, 'granted', JSON.stringify(reply));
  return (reply as LeaseReply & { kind: 'granted' }).lease;
}

test('a cooldown is never shortened, and ends automatically', async t => {
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

test('a refused credential rests for good, and another credential of the account does not', async t => {
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

test('a lease that has ended can rest its account and lower its figures, and cannot raise them', async t => {
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
  assert.equal((await row('a')).rest, HOUR);
});

test('a report that is older than the log of what was used can only lower the figures', async t => {
  const { got, lease, row, pass } = await pool(t);
  await got({ seen: [knows('a', 50)] });
  await pass(10 * MINUTE);
  await lease({ seen: [knows('a', 90, { age: 5 * MINUTE })], accounts: [account('b')] });
  assert.equal((await row('a')).remaining, 49);
  await lease({ seen: [knows('a', 20, { age: 4 * MINUTE })], accounts: [account('b')] });
  assert.equal((await row('a')).remaining, 20);
});

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
  const resting = await lease();
  assert.deepEqual(resting.kind === 'none' && resting.accounts.map(({ state }) => state), ['resting', 'resting']);
});

test('the identity is not in the store', async t => {
  const { got } = await pool(t);
  await got({ seen: [knows('a', 10, { identity: 'team-name-of-somebody' })] });
  assert.ok(!(await server.client.keys('*')).join().includes('somebody'));
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

test('an account that the user named comes first, whatever the strategy', async t => {
  const { got, lease } = await pool(t);
  await lease({ accounts: [account('x')], seen: [knows('a', 5), knows('b', 50)] });
  assert.equal((await got({ strategy: 'most-remaining' })).fp, 'b');
  assert.equal((await got({ strategy: 'most-remaining', pinned: true })).fp, 'a');
});

test('one machine asks what nobody knows, while others wait for it and not forever', async t => {
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

test('an account that has nothing left is asked for again, because somebody may have paid for more', async t => {
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

test('a cooldown until the period ends takes the end that the provider named', async t => {
  const { got, release, row } = await pool(t);
  const period = { class: 'quota', kind: 'period' as const, fallback: HOUR };
  await release(await got({ seen: [knows('a', 5, { resets: START + 7 * HOUR })] }), { rest: period });
  assert.equal((await row('a')).rest, 7 * HOUR);
  await release(await got({ accounts: [account('b')] }), { rest: period });
  assert.equal((await row('b')).rest, HOUR);
});

test('fences rise, also after the store was flushed', async t => {
  const { got, pass } = await pool(t);
  const fences = [];
  for (let i = 0; i < 5; i++) fences.push((await got()).fence);
  await server.client.flushall();
  await setClock(server.client, clock + 1);
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

test('a lease that nobody renews ends in its time, whatever the others do, and counts as used', async t => {
  const { cli, store, got, pass, row } = await pool(t);
  const own = { accounts: [account('a')] };
  const out = async () => (await store.leases(cli)).map(({ ttl }) => ttl);
  const first = await got({ ...own, ttl: 90_000, seen: [knows('a', 100)] });
  await got({ ...own, ttl: 30_000, want: 5 });
  await got({ ...own, ttl: 60_000, want: 7 });
  assert.deepEqual(await out(), [30_000, 60_000, 90_000], 'the one that ends first comes first');
  await pass(29_999);
  assert.equal((await out()).length, 3);
  await pass(1);
  assert.deepEqual(await out(), [30_000, 60_000]);
  assert.deepEqual([(await row('a')).remaining, (await row('a')).leases], [95, 2]);
  await pass(29_000);
  assert.equal(await store.renew(cli, first.fence, 90_000), true);
  await pass(1_000);
  assert.deepEqual(await out(), [89_000], 'only the one that was renewed is left');
  assert.equal(await store.renew(cli, first.fence, 10_000), true, 'it can also be made shorter');
  await pass(10_000);
  assert.deepEqual(await out(), []);
  assert.deepEqual([(await row('a')).remaining, (await row('a')).leases], [87, 0]);
  assert.equal(await store.renew(cli, first.fence, 90_000), false);
  await got({ ...own, ttl: 1_000 });
  await pass(1_000);
  assert.deepEqual(await out(), [], 'one that came after all had ended');
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
  const { lease, pass } = await pool(t);
  const own = { accounts: [account('a')], reserve: 20 };
  await lease({ ...own, away: [{ fp: 'a', spent: 5 }] });
  await server.client.flushall();
  await setClock(server.client, clock);
  const ask = async () => (await lease({ ...own, away: [{ fp: 'a', spent: 0 }] })).intact;
  assert.deepEqual(await ask(), []);
  await pass(1_000);
  await lease({ ...own, seen: [knows('a', 94)] });
  assert.deepEqual(await ask(), ['a']);
});

test('a cooldown ends after a year at most, whatever a tool printed', async t => {
  const { got, release, row } = await pool(t);
  for (const rest of [quota(1e300), { ...quota(0), kind: 'time' as const, at: 1e300 }]) {
    await release(await got({ accounts: [account('b')] }), { rest: { ...rest, class: 'rate' } });
    assert.equal((await row('b')).rest, 366 * 24 * HOUR);
    await server.client.flushall();
    await setClock(server.client, clock);
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

test('a long cooldown lives on whatever happens to its account', async t => {
  const { cli, got, release, lease } = await pool(t);
  const [a, b] = ['a', 'b'].map(fp => ({ accounts: [account(fp)] }));
  const days = async (key: string) => (await server.client.ttl(`culvert:1:{${cli}}:${key}`)) / 86_400;
  const rest = (ms: number) => release({ fence: '1', fp: 'a' }, { rest: quota(ms) });
  await release(await got(a), { rest: quota(100 * 24 * HOUR) });
  const events = {
    'a shorter cooldown': () => rest(HOUR),
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
  assert.equal(keys.length, 4, 'what accounts share has a key of its own');
  for (const key of keys) await server.client.expire(key, 1_000);
  await pass(13 * HOUR);
  await release(await got());
  await pass(13 * HOUR);
  await release(await got());
  for (const key of keys) assert.ok((await server.client.ttl(key)) > 39 * 86_400, key);
});
