// MCP over HTTP through a gateway: the key is in the address only behind it, and a session stays with its account.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../../../wrapper/gateway/gateway.ts';
import { contextOf, json, openShipped, shippedHome, startProvider } from '../../support/wrapper/gateway.ts';
import { auditOf } from '../../support/wrapper/sandbox.ts';

const AB = { a: 'real-a', b: 'real-b' };
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };

test('a placeholder in the address lets a client in, and the key takes its place', async t => {
  const places = {
    firecrawl: ['/{key}/v2/mcp'],
    tvly: ['/mcp/?tavilyApiKey={key}', '/mcp?x=1&tavilyApiKey={key}'],
    exa: ['/mcp?exaApiKey={key}', '/mcp?tools=agent_run&exaApiKey={key}'],
    serpapi: ['/{key}/mcp'],
  };
  for (const [cli, addresses] of Object.entries(places)) {
    const { calls, seen, url, placeholder, box } = await openShipped(t, cli, { a: 'real-a' }, (_key, req, res) => {
      res.setHeader('location', `http://127.0.0.1:${req.socket.localPort}${req.url}`);
      json(res, 200, { asked: req.url });
    });
    for (const address of addresses) {
      const asked = `${url}${address.replace('{key}', placeholder)}`;
      const answer = await fetch(asked, { method: 'POST', body: JSON.stringify(initialize) });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      assert.equal(calls.at(-1), ` POST ${address.replace('{key}', 'real-a')}`);
      assert.match(seen.at(-1)!.host!, /^localhost:/);
      assert.equal(seen.at(-1)!.authorization, undefined);
      assert.doesNotMatch(`${text} ${answer.headers.get('location')}`, /real-/);
      assert.ok(answer.headers.get('location')!.startsWith(url));
    }
    assert.equal((await fetch(`${url}${addresses[0]!.replace('{key}', 'fc-another')}`)).status, 401);
    // logs and state hold neither key nor placeholder
    const files = fs.readdirSync(box.state, { recursive: true, withFileTypes: true }).filter(each => each.isFile());
    for (const { parentPath, name } of files) {
      const text = fs.readFileSync(`${parentPath}/${name}`, 'latin1');
      assert.ok(!text.includes('real-') && !text.includes(placeholder), name);
    }
  }
});

test('a session stays with its account, and ends when that is used up', async t => {
  const out = new Set<string>();
  const { calls, ask } = await openShipped(t, 'firecrawl', AB, (key, req, res) => {
    if (out.has(key)) return json(res, 402, { error: 'Insufficient credits' });
    if (req.headers['mcp-session-id'] === undefined) res.setHeader('mcp-session-id', `session-of-${key.slice(5)}`);
    json(res, 200, { jsonrpc: '2.0', id: 1, result: {} });
  });
  const post = (session?: string) =>
    ask('POST /v2/mcp', JSON.stringify(initialize), session === undefined ? {} : { 'mcp-session-id': session });
  const session = (await post()).headers.get('mcp-session-id')!;
  out.add('real-a');
  assert.equal((await post()).headers.get('mcp-session-id'), 'session-of-b');
  out.delete('real-a');
  // another account is the default by now
  assert.equal((await post(session)).status, 200);
  assert.equal(calls.at(-1), 'real-a POST /v2/mcp');
  out.add('real-a');
  assert.equal((await post(session)).status, 404);
  const again = (await post()).headers.get('mcp-session-id')!;
  assert.equal(again, 'session-of-b');
  assert.equal((await post(again)).status, 200);
});

test('a call about a job goes to the account that created it, without a session', async t => {
  const job = '0f8fad5b-d9cb-469f-a165-70867728950e';
  let asEvents = true;
  const { calls, ask, box } = await openShipped(t, 'firecrawl', AB, (_key, _req, res) => {
    const text = JSON.stringify({ success: true, id: job }, null, 2);
    const message = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } };
    if (!asEvents) return json(res, 200, message);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = `event: message\ndata: ${JSON.stringify(message)}\n\n`;
    res.write(event.slice(0, event.indexOf(job) + 9));
    setImmediate(() => res.end(event.slice(event.indexOf(job) + 9)));
  });
  const call = async (name: string, args: object) => {
    const params = { name, arguments: args };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { text } = await ask('POST /v2/mcp', body);
    assert.ok(text.includes(job));
    return calls.at(-1)!.split(' ')[0];
  };
  const use = async (account: string) =>
    assert.equal((await box.wrap(['accounts', 'use', 'firecrawl', account])).exit, 0);
  assert.equal(await call('firecrawl_search', { query: 'x' }), 'real-a');
  await use('b');
  assert.equal(await call('firecrawl_check_crawl_status', { id: job }), 'real-b', 'a search creates no job');
  await use('a');
  assert.equal(await call('firecrawl_crawl', { url: 'https://example.com/' }), 'real-a');
  await use('b');
  assert.equal(await call('firecrawl_check_crawl_status', { id: job }), 'real-a');
  assert.equal(await call('firecrawl_check_crawl_status', { id: job.replace('0', '1') }), 'real-b');
  asEvents = false;
  assert.equal(await call('firecrawl_extract', { urls: [] }), 'real-b');
  await use('a');
  assert.equal(await call('firecrawl_check_crawl_status', { id: job }), 'real-b');
});

const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'firecrawl_scrape' } });
const QUOTA = "Tool 'firecrawl_scrape' execution failed: Insufficient credits to perform this request.";

/** A server whose tool answers for account `a` with a result. */
async function openTool(t: TestContext, answerOfA: () => string, type = 'application/json') {
  const opened = await openShipped(t, 'firecrawl', AB, (key, req, res) => {
    if (key === 'real-b' || req.url === '/usage') return json(res, 200, { jsonrpc: '2.0', id: 1, result: {} });
    res.writeHead(200, { 'content-type': type });
    const text = answerOfA();
    const half = text.length >> 1;
    res.write(text.slice(0, half));
    setImmediate(() => res.end(text.slice(half)));
  });
  const call = async (headers: Record<string, string> = {}) => {
    const answer = await opened.ask('POST /v2/mcp', CALL, headers);
    const made = opened.calls.filter(each => each.includes(' POST '));
    return { ...answer, by: made.at(-1)!.split(' ')[0] };
  };
  return { ...opened, call };
}

const resultOf = (text: string, more: object = { isError: true }) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }], ...more } });
const asEvents = (message: string) => `event: message\nid: 1\ndata: ${message}\n\n`;

for (const type of ['application/json', 'text/event-stream'])
  test(`after an error about the account in an answer (${type}), the next call goes to another one`, async t => {
    const notice = asEvents(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }));
    const answer = type === 'application/json' ? resultOf(QUOTA) : `${notice}${asEvents(resultOf(QUOTA))}`;
    const { call, gateway, box } = await openTool(t, () => answer, type);
    const { status, text, by } = await call();
    assert.deepEqual([status, text, by], [200, answer, 'real-a']);
    assert.equal((await call()).by, 'real-b');
    await gateway.close();
    assert.deepEqual(
      auditOf(box).map(({ account, outcome, class: kind }) => [account, outcome, kind]),
      [
        ['a', 'left', 'quota'],
        ['b', 'ok', undefined],
      ],
    );
  });

/** Refusals in forms of the remote servers of today, two with `isError: false`. */
const REMOTE: [cli: string, result: object][] = [
  ['firecrawl', { content: [], structuredContent: { code: 'CREDENTIAL_INVALID' }, isError: true }],
  ['tvly', { content: [], structuredContent: { error: 'x', detail: 'Authentication required' }, isError: false }],
  ['tvly', { content: [{ type: 'text', text: '{"error":"x","detail":"Authentication required"}' }], isError: false }],
  ['exa', { content: [{ type: 'text', text: 'web_search_exa error (402): x' }], isError: true }],
];

for (const [index, [cli, result]] of REMOTE.entries())
  test(`after a refusal of the remote server of ${cli} (${index}), the next call goes to another account`, async t => {
    const own = JSON.stringify({ jsonrpc: '2.0', id: 1, result });
    const { ask, calls } = await openShipped(t, cli, AB, (key, req, res) => {
      const refused = /real-a/.test(`${key} ${req.url}`) ? own : '{"jsonrpc":"2.0","id":1,"result":{}}';
      res.writeHead(200, { 'content-type': 'application/json' }).end(refused);
    });
    const path = cli === 'firecrawl' ? '/v2/mcp' : '/mcp';
    assert.equal((await ask(`POST ${path}`, CALL)).text, own);
    assert.notEqual((await ask(`POST ${path}`, CALL)).text, own);
    assert.equal(calls.filter(call => call.includes('POST')).length, 2);
  });

test('an answer that only quotes an error leaves the account alone', async t => {
  let answer = '';
  const { call } = await openTool(t, () => answer);
  const quoting = [
    resultOf(QUOTA, {}),
    resultOf(QUOTA, { isError: false }),
    resultOf(`The page says: ${QUOTA}`),
    resultOf(`\n${QUOTA}`),
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: resultOf(QUOTA) }] } }),
  ];
  for (answer of quoting) {
    assert.equal((await call()).text, answer);
    assert.equal((await call()).by, 'real-a', answer.slice(0, 200));
  }
});

test('a session ends with an account of which an answer says that it is used up', async t => {
  let answer = resultOf('done', {});
  const { call, calls } = await openTool(t, () => answer);
  const session = { 'mcp-session-id': 'session-of-a' };
  assert.equal((await call(session)).by, 'real-a');
  answer = resultOf(QUOTA);
  assert.equal((await call(session)).text, answer);
  const made = calls.length;
  assert.equal((await call(session)).status, 404);
  assert.equal(calls.length, made);
  assert.equal((await call()).by, 'real-b');
});

for (const limit of ['budget', 'reserve'])
  test(`a ${limit} also limits what tools of a remote MCP server may cost`, async t => {
    const { calls, port } = await startProvider(t, (_key, req, res) =>
      json(res, 200, req.url === '/usage' ? { data: { remainingCredits: 60 } } : { jsonrpc: '2.0', id: 1, result: {} }),
    );
    const { box } = shippedHome(t, 'firecrawl', { a: 'real-a' }, port);
    if (limit === 'reserve') fs.appendFileSync(`${box.config}/config.toml`, '[capacity.firecrawl]\nreserve = 50\n');
    const budget = limit === 'budget' ? ['--budget', '10'] : [];
    const added = await box.wrap(['serve', 'token', 'add', 'firecrawl', 'app', ...budget, '--json']);
    const gateway = await startGateway('firecrawl', contextOf(box));
    t.after(() => gateway.close());
    const authorization = `Bearer ${JSON.parse(added.stdout).placeholder}`;
    const post = async (body: unknown) => {
      const init = { method: 'POST', headers: { authorization }, body: JSON.stringify(body) };
      const answer = await fetch(`${gateway.url}/v2/mcp`, init);
      return { status: answer.status, text: await answer.text() };
    };
    const call = (name: string, given: object = {}) => ({ ...JSON.parse(CALL), params: { name, arguments: given } });
    const statusOf = async (body: unknown) => (await post(body)).status;
    assert.equal(await statusOf(call('firecrawl_crawl', { limit: 10_000 })), 402);
    assert.equal(await statusOf(call('firecrawl_batch_scrape', { urls: Array(11).fill('https://example.com/') })), 402);
    if (limit === 'reserve')
      assert.match((await post(call('firecrawl_crawl'))).text, /Give the job a smaller \\"limit/);
    assert.equal(await statusOf(Array(3).fill(call('firecrawl_crawl', { limit: 1 }))), 413);
    assert.equal(await statusOf(call('firecrawl_scrape', { more: 'x'.repeat(1_200_000) })), 413);
    const { status, text } = await post(call('firecrawl_unknown'));
    assert.deepEqual([status, /only if the catalog says what it costs/.test(text)], [413, true]);
    assert.deepEqual(
      calls.filter(made => made.includes('POST')),
      [],
    );
    assert.equal(await statusOf(call('firecrawl_crawl', { limit: 5 })), 200);
    assert.equal(await statusOf(call('firecrawl_check_crawl_status', { id: 'x' })), 200);
  });
