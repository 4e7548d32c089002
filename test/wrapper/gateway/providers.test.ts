// The shipped providers through a gateway: their keys, their limits, and the accounts of their jobs.
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { type TestContext, test } from 'node:test';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { httpOf, newPlaceholder, startGateway } from '../../../wrapper/gateway/gateway.ts';
import { variablesFor } from '../../../wrapper/gateway/variables.ts';
import { contextOf, json, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';

/** A gateway for a tool of the catalog, in front of a provider on loopback, and how its program asks. */
async function setUp(t: TestContext, cli: string, keys: Record<string, string>, respond: Respond) {
  const seen: IncomingHttpHeaders[] = [];
  const { calls, port } = await startProvider(t, (key, req, res) => {
    seen.push(req.headers);
    respond(key, req, res);
  });
  const box = sandbox(t);
  const context = contextOf(box);
  const provider = loadCatalog(context.catalog, '').providers[cli]!;
  const http = httpOf({ cli, provider });
  box.script(cli, '#!/bin/sh\n');
  const bases = http.bases.map(({ key_ends: end }) => `{ key_ends = "${end}", base = "http://localhost:${port}" }`);
  box.provider(
    cli,
    `[providers.${cli}.http]
base = "http://127.0.0.1:${port}"
bases = [${bases.join(', ')}]`,
  );
  box.accounts(cli, keys, http.key_variable);
  const placeholder = newPlaceholder(http);
  const gateway = await startGateway(cli, context, { placeholder });
  t.after(() => gateway.close());
  const scheme = http.key_header === 'authorization' ? `${http.key_scheme} ` : '';
  const ask = async (request: string, body?: string, headers: Record<string, string> = {}) => {
    const [method, where] = request.split(' ');
    const own = { [http.key_header]: `${scheme}${placeholder}`, ...headers };
    const init = { method: method!, headers: own, ...(body !== undefined && { body }) };
    const answer = await fetch(`${gateway.url}${where}`, init);
    return { status: answer.status, text: await answer.text() };
  };
  return { calls, seen, ask, http, url: gateway.url, placeholder };
}

const AB = { a: 'real-a', b: 'real-b' };

const LIMITS = [
  { cli: 'tvly', status: 432, body: {} },
  { cli: 'tvly', status: 433, body: {} },
  { cli: 'elevenlabs', status: 401, body: { detail: { status: 'quota_exceeded' } } },
  { cli: 'deepl', status: 456, body: {} },
  { cli: 'exa', status: 402, body: {} },
  { cli: 'firecrawl', status: 402, body: {} },
];

for (const { cli, status, body } of LIMITS) {
  test(`after ${status} of ${cli}, the next account answers`, async t => {
    const { calls, ask } = await setUp(t, cli, AB, (key, _req, res) =>
      json(res, key === 'real-a' ? status : 200, key === 'real-a' ? body : {}),
    );
    assert.equal((await ask('POST /x', '{}')).status, 200);
    assert.deepEqual(calls, ['real-a POST /x', 'real-b POST /x']);
  });
}

test('an account of OpenAI is selected, and no failure leads to another one', async t => {
  const headers = { 'openai-organization': 'org', 'openai-project': 'project' };
  const { calls, seen, ask, http, url, placeholder } = await setUp(t, 'openai', AB, (_key, _req, res) =>
    json(res, 429, { error: {} }),
  );
  assert.equal(variablesFor(http, { url, placeholder }, {}).OPENAI_BASE_URL, `${url}/v1`);
  assert.equal((await ask('POST /v1/responses', '{}', headers)).status, 429);
  assert.equal((await ask('POST /v1/responses', '{}')).status, 429);
  assert.deepEqual(calls, Array(2).fill('real-a POST /v1/responses'));
  assert.ok(!Object.keys(seen[0]!).some(name => name.startsWith('openai-')));
});

test('the end of a key of DeepL decides which address is asked', async t => {
  const { seen, ask } = await setUp(t, 'deepl', { free: 'real:fx' }, (_key, _req, res) => json(res, 200, {}));
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
    cli: 'firecrawl',
    create: 'POST /v2/scrape',
    answer: { data: { metadata: { scrapeId: 'scrape-1' } } },
    follow: 'POST /v2/scrape/scrape-1/interact',
  },
];

for (const { cli, create, answer, follow, body } of JOBS) {
  test(`${follow} of ${cli} goes to the account of the job that it names`, async t => {
    let isOut = false;
    const { calls, ask } = await setUp(t, cli, AB, (key, _req, res) =>
      json(res, key === 'real-a' && isOut ? 402 : 200, answer),
    );
    await ask(create, '{}');
    isOut = true;
    await ask('POST /other', '{}');
    await ask(follow, follow.startsWith('GET') ? undefined : (body ?? '{}'));
    assert.deepEqual(calls, [`real-a ${create}`, 'real-a POST /other', 'real-b POST /other', `real-a ${follow}`]);
  });
}
