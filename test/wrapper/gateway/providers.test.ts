// The shipped providers through a gateway: their keys, their limits, and the accounts of their jobs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { variablesFor } from '../../../wrapper/gateway/address.ts';
import { json, openGateway, openShipped, startProvider } from '../../support/wrapper/gateway.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';

const AB = { a: 'real-a', b: 'real-b' };

/** Without the questions what is left. */
const byProgram = (calls: readonly string[]) => calls.filter(call => !call.endsWith('GET /usage'));

const LIMITS = [
  { cli: 'firecrawl', status: 403, body: { error: 'Unauthorized: This account has been banned. Contact us.' } },
  { cli: 'firecrawl', status: 403, body: { error: 'This API key has been blocked by the account holder.' } },
  { cli: 'tvly', status: 432, body: {} },
  { cli: 'tvly', status: 433, body: {} },
  { cli: 'elevenlabs', status: 401, body: { detail: { status: 'quota_exceeded' } } },
  { cli: 'deepl', status: 456, body: {} },
  { cli: 'exa', status: 402, body: {} },
  { cli: 'firecrawl', status: 402, body: {} },
  { cli: 'brave', status: 422, body: { error: { code: 'SUBSCRIPTION_TOKEN_INVALID' } } },
  { cli: 'brave', status: 429, body: {} },
  { cli: 'serper', status: 400, body: { message: 'Not enough credits', statusCode: 400 } },
  { cli: 'serper', status: 403, body: { message: 'Unauthorized.', statusCode: 403 } },
  { cli: 'serpapi', status: 429, body: { error: 'Your account has run out of searches.' } },
  { cli: 'perplexity', status: 401, body: {} },
  { cli: 'jina', status: 402, body: {} },
];

for (const { cli, status, body } of LIMITS) {
  test(`after ${status} of ${cli}, the next account answers`, async t => {
    const { calls, ask } = await openShipped(t, cli, AB, (key, _req, res) =>
      json(res, key === 'real-a' ? status : 200, key === 'real-a' ? body : {}),
    );
    assert.equal((await ask('POST /x', '{}')).status, 200);
    assert.deepEqual(byProgram(calls), ['real-a POST /x', 'real-b POST /x']);
  });
}

for (const error of ['This website is no longer supported', 'Accept the terms first', 'Your IP address is not allowed'])
  test(`403 of firecrawl about something else leads to no other account: ${error}`, async t => {
    const { calls, ask } = await openShipped(t, 'firecrawl', AB, (_key, _req, res) => json(res, 403, { error }));
    assert.equal((await ask('POST /v2/scrape', '{}')).status, 403);
    assert.equal(calls.length, 1);
  });

for (const { cli, header } of [
  { cli: 'exa', header: 'authorization' },
  { cli: 'firecrawl', header: 'x-firecrawl-api-key' },
  { cli: 'elevenlabs', header: 'authorization' },
])
  test(`a program of ${cli} may send its placeholder in ${header}`, async t => {
    const { calls, seen, url, placeholder, http } = await openShipped(t, cli, AB, (_key, _req, res) =>
      json(res, 200, {}),
    );
    const headers = { [header]: header === 'authorization' ? `Bearer ${placeholder}` : placeholder };
    assert.equal((await fetch(`${url}/search`, { method: 'POST', body: '{}', headers })).status, 200);
    assert.deepEqual(calls, ['real-a POST /search']);
    const own = Object.entries(seen[0]!).filter(([, value]) => String(value).includes('real-a'));
    assert.deepEqual([own.map(([name]) => name), header in seen[0]!], [[http.key_header], header === http.key_header]);
  });

test('the pause of an account is as long as the text of its error says, and one below a minute is left to the program', async t => {
  for (const [seconds, header] of [
    [23, null],
    [90, '90'],
  ] as const) {
    const error = `Rate limit exceeded. Consumed (req/min): 11, please retry after ${seconds}s, resets at Thu Jan 01 2026`;
    const { ask } = await openShipped(t, 'firecrawl', { a: 'real-a' }, (_key, _req, res) => json(res, 429, { error }));
    assert.equal((await ask('POST /v2/scrape', '{}')).headers.get('retry-after'), header);
  }
});

test('an account of OpenAI is selected, and no failure leads to another one', async t => {
  const headers = { 'openai-organization': 'org', 'openai-project': 'project' };
  const { calls, seen, ask, http, url, placeholder } = await openShipped(t, 'openai', AB, (_key, _req, res) =>
    json(res, 429, { error: {} }),
  );
  assert.equal(variablesFor(http, { url, placeholder }, {}).OPENAI_BASE_URL, `${url}/v1`);
  assert.equal((await ask('POST /v1/responses', '{}', headers)).status, 429);
  assert.equal((await ask('POST /v1/responses', '{}')).status, 429);
  assert.deepEqual(calls, Array(2).fill('real-a POST /v1/responses'));
  assert.ok(!Object.keys(seen[0]!).some(name => name.startsWith('openai-')));
});

test('the end of a key of DeepL decides which address is asked', async t => {
  const { seen, ask } = await openShipped(t, 'deepl', { free: 'real:fx' }, (_key, _req, res) => json(res, 200, {}));
  await ask('POST /v2/translate', 'text=x');
  assert.match(seen[0]!.host!, /^localhost:/);
  assert.equal(seen[0]!.authorization, 'DeepL-Auth-Key real:fx');
});

const JOBS = [
  {
    cli: 'tvly',
    create: 'POST /research',
    answer: { request_id: 'job-12345678' },
    follow: 'GET /research/job-12345678',
  },
  {
    cli: 'deepl',
    create: 'POST /v2/document',
    answer: { document_id: 'ABCDEF1234' },
    follow: 'POST /v2/document/ABCDEF1234',
  },
  {
    cli: 'deepl',
    create: 'POST /v3/glossaries',
    answer: { glossary_id: 'g-1' },
    follow: 'POST /v2/translate',
    body: 'glossary_id=g-1',
  },
  {
    cli: 'exa',
    create: 'POST /websets/v0/websets',
    answer: { id: 'ws1' },
    follow: 'POST /websets/v0/monitors',
    body: '{"websetId":"ws1"}',
  },
  {
    cli: 'exa',
    create: 'POST /agent/runs',
    answer: { id: 'agent_run_1', object: 'agent_run' },
    follow: 'GET /agent/runs/agent_run_1/events',
  },
  {
    cli: 'exa',
    create: 'POST /agent/runs',
    answer: { id: 'agent_run_1', object: 'agent_run' },
    follow: 'POST /agent/runs',
    body: '{"query":"more","previousRunId":"agent_run_1"}',
  },
  {
    cli: 'firecrawl',
    create: 'POST /v2/scrape',
    answer: { data: { metadata: { scrapeId: 'scrape-1' } } },
    follow: 'POST /v2/scrape/scrape-1/interact',
  },
];

for (const { cli, create, answer, follow, body } of JOBS) {
  test(`${follow} of ${cli} goes to the account of the job that it names`, async t => {
    let isOut = false;
    const { calls, ask } = await openShipped(t, cli, AB, (key, _req, res) =>
      json(res, key === 'real-a' && isOut ? 402 : 200, answer),
    );
    await ask(create, '{}');
    isOut = true;
    await ask('POST /other', '{}');
    await ask(follow, follow.startsWith('GET') ? undefined : (body ?? '{}'));
    const expected = [`real-a ${create}`, 'real-a POST /other', 'real-b POST /other', `real-a ${follow}`];
    assert.deepEqual(byProgram(calls), expected);
  });
}

for (const { base, asked } of [
  { base: '', asked: '/chat/completions' },
  { base: '/v1', asked: '/v1/chat/completions' },
])
  test(`an address with a path leads there, for programs that know ${base || 'none'} of it`, async t => {
    const { calls, port } = await startProvider(t, (_key, req, res) =>
      json(res, 200, { next: `http://${req.headers.host}/api/v1/files?after=1` }),
    );
    const box = sandbox(t);
    box.script('fake', '#!/bin/sh\n');
    box.provider(
      'fake',
      `inject = ["FAKE_KEY"]
[providers.fake.http]
base = "http://127.0.0.1:${port}/api/v1"
base_path = "${base}"
key_variable = "FAKE_KEY"
key_prefix = "fk-"
rewrite = ["next"]`,
    );
    box.accounts('fake', { a: 'real-a' });
    const { ask, gateway } = await openGateway(t, box);
    const answer = await ask(asked, { method: 'POST', body: '{}' });
    assert.deepEqual(await answer.json(), { next: `${gateway.url}${base}/files?after=1` });
    assert.deepEqual(calls, ['real-a POST /api/v1/chat/completions']);
  });

test('a key in the query takes the place of the placeholder, in any spelling of its parameter', async t => {
  const { calls, seen, url, placeholder } = await openShipped(t, 'serpapi', { a: 'real-a&b' }, (_key, req, res) =>
    json(res, 200, { asked: req.url }),
  );
  for (const [asked, sent] of [
    [`/search?q=x&api_key=${placeholder}`, '/search?q=x&api_key=real-a%26b'],
    [`/search.json?api%5Fkey=${placeholder}&q=${placeholder}`, `/search.json?api_key=real-a%26b&q=${placeholder}`],
    [`/${placeholder}/mcp`, '/real-a%26b/mcp'],
  ]) {
    const answer = await fetch(`${url}${asked}`);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    assert.equal(calls.at(-1), ` GET ${sent}`);
    assert.equal(seen.at(-1)!.authorization, undefined);
    assert.doesNotMatch(text, /real-/);
  }
  const refused = [
    '/search?q=x',
    '/search?q=x&api_key=other',
    `/search?q=${placeholder}`,
    `/search?key=${placeholder}`,
  ];
  for (const asked of refused) assert.equal((await fetch(`${url}${asked}`)).status, 401, asked);
  assert.equal(calls.length, 3);
});

test('after the end of the searches of a key in the query, the next account answers', async t => {
  const asked: string[] = [];
  const { url, placeholder } = await openShipped(t, 'serpapi', AB, (_key, req, res) => {
    asked.push(req.url!);
    const isUsed = req.url!.includes('real-a');
    json(res, isUsed ? 429 : 200, isUsed ? { error: 'Your account has run out of searches.' } : {});
  });
  assert.equal((await fetch(`${url}/search?api_key=${placeholder}&q=x`)).status, 200);
  assert.deepEqual(asked, ['/search?api_key=real-a&q=x', '/search?api_key=real-b&q=x']);
});
