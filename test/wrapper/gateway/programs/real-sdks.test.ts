// The SDKs of npm through a gateway, in front of a provider that counts.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { variablesFor } from '../../../../wrapper/gateway/address.ts';
import { startGateway } from '../../../../wrapper/gateway/gateway.ts';
import { startFirecrawl } from '../../../support/wrapper/firecrawl-provider.ts';
import { contextOf, json, openShippedAt, type Respond, startProvider } from '../../../support/wrapper/gateway.ts';
import { realPrograms } from '../../../support/wrapper/real-programs.ts';
import { auditOf } from '../../../support/wrapper/sandbox.ts';

const programs = await realPrograms([
  '@mendable/firecrawl-js@4.42.0',
  '@tavily/core@0.7.13',
  'exa-js@2.23.0',
  'openai@7.57.0',
]);
const { skip, run } = programs;

const keysOf = (names: string) => Object.fromEntries([...names].map(name => [name, `fc-canary-${name}`]));

/** A gateway in front of a provider, and a way to run a program behind it that must see no key. */
async function open(t: TestContext, cli: string, keys: Record<string, string>, port: number) {
  const opened = await openShippedAt(t, cli, keys, port);
  const { http, url, placeholder, box } = opened;
  const program = async <T>(script: string): Promise<T> => {
    const { value, text } = await run(script, variablesFor(http, { url, placeholder }, {}));
    assert.doesNotMatch(text, /canary/);
    assert.ok(text.includes(placeholder));
    return value as T;
  };
  return { ...opened, program, audit: () => auditOf(box) };
}

const FIRECRAWL = `
import { Firecrawl } from '@mendable/firecrawl-js';
const app = new Firecrawl({});
const print = value => console.log(JSON.stringify(value));
`;

test('a crawl of 250 documents comes whole through its pages', { skip }, async t => {
  const { port, calls, spent } = await startFirecrawl(t, 1_000);
  const { program } = await open(t, 'firecrawl', keysOf('ab'), port);
  const seen = await program(`${FIRECRAWL}
    const { status, data } = await app.crawl('https://site.example', { limit: 250, pollInterval: 1 });
    print({ status, count: data.length });`);
  assert.deepEqual(seen, { status: 'completed', count: 250 });
  assert.equal(calls.filter(call => call.startsWith('fc-canary-a GET /v2/crawl/')).length, 3);
  assert.deepEqual([...spent], [['fc-canary-a', 250]]);
});

test('another process of the gateway reads a job with its account, also when others are used by now', {
  skip,
}, async t => {
  const { port, calls } = await startFirecrawl(t, 250);
  const { program, gateway, box, url, placeholder } = await open(t, 'firecrawl', keysOf('ab'), port);
  const { id } = await program<{ id: string }>(
    `${FIRECRAWL} print(await app.startCrawl('https://site.example', { limit: 250 }));`,
  );
  const { markdown } = await program<{ markdown: string }>(
    `${FIRECRAWL} print(await app.scrape('https://site.example'));`,
  );
  assert.equal(markdown.length, 'fc-canary-b'.length);
  await gateway.close();
  const again = await startGateway('firecrawl', contextOf(box), { placeholder, port: Number(new URL(url).port) });
  t.after(() => again.close());
  const seen = await program<{ count: number }>(
    `${FIRECRAWL} print({ count: (await app.getCrawlStatus('${id}')).data.length });`,
  );
  assert.equal(seen.count, 250);
  assert.ok(calls.filter(call => call.includes(' GET /v2/crawl')).every(call => call.startsWith('fc-canary-a ')));
});

/** Answers of a provider to the first account that asks: how the program fares, and how many accounts are asked. */
const LADDER: Record<string, { status: number; body?: object; ends?: number; asked: number; accounts: number }> = {
  refused: { status: 401, asked: 2, accounts: 2 },
  'used up': { status: 402, asked: 2, accounts: 2 },
  billed: { status: 402, body: { error: 'failed', chargeId: 'c1' }, ends: 402, asked: 1, accounts: 1 },
  banned: { status: 403, body: { error: 'Unauthorized: This account has been banned.' }, asked: 2, accounts: 2 },
  blocked: { status: 403, body: { error: 'This website is not supported.' }, ends: 403, asked: 1, accounts: 1 },
  'in the works': {
    status: 408,
    body: { code: 'SCRAPE_TIMEOUT', details: { state: 'processing_continues', retryAfterSeconds: 5 } },
    asked: 2,
    accounts: 1,
  },
  twice: { status: 409, ends: 409, asked: 1, accounts: 1 },
  limited: { status: 429, asked: 2, accounts: 2 },
  broken: { status: 500, ends: 500, asked: 1, accounts: 1 },
  // the SDK itself asks three times
  'bad gateway': { status: 502, asked: 2, accounts: 1 },
  unavailable: { status: 503, ends: 503, asked: 1, accounts: 1 },
};

test('each status leads the SDK where it should, and never to a second charge', { skip }, async t => {
  const asked: Record<string, string[]> = {};
  const { port } = await startFirecrawl(t, 1_000, (key, url, res) => {
    const what = decodeURIComponent(new URL(url).pathname.slice(1));
    const { status, body = { error: what } } = LADDER[what]!;
    asked[what] = [...(asked[what] ?? []), key];
    if (asked[what].length > 1) return false;
    json(res, status, { success: false, ...body });
    return true;
  });
  const { program } = await open(t, 'firecrawl', keysOf('abcdefghi'), port);
  const ends = await program<Record<string, number>>(`${FIRECRAWL}
    const ends = {};
    for (const what of ${JSON.stringify(Object.keys(LADDER))})
      ends[what] = await app.scrape('https://site.example/' + encodeURIComponent(what)).then(() => 200, error => error.status);
    print(ends);`);
  for (const [what, { ends: end = 200, asked: count, accounts }] of Object.entries(LADDER)) {
    assert.equal(ends[what], end, what);
    assert.deepEqual([asked[what]!.length, new Set(asked[what]).size], [count, accounts], what);
  }
});

test('a job that the provider cuts is in the audit log', { skip }, async t => {
  const { port } = await startFirecrawl(t, 300);
  const { program, gateway, audit } = await open(t, 'firecrawl', keysOf('a'), port);
  await program(`${FIRECRAWL} print(await app.startCrawl('https://site.example', { limit: 900 }));`);
  await gateway.close();
  assert.equal(audit().at(-1).class, 'lowered');
});

test('a crawl is watched over a websocket', { skip }, async t => {
  const { port, calls } = await startFirecrawl(t, 1_000);
  const { program } = await open(t, 'firecrawl', keysOf('a'), port);
  const seen = await program(`${FIRECRAWL}
    const { id } = await app.startCrawl('https://site.example', { limit: 20 });
    const watcher = app.watcher(id);
    let documents = 0;
    watcher.on('document', () => { documents += 1; });
    const done = new Promise(resolve => watcher.on('done', ({ status }) => resolve(status)));
    await watcher.start();
    print({ documents, status: await done });`);
  assert.deepEqual(seen, { documents: 21, status: 'completed' });
  assert.equal(calls.filter(call => call.startsWith('fc-canary-a WEBSOCKET /v2/crawl/')).length, 1);
  assert.ok(!calls.some(call => call.includes(' GET /v2')));
});

test('an upload of 50 MB arrives whole, with one account', { skip }, async t => {
  const { port, uploads } = await startFirecrawl(t, 1_000);
  const { program } = await open(t, 'firecrawl', keysOf('ab'), port);
  await program(`${FIRECRAWL}
    print(await app.parse({ data: Buffer.alloc(50_000_000, 'x'), filename: 'a.pdf', contentType: 'application/pdf' }));`);
  assert.equal(uploads.length, 1);
  assert.ok(uploads[0]!.bytes > 50_000_000 && uploads[0]!.bytes < 50_002_000);
});

test('1,000 simultaneous requests over five accounts spend every credit once', { skip }, async t => {
  const { port, spent } = await startFirecrawl(t, 200);
  const { program } = await open(t, 'firecrawl', keysOf('abcde'), port);
  const failures = await program(`${FIRECRAWL}
    const results = await Promise.allSettled(Array.from({ length: 1_000 }, (_, i) => app.search('query ' + i)));
    print(results.filter(each => each.status === 'rejected').map(each => String(each.reason)));`);
  assert.deepEqual(failures, []);
  assert.deepEqual([...spent.values()], Array(5).fill(200));
});

/** The other SDKs, whose first account has a limit. */
const OTHERS = {
  tvly: {
    status: 432,
    answer: { query: 'x', images: [], results: [{ title: 't', url: 'u', content: 'c' }], response_time: 1 },
    script: (url: string) => `
      import { tavily } from '@tavily/core';
      const client = tavily({ apiKey: process.env.TAVILY_API_KEY, apiBaseURL: '${url}', projectId: 'own' });
      console.log(JSON.stringify((await client.search('x')).results.length));`,
  },
  exa: {
    status: 402,
    answer: { results: [{ id: 'i', url: 'u', title: 't' }], requestId: 'r' },
    script: (url: string) => `
      import { Exa } from 'exa-js';
      const client = new Exa(process.env.EXA_API_KEY, '${url}');
      console.log(JSON.stringify((await client.search('x')).results.length));`,
  },
};

for (const [cli, { status, answer, script }] of Object.entries(OTHERS))
  test(`the SDK of ${cli} goes on with the next account`, { skip }, async t => {
    const respond: Respond = (key, _req, res) =>
      json(res, key.endsWith('a') ? status : 200, key.endsWith('a') ? { detail: { error: 'limit' } } : answer);
    const { port, calls } = await startProvider(t, respond);
    const { program, url } = await open(t, cli, { a: 'canary-a', b: 'canary-b' }, port);
    assert.equal(await program(script(url)), 1);
    assert.deepEqual(
      calls.filter(call => !call.includes('/usage')),
      ['canary-a POST /search', 'canary-b POST /search'],
    );
  });

test('the SDK of OpenAI does not repeat a stream that breaks off, and a limit without a time as often as alone', {
  skip,
}, async t => {
  const { port, calls } = await startProvider(t, (_key, req, res) => {
    if (req.url !== '/v1/chat/completions') return json(res, 429, { error: { message: 'slow down' } });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const content of ['one', 'two'])
      res.write(`data: ${JSON.stringify({ id: 'i', choices: [{ index: 0, delta: { content } }] })}\n\n`);
    setTimeout(() => res.destroy(), 50);
  });
  const { program } = await open(t, 'openai', { a: 'sk-canary-a', b: 'sk-canary-b' }, port);
  const seen = await program(`
    import OpenAI from 'openai';
    const client = new OpenAI();
    const seen = [];
    try {
      const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true });
      for await (const { choices } of stream) seen.push(choices[0].delta.content);
    } catch {
      seen.push('broke off');
    }
    await client.models.list().catch(error => seen.push(error.status));
    console.log(JSON.stringify(seen));`);
  assert.deepEqual(seen, ['one', 'two', 'broke off', 429]);
  const models = Array(3).fill('sk-canary-a GET /v1/models');
  assert.deepEqual(calls, ['sk-canary-a POST /v1/chat/completions', ...models]);
});
