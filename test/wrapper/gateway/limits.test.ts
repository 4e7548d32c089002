// Limits behind a gateway: what a program reads about retries, which accounts are paused, and for how long.
import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type CliState, readState, updateState } from '../../../wrapper/store/state.ts';
import { readGateway } from '../../../wrapper/store/tokens.ts';
import {
  contextOf,
  homeFor,
  json,
  openGateway,
  openShipped,
  type Respond,
  startProvider,
} from '../../support/wrapper/gateway.ts';
import type { Sandbox } from '../../support/wrapper/sandbox.ts';
import { auditOf } from '../../support/wrapper/sandbox.ts';

const AB = { a: 'real-a', b: 'real-b' };
const HOUR = 3_600_000;
const PAST = 'Sun, 06 Nov 1994 08:49:37 GMT';

async function setUp(t: TestContext, respond: Respond, { more = '', config = '', now = Date.now } = {}) {
  const provider = await startProvider(t, respond);
  const box = homeFor(t, provider.port, AB, more);
  box.configure(config);
  return { ...provider, box, ...(await openGateway(t, box, now)) };
}

const stateOf = (box: Sandbox, cli = 'fake'): CliState => readState(contextOf(box).paths, cli);

const endsOf = (box: Sandbox) => auditOf(box).map(({ account, outcome, class: kind }) => [account, outcome, kind]);

/** The last answer of a provider whose accounts are all out, and what of it the program may act on. */
const TOLD: [what: string, status: number, given: OutgoingHttpHeaders, told: [string | null, string | null]][] = [
  ['a limit without a time', 429, {}, [null, null]],
  ['a limit of two seconds', 429, { 'retry-after': '2' }, ['2', null]],
  ['a limit of half a second', 429, { 'retry-after-ms': '500' }, [null, null]],
  ['a limit that another header names', 429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' }, [null, null]],
  ['a limit of two minutes', 429, { 'retry-after': '120' }, ['120', 'false']],
  ['a limit whose time is over', 429, { 'retry-after': PAST }, [PAST, null]],
  ['a limit of three years', 429, { 'retry-after': '99999999' }, ['99999999', 'false']],
  ['a used-up quota', 402, {}, [null, 'false']],
  ['refused keys', 401, {}, [null, 'false']],
];

for (const [what, status, given, told] of TOLD)
  test(`after ${what} of all accounts, programs read no more than the provider said`, async t => {
    const { ask, calls } = await setUp(t, (_key, _req, res) => {
      for (const [name, value] of Object.entries(given)) res.setHeader(name, value!);
      json(res, status, {});
    });
    const { headers } = await ask('/scrape', { method: 'POST', body: '{}' });
    assert.deepEqual([headers.get('retry-after'), headers.get('x-should-retry')], told);
    assert.equal(calls.length, 2);
  });

test('an answer to an account that is only selected is not changed, and a closed connection stays one', async t => {
  let answer: Respond = () => {};
  const { ask, calls } = await openShipped(t, 'openai', AB, (key, req, res) => answer(key, req, res));
  const body = { error: { code: 'rate_limit_exceeded', message: 'Please try again in 1.574s.' } };
  for (const given of [{}, { 'retry-after': '2', 'x-should-retry': 'true' }, { 'retry-after': '3600' }]) {
    answer = (_key, _req, res) => json(res.setHeaders(new Map(Object.entries(given))), 429, body);
    const { headers, text } = await ask('POST /v1/responses', '{}');
    const told = Object.fromEntries(
      Object.keys({ 'retry-after': 0, 'x-should-retry': 0 }).map(name => [name, headers.get(name)]),
    );
    assert.deepEqual(told, { 'retry-after': null, 'x-should-retry': null, ...given });
    assert.deepEqual(JSON.parse(text), body);
  }
  answer = (_key, _req, res) => void res.destroy();
  await assert.rejects(ask('POST /v1/responses', '{}'));
  assert.ok(calls.every(call => call.startsWith('real-a ')));
});

test('without an answer, a repeatable request may be repeated, and a request that may have been billed must not', async t => {
  const { ask } = await setUp(t, (_key, _req, res) => void res.destroy());
  const told = async (init: RequestInit) => (await ask('/scrape', init)).headers.get('x-should-retry');
  assert.equal(await told({}), null);
  assert.equal(await told({ method: 'PUT', body: '1' }), null);
  assert.equal(await told({ method: 'POST', body: '2', headers: { 'idempotency-key': 'k' } }), null);
  assert.equal(await told({ method: 'POST', body: '3' }), 'false');
});

test('a request waits for an account as long as the capacity allows', async t => {
  const { ask, calls } = await setUp(
    t,
    (_key, _req, res) => (calls.length > 2 ? json(res, 200, {}) : json(res.setHeader('retry-after', '1'), 429, {})),
    { config: '\n[capacity.fake]\nwait = "30s"\n' },
  );
  assert.equal((await ask('/scrape', { method: 'POST', body: '{}' })).status, 200);
  assert.equal(calls.length, 3);
});

test('a request does not wait longer than that', async t => {
  const respond: Respond = (_key, _req, res) => json(res.setHeader('retry-after', '50'), 429, {});
  const { ask } = await setUp(t, respond, { config: '\n[capacity.fake]\nwait = "30s"\n' });
  assert.equal((await ask('/scrape')).status, 429);
});

for (const status of [401, 402, 403, 429])
  test(`a page in the place of an answer with status ${status} pauses no account`, async t => {
    const { ask, box, calls, gateway } = await setUp(t, (_key, _req, res) => {
      res.writeHead(status, { 'content-type': 'text/html' }).end('<!DOCTYPE html><title>Sign in</title>');
    });
    assert.equal((await ask('/scrape')).status, status);
    assert.equal(calls.length, 1);
    await gateway.close();
    assert.deepEqual({ ...stateOf(box).paused }, {});
  });

test('a refused key is asked about again after an hour, and then is paused until it changes', async t => {
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const { ask, box, calls, gateway } = await setUp(t, (_key, _req, res) => json(res, 401, { error: 'no' }), { now });
  const keys = () => calls.splice(0).map(call => call.split(' ')[0]);
  await ask('/scrape');
  assert.deepEqual(keys(), ['real-a', 'real-b']);
  ahead = HOUR / 2;
  await ask('/scrape');
  assert.equal(keys().length, 1, 'somebody has to say what is wrong');
  ahead = 2 * HOUR;
  await ask('/scrape');
  assert.deepEqual(keys().sort(), ['real-a', 'real-b']);
  await gateway.close();
  assert.deepEqual(
    Object.values(stateOf(box).paused).map(({ until }) => until),
    [null, null],
  );
});

test('a pause that began in the future does not count', async t => {
  const { ask, box, calls } = await setUp(t, (_key, _req, res) => json(res, 200, {}));
  const later = Date.now() + 1_000 * HOUR;
  updateState(contextOf(box).paths, 'fake', state => {
    state.paused.a = { class: 'quota', since: later, until: later + HOUR };
    state.jobs['job-of-2030'] = { account: 'b', at: later };
  });
  await ask('/scrape');
  assert.deepEqual(calls, ['real-a GET /scrape']);
});

test('a job that is larger than what an account has left goes to another one, and pauses no account', async t => {
  const { ask, box, calls, gateway } = await openShipped(t, 'firecrawl', AB, (key, req, res) => {
    if (req.url?.startsWith('/usage'))
      return json(res, 200, { data: { remainingCredits: 98_000, planCredits: 100_000 } });
    const isTooLarge = key === 'real-a' && req.url === '/v2/crawl';
    json(res, isTooLarge ? 402 : 200, isTooLarge ? { success: false, error: 'Insufficient credits' } : { id: 'x' });
  });
  assert.equal((await ask('POST /v2/crawl', '{"url":"https://example.com","limit":5}')).status, 200);
  assert.equal((await ask('POST /v2/map', '{"url":"https://example.com"}')).status, 200);
  const asked = calls.filter(call => !call.includes('/usage'));
  assert.deepEqual(asked, ['real-a POST /v2/crawl', 'real-b POST /v2/crawl', 'real-a POST /v2/map']);
  await gateway.close();
  const state = stateOf(box, 'firecrawl');
  assert.deepEqual({ ...state.paused }, {});
  assert.notEqual(state.default, 'b');
});

test('unusual activity ends the request with the first account', async t => {
  const { ask, box, calls, gateway } = await openShipped(t, 'elevenlabs', AB, (_key, _req, res) =>
    json(res, 401, { detail: { status: 'detected_unusual_activity', message: 'Free Tier usage disabled.' } }),
  );
  assert.equal((await ask('POST /v1/text-to-speech/x', '{}')).status, 401);
  assert.deepEqual(calls, ['real-a POST /v1/text-to-speech/x']);
  await gateway.close();
  assert.deepEqual({ ...stateOf(box, 'elevenlabs').paused }, {});
});

test('a stream of events that begins with an error is no success, and the kinds of failures are counted apart', async t => {
  const { ask, box, gateway } = await setUp(t, (_key, req, res) => {
    if (req.url === '/quota') return json(res, 429, { error: { code: 'insufficient_quota' } });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(
      req.url === '/good'
        ? ': hello\n\ndata: {"x":1}\n\ndata: {"error":"quoted"}\n\n'
        : 'event: error\ndata: {"error":{"code":"overloaded"}}\n\n',
    );
  });
  for (const where of ['/good', '/bad', '/quota']) await (await ask(where)).text();
  await gateway.close();
  assert.deepEqual(endsOf(box), [
    ['a', 'ok', undefined],
    ['a', 'failed', 'other'],
    ['a', 'left', 'quota'],
    ['b', 'left', 'quota'],
  ]);
  const { programs } = readGateway(contextOf(box).paths, 'fake');
  assert.deepEqual(programs[0]?.failures, { other: 1, quota: 1 });
});
