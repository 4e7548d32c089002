// Jobs behind a gateway: their account on other machines of a pool, and those that want more than an account has.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { startGateway } from '../../../wrapper/gateway/gateway.ts';
import { Ledger } from '../../../wrapper/gateway/ledger.ts';
import { takeLock } from '../../../wrapper/system/files.ts';
import { until } from '../../support/until.ts';
import {
  contextOf,
  homeFor,
  json,
  openGateway,
  openShipped,
  type Respond,
  shippedHome,
  startProvider,
} from '../../support/wrapper/gateway.ts';
import type { Sandbox } from '../../support/wrapper/sandbox.ts';
import { auditOf } from '../../support/wrapper/sandbox.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';

const AB = { a: 'real-a', b: 'real-b' };

const configure = (box: Sandbox, text: string) => box.configure(text);

test('another machine of the pool asks for a job with the account that created it', async t => {
  const store = await storeServer(t);
  const { calls, port } = await startProvider(t, (_key, _req, res) => json(res, 200, { id: 'job-12345678' }));
  const machine = async (name: string, keys: Record<string, string>) => {
    const box = homeFor(t, port, keys);
    configure(box, `[pool]\nurl = "${store.url}"\nmachine = "${name}"\n`);
    return await openGateway(t, box);
  };
  const [one, other] = [await machine('one', AB), await machine('other', { b: 'real-b', a: 'real-a' })];
  assert.equal((await one.ask('/crawl', { method: 'POST', body: '{}' })).status, 200);
  for (const where of ['/crawl/job-12345678', '/crawl/job-other-1']) assert.equal((await other.ask(where)).status, 200);
  assert.deepEqual(calls, ['real-a POST /crawl', 'real-a GET /crawl/job-12345678', 'real-b GET /crawl/job-other-1']);
  await store.kill();
  assert.equal((await one.ask('/crawl/job-12345678')).status, 500);
});

test('another machine of the pool repeats a request, and uses a page, with the account of the first time', async t => {
  const store = await storeServer(t);
  const { calls, port } = await startProvider(t, (_key, req, res) =>
    json(res, 200, req.url === '/usage' ? {} : { data: { metadata: { scrapeId: 'page-12345678' } } }),
  );
  const machine = async (name: string, keys: Record<string, string>) => {
    const { box } = shippedHome(t, 'firecrawl', keys, port);
    configure(box, `[pool]\nurl = "${store.url}"\nmachine = "${name}"\n`);
    const gateway = await startGateway('firecrawl', contextOf(box), { placeholder: 'fc-1' });
    t.after(() => gateway.close());
    const headers = { authorization: 'Bearer fc-1', 'x-idempotency-key': 'k' };
    return async (where: string, more = headers) => {
      calls.length = 0;
      assert.equal((await fetch(`${gateway.url}${where}`, { method: 'POST', headers: more })).status, 200);
      return calls.find(call => !call.endsWith(' GET /usage'))?.split(' ')[0];
    };
  };
  const [one, other] = [await machine('one', AB), await machine('other', { b: 'real-b', a: 'real-a' })];
  assert.equal(await one('/v2/scrape'), 'real-a');
  const withoutKey = { authorization: 'Bearer fc-1', 'x-idempotency-key': '' };
  assert.equal(await other('/v2/scrape/page-12345678/interact', withoutKey), 'real-a');
  assert.equal(await other('/v2/scrape', withoutKey), 'real-b');
  assert.equal(await other('/v2/scrape'), 'real-a');
});

interface Settings {
  capacity?: string;
  /** Address of the pool's store. */
  pool?: string | undefined;
}

/** A provider with figures, which does less than a job wants when an account has too little. */
async function setUp(t: TestContext, left: Record<string, number>, { capacity, pool }: Settings = {}) {
  const respond: Respond = (key, req, res) =>
    json(res, 200, req.url === '/usage' ? { remaining: left[key], limit: 1_000 } : { id: 'job-12345678' });
  const { calls, port } = await startProvider(t, respond);
  const usage = `[providers.fake.usage]
url = "http://127.0.0.1:${port}/usage"
remaining = "remaining"
limit = "limit"`;
  const box = homeFor(t, port, AB, usage);
  if (capacity) configure(box, `[capacity.fake]\n${capacity}\n`);
  if (pool) configure(box, `[pool]\nurl = "${pool}"\nmachine = "one"\n`);
  const { ask, gateway } = await openGateway(t, box);
  const crawl = (limit: number) => ask('/crawl', { method: 'POST', body: JSON.stringify({ limit }) });
  const made = () => calls.filter(call => call.includes('POST'));
  return { crawl, made, gateway, box };
}

for (const shared of [false, true]) {
  const by = shared ? ', with a pool' : '';

  test(`a job goes to an account that has enough, and a job that is too large says so${by}`, async t => {
    const pool = shared ? (await storeServer(t)).url : undefined;
    const { crawl, made, gateway, box } = await setUp(t, { 'real-a': 100, 'real-b': 700 }, { pool });
    assert.equal((await crawl(400)).headers.get('x-culvert-lowered'), null);
    const lowered = await crawl(900);
    assert.deepEqual([lowered.status, lowered.headers.get('x-culvert-lowered')], [200, 'wanted=900, left=300']);
    assert.deepEqual(made(), ['real-b POST /crawl', 'real-b POST /crawl']);
    await gateway.close();
    assert.deepEqual(
      auditOf(box).map(({ account, outcome, class: kind }) => [account, outcome, kind]),
      [
        ['b', 'ok', undefined],
        ['b', 'ok', 'lowered'],
      ],
    );
  });

  test(`with a reserve, a job that is too large does not start${by}`, async t => {
    const pool = shared ? (await storeServer(t)).url : undefined;
    const settings = { pool, capacity: 'reserve = 50' };
    const { crawl, made, gateway, box } = await setUp(t, { 'real-a': 100, 'real-b': 500 }, settings);
    const answer = await crawl(480);
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [402, 'false']);
    assert.match(await answer.text(), /wanted=480, left=450/);
    assert.deepEqual(made(), []);
    assert.equal((await crawl(450)).status, 200);
    await gateway.close();
    const [{ requests, refused }] = (await box.json('serve', 'status')).gateways[0].consumers;
    assert.deepEqual([requests, refused], [1, 1]);
  });
}

test('simultaneous jobs of a pool do not count on the same units', async t => {
  const { url } = await storeServer(t);
  const { crawl, made } = await setUp(t, { 'real-a': 500, 'real-b': 500 }, { pool: url });
  const answers = await Promise.all([crawl(400), crawl(400)]);
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('x-culvert-lowered')]),
    [
      [200, null],
      [200, null],
    ],
  );
  assert.deepEqual(made().sort(), ['real-a POST /crawl', 'real-b POST /crawl']);
});

test('requests that ask for the figures together get the same', async t => {
  const box = homeFor(t, (await startProvider(t, () => {})).port, AB);
  const context = contextOf(box);
  const lazy = await context.load();
  let asked = 0;
  const refreshUsage: typeof lazy.refreshUsage = async (_plan, state) => {
    asked += 1;
    await setImmediate();
    state.remaining = { a: { remaining: 5, limit: 5, used: 0, resets: null, at: 1 } };
    return {};
  };
  const ledger = new Ledger('fake', { ...context, load: async () => ({ ...lazy, refreshUsage }) });
  const plan = await ledger.plan();
  const shared = await ledger.context.load();
  const states = [{ ...ledger.state() }, { ...ledger.state() }];
  await Promise.all(states.map(state => shared.refreshUsage(plan, state, ledger.context)));
  assert.deepEqual([asked, ...states.map(({ remaining }) => remaining.a?.remaining)], [1, 5, 5]);
});

test('a job without a limit wants what the provider assumes, and counts at its usual cost', async t => {
  const left: Record<string, number> = { 'real-a': 700, 'real-b': 20_000 };
  const { ask, calls, gateway, box } = await openShipped(t, 'firecrawl', AB, (key, req, res) =>
    json(res, 200, req.url === '/usage' ? { data: { remainingCredits: left[key] } } : { id: 'job-12345678' }),
  );
  assert.equal((await ask('POST /v2/crawl', '{}')).headers.get('x-culvert-lowered'), null);
  assert.equal(calls.at(-1), 'real-b POST /v2/crawl');
  assert.equal((await box.wrap(['accounts', 'disable', 'firecrawl', 'b'])).exit, 0);
  assert.equal(
    (await ask('POST /v2/crawl', '{}')).headers.get('x-culvert-lowered'),
    'wanted=10000, left=700, no limit given',
  );
  configure(box, '[capacity.firecrawl]\nreserve = 100\n');
  const { text } = await ask('POST /v2/crawl', '{}');
  assert.match(text, /wanted=10000, left=590, no limit given\. Give the job a smaller \\"limit\\"\./);
  assert.equal((await ask('POST /v2/crawl', '{"limit":500}')).status, 200);
  await gateway.close();
  assert.deepEqual(
    auditOf(box).map(({ account, cost, why }) => [account, cost, why]),
    [
      ['b', 10, undefined],
      ['a', 10, undefined],
      [null, undefined, 'reserve'],
      ['a', 500, undefined],
    ],
  );
});

test('a job costs once, however often it is asked about', async t => {
  const { port } = await startProvider(t, (_key, _req, res) => json(res, 200, { id: 'job-12345678' }));
  const box = homeFor(t, port, AB, 'costs = { crawl = 10, scrape = 2 }');
  const added = await box.wrap(['serve', 'token', 'add', 'fake', 'app', '--budget', '20', '--json']);
  const { placeholder } = JSON.parse(added.stdout);
  const gateway = await startGateway('fake', contextOf(box));
  t.after(() => gateway.close());
  const statusOf = async (method: string, where: string) => {
    const headers = { authorization: `Bearer ${placeholder}` };
    return (await fetch(`${gateway.url}${where}`, { method, headers })).status;
  };
  assert.equal(await statusOf('POST', '/crawl'), 200);
  const job = '/crawl/job-12345678';
  for (const method of [...Array(50).fill('GET'), 'HEAD', 'DELETE']) assert.equal(await statusOf(method, job), 200);
  assert.equal(await statusOf('GET', `${job}/errors`), 200);
  assert.equal(await statusOf('POST', '/v2/batch/scrape'), 200);
  assert.equal(await statusOf('POST', '/crawl'), 402);
  assert.equal(await statusOf('GET', job), 200);
  await gateway.close();
  const [token] = (await box.json('serve', 'token', 'list')).tokens;
  assert.deepEqual([token.used, token.requests, token.refused], [12, 56, 1]);
  assert.deepEqual(
    auditOf(box).flatMap(({ command, cost }) => (cost ? [[command, cost]] : [])),
    [
      ['crawl', 10],
      ['scrape', 2],
    ],
  );
});

for (const limit of ['budget', 'reserve'])
  test(`with a ${limit}, a job starts only if the gateway can read how much it wants`, async t => {
    const { calls, port } = await startProvider(t, (_key, _req, res) => json(res, 200, { id: 'job-12345678' }));
    const box = homeFor(t, port, AB);
    if (limit === 'reserve') configure(box, '[capacity.fake]\nreserve = 1\n');
    const budget = limit === 'budget' ? ['--budget', '20'] : [];
    const added = await box.wrap(['serve', 'token', 'add', 'fake', 'app', ...budget, '--json']);
    const gateway = await startGateway('fake', contextOf(box));
    t.after(() => gateway.close());
    const authorization = `Bearer ${JSON.parse(added.stdout).placeholder}`;
    const statusOf = async (body: string | Buffer, more = {}) =>
      (await fetch(`${gateway.url}/crawl`, { method: 'POST', headers: { authorization, ...more }, body })).status;
    const large = JSON.stringify({ limit: 1_000, more: 'x'.repeat(1_200_000) });
    assert.equal(await statusOf(large), 413);
    assert.equal(await statusOf(gzipSync('{"limit":1000}'), { 'content-encoding': 'gzip' }), 413);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    assert.equal(await statusOf('limit=1000', form), 413);
    assert.deepEqual(calls, []);
    assert.equal(await statusOf('{"limit":5}'), 200);
    if (limit === 'budget') assert.equal(await statusOf(JSON.stringify({ limit: 16, more: 'x'.repeat(900_000) })), 402);
  });

test('a job that is created by another form of its path has its cost, and keeps its account', async t => {
  const { ask, calls, gateway, box } = await openShipped(t, 'firecrawl', AB, (_key, req, res) =>
    json(res, 200, req.url === '/usage' ? {} : { id: 'job-12345678' }),
  );
  for (const form of ['/v2/crawl/', '/V2/Crawl', '//v2/crawl', '/v2/%63rawl']) {
    await ask(`POST ${form}`, '{}');
    assert.ok(calls.at(-1)!.endsWith(` POST ${form}`));
  }
  assert.equal((await box.wrap(['accounts', 'use', 'firecrawl', 'b'])).exit, 0);
  await ask('GET /V2/crawl/job-12345678/');
  assert.equal(calls.at(-1), 'real-a GET /V2/crawl/job-12345678/');
  await gateway.close();
  assert.deepEqual(
    auditOf(box).map(({ command, cost }) => [command, cost]),
    [...Array(4).fill(['crawl', 10]), ['http', 0]],
  );
});

test('an answer about a job waits a while for another process that writes, and the job is on disk in the end', async t => {
  let created = 0;
  let onCreated = () => {};
  const { port } = await startProvider(t, (_key, _req, res) => {
    created += 1;
    onCreated();
    json(res, 200, { id: `job-1234567${created}` });
  });
  const box = homeFor(t, port, AB);
  const { ask } = await openGateway(t, box);
  const file = path.join(box.state, 'accounts', 'fake.json');
  const isStored = () => fs.existsSync(file) && fs.readFileSync(file, 'utf8').includes(`job-1234567${created}`);
  const create = async () => {
    await (await ask('/crawl', { method: 'POST', body: '{}' })).text();
    return isStored();
  };
  let release = takeLock(file);
  onCreated = () => setTimeout(release, 400);
  assert.equal(await create(), true);
  onCreated = () => {};
  release = takeLock(file);
  t.after(release);
  assert.equal(await create(), false);
  release();
  await until(isStored, () => 'the job to be stored');
});
