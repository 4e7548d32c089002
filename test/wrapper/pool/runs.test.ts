// Wrapped commands of several machines that share accounts through a real store.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetrics, valueIn } from '../../support/metrics/openmetrics.ts';
import { until } from '../../support/until.ts';
import { countingApi } from '../../support/wrapper/counting-api.ts';
import { poolBox } from '../../support/wrapper/pool/pool-box.ts';
import { auditOf, buildWrapper, finished, type Sandbox } from '../../support/wrapper/sandbox.ts';
import { endsOfLeases, type StoreServer, storeServer } from '../../support/wrapper/store-server.ts';

interface AccountRow {
  name: string;
  remaining?: number;
  reserved: number;
  leases: number;
  paused?: number;
}

async function accountsOf(box: Sandbox): Promise<Record<string, AccountRow>> {
  const status = await box.wrap(['pool', 'status', '--json']);
  const { pool } = JSON.parse(status.stdout) as { pool: { clis: { accounts: AccountRow[] }[] } };
  return Object.fromEntries((pool.clis[0]?.accounts ?? []).map(row => [row.name, row]));
}

/** Without a process, so that waiting does not become the machine's main work. */
const leasesIn = async (server: StoreServer) => (await endsOfLeases(server)).length;

test('a machine knows what another one has used, and the limit that it met', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 2, kb: 10 });
  const first = poolBox(t, { url: server.url, api });
  const second = poolBox(t, { url: server.url, api });
  assert.equal((await first.tool()).stdout, 'used ka\n');
  assert.equal((await second.tool()).stdout, 'used ka\n');
  // the provider was asked once for each account, by the first machine
  assert.deepEqual(
    [...api.questions],
    [
      ['ka', 1],
      ['kb', 1],
    ],
  );
  const third = await second.tool();
  assert.deepEqual([third.stdout, third.stderr], ['used kb\n', '']);
  assert.equal(api.refused.size, 0, 'nobody tries an account that has nothing left');
  const { a, b } = await accountsOf(first);
  assert.deepEqual([a?.remaining, a?.reserved, a?.leases], [0, 0, 0]);
  assert.deepEqual([b?.remaining, b?.reserved, b?.leases], [9, 0, 0]);
});

test('a limit that one machine meets pauses the account for all, and another account takes over', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 0, kb: 10 });
  const first = poolBox(t, { url: server.url, api }, { usage: false });
  const second = poolBox(t, { url: server.url, api }, { usage: false });
  const met = await first.tool();
  assert.equal(met.stdout, 'used kb\n');
  assert.match(met.stderr, /account "a" has no quota left .*; trying "b"/);
  assert.deepEqual([...api.refused], [['ka', 1]]);
  const spared = await second.tool();
  assert.deepEqual([spared.stdout, spared.stderr], ['used kb\n', '']);
  assert.deepEqual([...api.refused], [['ka', 1]]);
  assert.ok((await accountsOf(second)).a!.paused! > 3_000_000);

  const reset = await second.wrap(['pool', 'reset', 'a']);
  assert.equal(reset.stdout, 'reset "a" of tool for all machines\n');
  assert.equal((await accountsOf(first)).a!.paused, undefined);
});

test('an account that is named is leased, or nothing runs', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 0, kb: 10 });
  const box = poolBox(t, { url: server.url, api }, { usage: false });
  const named = (name: string) => box.shim('tool', ['work'], { env: { CULVERT_WRAP_ACCOUNT: name } });
  const met = await named('a');
  assert.equal(met.stdout, 'used kb\n', 'the limit of an account that ran');
  const paused = await named('a');
  assert.deepEqual([paused.exit, paused.stdout], [69, '']);
  assert.match(paused.stderr, /the account "a", which is named, can't be used \(.*"a"/);
  assert.equal((await named('b')).stdout, 'used kb\n');
  const file = join(box.config, 'keys.env');
  writeFileSync(file, readFileSync(file, 'utf8').replace('tool_b=kb', 'tool_b='));
  const unreadable = await named('b');
  assert.deepEqual([unreadable.exit, unreadable.stdout], [69, '']);
  assert.match(
    unreadable.stderr,
    /the account "b", which is named, can't be used \(b: FAKE_KEY from file:.*: it is empty\)/,
  );
});

test('a new credential has no pause, while machines with the old one still leave it alone', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 0, fresh: 5, kb: 10 });
  const old = poolBox(t, { url: server.url, api }, { usage: false });
  const changed = poolBox(t, { url: server.url, api }, { usage: false });
  await old.tool();
  const file = join(changed.config, 'keys.env');
  writeFileSync(file, readFileSync(file, 'utf8').replace('tool_a=ka', 'tool_a=fresh'));
  assert.equal((await changed.tool()).stdout, 'used fresh\n');
  assert.equal((await old.tool()).stdout, 'used kb\n');
  assert.deepEqual([...api.refused], [['ka', 1]]);
});

test('bought credits are found by a command of another account, and by a command that no account would serve', async t => {
  const server = await storeServer(t);
  const limits = { ka: 0, kb: 1 };
  const api = await countingApi(t, limits);
  const box = poolBox(t, { url: server.url, api }, { cache: '1ms' });
  assert.equal((await box.tool()).stdout, 'used kb\n');
  assert.equal((await box.tool()).exit, 69);
  limits.ka = 1;
  assert.equal((await box.tool()).stdout, 'used ka\n');
  assert.equal((await box.tool()).exit, 69);
  limits.kb = 3;
  assert.equal((await box.tool()).stdout, 'used kb\n');
  limits.ka = 2;
  assert.equal((await box.tool()).stdout, 'used kb\n', 'the figures of the first account come after the command');
  assert.equal((await box.tool()).stdout, 'used ka\n');
  assert.equal(api.refused.size, 0);
});

test('a state that cannot be stored stops no command, and the pool still learns the figures', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 2, kb: 10 });
  const box = poolBox(t, { url: server.url, api }, { cache: '1ms' });
  mkdirSync(box.state, { recursive: true, mode: 0o700 });
  writeFileSync(join(box.state, 'accounts'), 'not a directory');
  for (const key of ['ka', 'ka', 'kb', 'kb']) {
    const run = await box.tool();
    assert.deepEqual([run.exit, run.stdout], [0, `used ${key}\n`], run.stderr);
  }
  const { a, b } = await accountsOf(box);
  assert.deepEqual([a?.remaining, a?.leases, b?.remaining, b?.leases], [0, 0, 8, 0]);
});

test('nothing left is refused with the reason, and no request is wasted', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 1, kb: 0 });
  const box = poolBox(t, { url: server.url, api });
  assert.equal((await box.tool()).stdout, 'used ka\n');
  const refused = await box.tool();
  assert.equal(refused.exit, 69);
  assert.match(refused.stderr, /no account can be used \("a" has nothing left, "b" has nothing left\)/);
  assert.equal(api.refused.size, 0);
});

test('a command waits for an account that others use, as long as the user allows, and has what its credential is then', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 10, fresh: 10 });
  const options = { keys: { a: 'ka' }, capacity: 'max_leases = 1\nwait = "60s"' };
  const holder = poolBox(
    t,
    { url: server.url, api },
    { ...options, before: 'while [ ! -e "$GATE" ]; do sleep 0.05; done' },
  );
  const waiters = [0, 1].map(() => poolBox(t, { url: server.url, api }, options));
  const gate = join(holder.home, 'gate');
  const held = holder.tool({ GATE: gate });
  await until(async () => (await leasesIn(server)) === 1);
  const waited = waiters.map(waiter => waiter.tool());
  for (const { state } of waiters) {
    const file = join(state, 'pool.json');
    await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('"waits":1'));
  }
  assert.equal(api.used.size, 0);
  const keys = join(waiters[1]!.config, 'keys.env');
  writeFileSync(keys, readFileSync(keys, 'utf8').replace('tool_a=ka', 'tool_a=fresh'));
  writeFileSync(gate, '');
  assert.equal((await held).exit, 0);
  const printed = (await Promise.all(waited)).map(({ stdout }) => stdout);
  assert.deepEqual(printed, ['used ka\n', 'used fresh\n']);
});

const metric = async (box: Sandbox, name: string, labels: Record<string, string> = {}) => {
  const { stdout } = await box.wrap(['metrics']);
  return valueIn(readMetrics(stdout, 'prometheus'), `culvert_wrap_${name}`, labels);
};

test('a machine knows from the pool which accounts are paused or used up, also for commands that ask no provider', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 1, kb: 0 });
  const first = poolBox(t, { url: server.url, api }, { usage: false });
  const second = poolBox(t, { url: server.url, api }, { usage: false });
  const usable = (name: string) => metric(second, 'account_usable', { cli: 'tool', account: name });
  for (const exit of [0, 1]) assert.equal((await first.tool()).exit, exit);
  assert.deepEqual([await usable('a'), await usable('b')], [1, 1], 'it has not asked the pool so far');
  assert.equal((await second.tool()).exit, 69);
  assert.deepEqual([await usable('a'), await usable('b')], [0, 0]);
  assert.equal(await metric(second, 'runs_total', { cli: 'tool', outcome: 'refused' }), 1);
  assert.deepEqual(
    auditOf(second).map(({ account, outcome, degraded }) => [account, outcome, degraded]),
    [[null, 'refused', undefined]],
  );
  await second.wrap(['pool', 'reset', 'b']);
  assert.deepEqual([await usable('a'), await usable('b')], [0, 1]);
  assert.equal((await second.tool()).exit, 1, 'what this machine has learned does not keep the pool from trying');
});

test('a machine knows from the pool that nothing is left, until the pool leases it again', async t => {
  const server = await storeServer(t);
  const limits = { ka: 1 };
  const api = await countingApi(t, limits);
  const options = { keys: { a: 'ka' } };
  const first = poolBox(t, { url: server.url, api }, options);
  const second = poolBox(t, { url: server.url, api }, options);
  const left = () => metric(second, 'account_remaining', { cli: 'tool', account: 'a' });
  assert.equal((await first.tool()).exit, 0);
  assert.equal((await second.tool()).exit, 69);
  assert.equal(await left(), 0);
  limits.ka = 5;
  await first.wrap(['pool', 'reset', 'a']);
  for (const box of [first, second]) assert.equal((await box.tool()).exit, 0);
  assert.equal(await left(), undefined);
  assert.equal(await metric(second, 'account_usable', { cli: 'tool', account: 'a' }), 1);
});

test('an account that has only its reserve left is not usable', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 20 });
  const box = poolBox(t, { url: server.url, api }, { keys: { a: 'ka' }, capacity: 'reserve = 20\nmin_usable = 1' });
  assert.equal((await box.tool()).exit, 69);
  assert.equal(await metric(box, 'account_remaining', { cli: 'tool', account: 'a' }), 20);
  assert.equal(await metric(box, 'account_usable', { cli: 'tool', account: 'a' }), 0);
  const status = await box.wrap(['status', '--check']);
  assert.deepEqual([status.exit, /0 of 1 accounts can be used/.test(status.stdout)], [3, true]);
});

test('a store that is away is named, and the command refused', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 10, kb: 10 });
  const box = poolBox(t, { url: server.url, api });
  await server.kill();
  const refused = await box.tool();
  assert.equal(refused.exit, 69);
  assert.ok(
    refused.stderr.includes(`the pool at ${server.url} can't be reached: there is no such socket`),
    refused.stderr,
  );
  assert.equal(api.used.size, 0);
  const status = await box.wrap(['pool', 'status']);
  assert.equal(status.exit, 69);
  assert.deepEqual(
    auditOf(box).map(({ outcome, why, degraded }) => [outcome, why, degraded]),
    [['refused', 'pool-unreachable', true]],
  );
  assert.deepEqual([await metric(box, 'pool_degraded'), await metric(box, 'pool_degraded_runs_total')], [1, 0]);
  assert.match((await box.wrap(['status'])).stdout, /^pool: degraded since/m);
  const doctor = await box.wrap(['doctor']);
  assert.deepEqual([doctor.exit, /PROBLEM the pool at .* can't be reached/.test(doctor.stdout)], [1, true]);
  assert.match(status.stdout, /can't be reached: there is no such socket/);
  await server.start();
  assert.equal((await box.tool()).stdout, 'used ka\n', 'it is tried again with each command');
  assert.equal(await metric(box, 'pool_degraded'), 0);
});

test('without its store a machine may use its share of the reserve, and no more', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 100, kb: 100 });
  const box = poolBox(
    t,
    { url: server.url, api },
    { pool: 'offline = "local"\nmachines = 10\naccounts = { tool = ["b"] }', capacity: 'reserve = 20' },
  );
  assert.equal((await box.tool()).stdout, 'used ka\n');
  await server.kill();
  for (const left of [1, 0]) {
    const degraded = await box.tool();
    assert.equal(degraded.stdout, 'used kb\n', `with ${left} left of the share`);
    assert.match(degraded.stderr, /can't be reached: .*; using this machine's share of the reserve/);
  }
  const over = await box.tool();
  assert.equal(over.exit, 69);
  assert.match(over.stderr, /this machine's share of the reserve, 2, is used up until the store is back/);
  assert.deepEqual(
    auditOf(box).map(({ account, degraded }) => [account, degraded ?? false]),
    [
      ['a', false],
      ['b', true],
      ['b', true],
      [null, true],
    ],
  );
  assert.match((await box.wrap(['audit'])).stdout, /b +ok, degraded[\s\S]*refused \(nothing-left\), degraded/);
  assert.match((await box.wrap(['status'])).stdout, /^pool: degraded since \d{4}-/m);
  assert.match((await box.wrap(['explain', 'tool', 'go'])).stdout, / {2}pool +valkey\+unix:.* chooses among these/);
  const away = await box.json('pool', 'status');
  assert.equal(away.pool.reachable, false);
  assert.equal(away.pool.degradedRuns, 3);
  assert.ok(away.pool.degradedSince > 0);

  await server.start();
  assert.equal((await box.tool()).stdout, 'used ka\n');
  const back = await box.json('pool', 'status');
  assert.deepEqual([back.pool.reachable, back.pool.degradedSince, back.pool.degradedRuns], [true, null, 3]);
});

test('a killed wrapper loses its lease after its time, and what it may have used counts as used', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 10 });
  const box = poolBox(
    t,
    { url: server.url, api },
    { keys: { a: 'ka' }, pool: 'ttl = "1s"', before: 'echo $$ > "$PID"; exec sleep 600' },
  );
  const pid = join(box.home, 'pid');
  const child = box.start('tool', ['go'], { env: { PID: pid } });
  child.stdin?.end();
  await until(async () => (await leasesIn(server)) === 1);
  const end = async () => (await endsOfLeases(server))[0]!;
  const first = await end();
  await until(async () => (await end()) > first + 1_000, 'renewals beyond the time that the lease has by itself');
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  await until(async () => (await accountsOf(box)).a?.leases === 0, undefined, { pollMs: 200 });
  const { a } = await accountsOf(box);
  assert.deepEqual([a?.remaining, a?.reserved], [9, 0]);
  await until(() => existsSync(pid));
  process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL');
});

test('the figures that a command learned without the store are reported with the next command', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 0 });
  const options = { keys: { a: 'ka' }, usage: false };
  const gated = { ...options, before: 'while [ ! -e "$GATE" ]; do sleep 0.05; done' };
  const [first, second] = [poolBox(t, { url: server.url, api }, gated), poolBox(t, { url: server.url, api }, options)];
  const GATE = join(first.home, 'gate');
  const running = first.tool({ GATE });
  await until(async () => (await leasesIn(server)) === 1);
  await server.kill();
  writeFileSync(GATE, '');
  const failed = await running;
  assert.equal(failed.exit, 1, 'the command ends as its upstream does');
  assert.match(failed.stderr, /the pool will get the report later: there is no such socket/);
  const unsent = async () => (await first.json('pool', 'status')).pool.unsent;
  assert.equal(await unsent(), 1);
  await server.start();
  for (const box of [first, second]) {
    const refused = await box.tool({ GATE });
    assert.equal(refused.exit, 69);
    assert.match(refused.stderr, /"a" is paused for (59|60) min/);
  }
  assert.equal(await unsent(), 0);
  assert.deepEqual([...api.refused], [['ka', 1]]);
});

test('`pool leases` shows which machine uses which account', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 10, kb: 10 });
  const box = poolBox(t, { url: server.url, api }, { before: 'while [ ! -e "$GATE" ]; do sleep 0.05; done' });
  await box.wrap(['pool', 'join', server.url, '--machine', 'runner-7']);
  const gate = join(box.home, 'gate');
  const child = box.start('tool', ['go'], { env: { GATE: gate } });
  child.stdin?.end();
  const done = finished(child);
  await until(async () => (await leasesIn(server)) === 1);
  const { leases } = await box.json('pool', 'leases');
  assert.deepEqual([leases[0].cli, leases[0].name, leases[0].owner, leases[0].want], ['tool', 'a', 'runner-7', 1]);
  assert.match((await box.wrap(['pool', 'leases'])).stdout, /tool +a +runner-7 +1 /);
  writeFileSync(gate, '');
  assert.equal((await done).exit, 0);
  assert.equal((await box.wrap(['pool', 'leases'])).stdout, 'no account is leased\n');
});

test('a share that cannot be stored is not used', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 100 });
  const box = poolBox(
    t,
    { url: server.url, api },
    {
      keys: { a: 'ka' },
      pool: 'offline = "local"\nmachines = 2\naccounts = { tool = ["a"] }',
      capacity: 'reserve = 20',
    },
  );
  await server.kill();
  mkdirSync(join(box.state, 'pool.json'), { recursive: true });
  const refused = await box.tool();
  assert.equal(refused.exit, 69, refused.stderr);
  assert.match(refused.stderr, /what this machine uses of the reserve can't be stored: /);
  assert.equal(api.used.size, 0);
});

test('a damaged report in pool.json is left out and stops no command', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 100 });
  const box = poolBox(t, { url: server.url, api }, { keys: { a: 'ka' } });
  const done = { fence: '1', fp: 'x', spent: 0 };
  const rest = { class: 'quota', kind: 'elapsed', ms: 1, fallback: 1 };
  const damaged = [
    { ...done, rest: 'x' },
    { ...done, rest: { ...rest, ms: 'x' } },
    { ...done, rest: { ...rest, kind: 'x' } },
    { ...done, spent: 'many' },
    { ...done, spent: null },
    { ...done, seen: 5 },
    { ...done, seen: [{ fp: 'x' }] },
    { ...done, fence: 1 },
    { ...done, fp: null },
  ].map(each => ({ cli: 'tool', at: 1, done: each }));
  const file = join(box.state, 'pool.json');
  writeFileSync(
    file,
    `{"unsent":${JSON.stringify(damaged)},"away":{"tool":{"x":{"fp":"x","spent":1e999,"reported":0}}}}`,
  );
  assert.equal((await box.tool()).stdout, 'used ka\n');
  writeFileSync(
    file,
    JSON.stringify({ unsent: [{ cli: 'tool', at: 1, done: { ...done, rest: { ...rest, ms: 1e300 } } }] }),
  );
  assert.equal((await box.tool()).stdout, 'used ka\n');
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).unsent.length, 0, 'what is sent is not sent again');
});

test('a state that cannot be written stops no command', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { ka: 5 });
  const box = poolBox(t, { url: server.url, api }, { keys: { a: 'ka' } });
  mkdirSync(join(box.state, 'pool.json'), { recursive: true });
  assert.deepEqual([(await box.tool()).stdout, (await box.tool()).stdout], ['used ka\n', 'used ka\n']);
  await server.kill();
  assert.equal((await box.tool()).exit, 69);
});

test('the store holds no credential', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, { 'top-secret-key-1': 0, 'top-secret-key-2': 10 });
  const box = poolBox(t, { url: server.url, api }, { keys: { a: 'top-secret-key-1', b: 'top-secret-key-2' } });
  await box.tool();
  const all: string[] = [];
  for (const key of await server.client.keys('*')) all.push(key, (await server.client.dump(key))?.toString() ?? '');
  assert.ok(all.length > 10);
  assert.ok(!all.join('\n').includes('secret'));
});

test('a command without a pool loads nothing of the pool', () => {
  const directory = join(buildWrapper(), '..');
  const programs = readdirSync(directory).filter(file => file.startsWith('program-'));
  const texts = programs.map(file => readFileSync(join(directory, file), 'utf8'));
  assert.deepEqual(
    texts.map(text => /evalsha|retryStrategy|pool-unreachable/i.test(text)),
    [false],
  );
});
