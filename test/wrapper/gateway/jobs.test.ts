// Jobs behind a gateway: their account on other machines of a pool, and those that want more than an account has.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { homeFor, json, openGateway, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
import type { Sandbox } from '../../support/wrapper/sandbox.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';

const AB = { a: 'real-a', b: 'real-b' };

const configure = (box: Sandbox, text: string) => fs.appendFileSync(path.join(box.config, 'config.toml'), text);

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

/** A provider with figures, which does less than a job wants when an account has too little. */
async function setUp(t: TestContext, left: Record<string, number>, capacity = '') {
  const respond: Respond = (key, req, res) =>
    json(res, 200, req.url === '/usage' ? { remaining: left[key], limit: 1_000 } : { id: 'job-12345678' });
  const { calls, port } = await startProvider(t, respond);
  const usage = `[providers.fake.usage]
url = "http://127.0.0.1:${port}/usage"
remaining = "remaining"
limit = "limit"`;
  const box = homeFor(t, port, AB, usage);
  if (capacity) configure(box, `[capacity.fake]\n${capacity}\n`);
  const { ask, gateway } = await openGateway(t, box);
  const crawl = (limit: number) => ask('/crawl', { method: 'POST', body: JSON.stringify({ limit }) });
  const made = () => calls.filter(call => call.includes('POST'));
  return { crawl, made, gateway, box };
}

test('a job goes to an account that has enough, and one that is too large says so', async t => {
  const { crawl, made, gateway, box } = await setUp(t, { 'real-a': 100, 'real-b': 700 });
  assert.equal((await crawl(400)).headers.get('x-culvert-lowered'), null);
  const lowered = await crawl(900);
  assert.deepEqual([lowered.status, lowered.headers.get('x-culvert-lowered')], [200, 'wanted=900, left=300']);
  assert.deepEqual(made(), ['real-b POST /crawl', 'real-b POST /crawl']);
  await gateway.close();
  const audit = fs.readFileSync(path.join(box.state, 'audit.jsonl'), 'utf8').trim().split('\n');
  assert.deepEqual(
    audit.map(line => JSON.parse(line)).map(({ account, outcome, class: kind }) => [account, outcome, kind]),
    [
      ['b', 'ok', undefined],
      ['b', 'ok', 'lowered'],
    ],
  );
});

test('with a reserve, a job that is too large does not start', async t => {
  const { crawl, made, gateway, box } = await setUp(t, { 'real-a': 100, 'real-b': 500 }, 'reserve = 50');
  const answer = await crawl(480);
  assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [402, 'false']);
  assert.match(await answer.text(), /wanted=480, left=450/);
  assert.deepEqual(made(), []);
  assert.equal((await crawl(450)).status, 200);
  await gateway.close();
  const [{ requests, refused }] = JSON.parse((await box.wrap(['serve', 'status', '--json'])).stdout).gateways[0]
    .consumers;
  assert.deepEqual([requests, refused], [1, 1]);
});
