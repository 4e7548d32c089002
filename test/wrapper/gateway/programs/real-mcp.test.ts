// The MCP servers of npm behind `culvert-wrap mcp`, in front of a provider that counts.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { clientOf } from '../../../support/wrapper/fake-mcp.ts';
import { startFirecrawl } from '../../../support/wrapper/firecrawl-provider.ts';
import { json, type Respond, shippedHome, startProvider } from '../../../support/wrapper/gateway.ts';
import { realPrograms } from '../../../support/wrapper/real-programs.ts';
import { buildWrapper, type Sandbox } from '../../../support/wrapper/sandbox.ts';

const { skip, node, file } = await realPrograms(['firecrawl-mcp@3.26.0', 'tavily-mcp@0.2.22', 'exa-mcp-server@3.4.1']);

/** A client of a server behind `culvert-wrap mcp`, which sees no key. */
function open(t: TestContext, box: Sandbox, command: readonly string[]) {
  const child = box.start(process.execPath, [buildWrapper(), 'mcp', '--', ...command]);
  const client = clientOf(child);
  t.after(() => assert.doesNotMatch(client.lines().join('\n') + client.stderr(), /canary/));
  const call = async (id: number, name: string, args: object) => {
    client.send({ id, method: 'tools/call', params: { name, arguments: args } });
    const { result, error } = await client.answer(id);
    if (error) return { text: error.message, isError: true };
    return { text: result.content[0]!.text, isError: result.isError ?? false };
  };
  /** Processes below this one that run a script, by their arguments. */
  const serversOf = (name: string) =>
    fs.readdirSync('/proc').filter(pid => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words[0] === node && words.some(word => word.includes(name)) && parentOf(pid) === child.pid;
      } catch {
        return false;
      }
    });
  return { ...client, call, serversOf };
}

function parentOf(pid: string): number {
  return Number(/PPid:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Begins as clients of the protocol before 2026-07-28 do, after they have asked for the newer one in vain. */
async function begin({ send, answer }: Pick<ReturnType<typeof open>, 'send' | 'answer'>): Promise<void> {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  send({ id: 'discover', method: 'server/discover', params: { _meta } });
  assert.ok((await answer('discover')).error);
  const clientInfo = { name: 'test', version: '1.0.0' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', clientInfo, capabilities: {} } });
  assert.ok((await answer(1)).result);
  send({ method: 'notifications/initialized' });
}

test('firecrawl-mcp uses the gateway: no key reaches it, and it is not started again', { skip }, async t => {
  const { port, spent } = await startFirecrawl(t, 1);
  const { box } = shippedHome(t, 'firecrawl', { a: 'fc-canary-a', b: 'fc-canary-b' }, port);
  const client = open(t, box, [node, file('firecrawl-mcp/dist/index.js')]);
  await begin(client);
  const [pid] = client.serversOf('firecrawl-mcp');
  assert.doesNotMatch(fs.readFileSync(`/proc/${pid}/environ`, 'utf8'), /canary/);
  const scrape = (id: number) => client.call(id, 'firecrawl_scrape', { url: 'https://site.example' });
  for (const id of [2, 3]) assert.equal((await scrape(id)).isError, false);
  assert.deepEqual([...spent.values()], [1, 1]);
  // no account is left, and what the provider says comes through
  const last = await scrape(4);
  assert.equal(last.isError, true);
  assert.match(last.text, /Insufficient credits/);
  assert.deepEqual(client.serversOf('firecrawl-mcp'), [pid]);
});

/**
 * A script that starts a server whose address cannot be set, and sends what is for the API to a provider on loopback. Its path is one
 * by which the server is recognized.
 */
function redirected(box: Sandbox, script: string, port: number): string {
  const start = path.join(box.home, 'node_modules', script.split('/')[0]!, 'start.cjs');
  fs.mkdirSync(path.dirname(start), { recursive: true });
  fs.writeFileSync(
    start,
    `
const http = require('node:http'), https = require('node:https');
https.request = (options, done) => http.request({ ...options, protocol: 'http:', host: '127.0.0.1', hostname: '127.0.0.1', port: ${port}, agent: undefined, agents: undefined }, done);
const fetched = globalThis.fetch;
globalThis.fetch = (url, init) => fetched('http://127.0.0.1:${port}' + new URL(url.url ?? url).pathname, init);
import(${JSON.stringify(file(script))});`,
  );
  return start;
}

const LIMIT = "This request exceeds your plan's set usage limit. Please upgrade your plan.";
const found = (content: string) => ({ query: 'x', results: [{ title: 't', url: 'u', content, score: 1 }] });

/** A server whose address cannot be set, and a search of it. */
const SERVERS = {
  tvly: { script: 'tavily-mcp/build/index.js', tool: 'tavily_search', prefix: 'tvly-' },
  exa: { script: 'exa-mcp-server/dist/stdio.cjs', tool: 'web_search_exa', prefix: '' },
};

async function openFixed(t: TestContext, cli: keyof typeof SERVERS, respond: Respond) {
  const { script, tool, prefix } = SERVERS[cli];
  const { port, calls } = await startProvider(t, respond);
  const { box } = shippedHome(t, cli, { a: `${prefix}canary-a`, b: `${prefix}canary-b` }, port);
  const client = open(t, box, [node, redirected(box, script, port)]);
  await begin(client);
  const search = (id: number) => client.call(id, tool, { query: 'x' });
  const asked = () =>
    calls.filter(call => / POST \/search$/.test(call)).map(call => call.slice(`${prefix}canary-`.length));
  return { ...client, search, asked };
}

const openTavily = (t: TestContext, respond: Respond) => openFixed(t, 'tvly', respond);

test('tavily-mcp is started with the next key when the plan of the first has nothing left', { skip }, async t => {
  const { search, asked, serversOf } = await openTavily(t, (key, _req, res) => {
    const isOut = key === 'tvly-canary-a';
    json(res, isOut ? 432 : 200, isOut ? { detail: { error: LIMIT } } : found('from b'));
  });
  const first = serversOf('tavily-mcp');
  assert.match((await search(2)).text, /from b/);
  assert.deepEqual(asked(), ['a POST /search', 'b POST /search']);
  assert.match((await search(3)).text, /from b/);
  const second = serversOf('tavily-mcp');
  assert.equal(second.length, 1);
  assert.notDeepEqual(second, first);
});

test('a page that quotes an error of the API is content', { skip }, async t => {
  const { search, asked } = await openTavily(t, (_key, _req, res) =>
    json(res, 200, found(`Tavily API error: {"error":"${LIMIT}"}`)),
  );
  for (const id of [2, 3]) assert.equal((await search(id)).isError, false);
  assert.deepEqual(asked(), ['a POST /search', 'a POST /search']);
});

test('a refused key of tavily-mcp leads to the next one', { skip }, async t => {
  const { search, asked } = await openTavily(t, (key, _req, res) =>
    json(
      res,
      key === 'tvly-canary-a' ? 401 : 200,
      key === 'tvly-canary-a' ? { detail: { error: 'Unauthorized: missing or invalid API key.' } } : found('b'),
    ),
  );
  assert.equal((await search(2)).isError, false);
  assert.deepEqual(asked(), ['a POST /search', 'b POST /search']);
});

test('tavily-mcp that is killed in a call is started again, and the call is not repeated', { skip }, async t => {
  let kill: () => void = () => {};
  const opened = await openTavily(t, (_key, _req, res) => {
    if (opened.asked().length > 1) return json(res, 200, found('again'));
    kill();
  });
  const { search, asked, serversOf } = opened;
  kill = () => process.kill(Number(serversOf('tavily-mcp')[0]), 'SIGKILL');
  assert.match((await search(2)).text, /not repeated/);
  assert.match((await search(3)).text, /again/);
  assert.deepEqual(asked(), ['a POST /search', 'a POST /search']);
});

/** Errors of the newest servers that say that the first account can't be used. */
const NEWEST: [cli: keyof typeof SERVERS, status: number, body: object][] = [
  ['tvly', 432, { error: { code: 'api_limit_reached', message: LIMIT } }],
  ['tvly', 401, { error: { code: 'authentication_failed', message: 'Your API key is invalid.' } }],
  ['tvly', 429, { error: { code: 'rate_limited', message: 'Too many requests.', retry_after_seconds: 3600 } }],
  ['exa', 401, { error: 'Invalid API key', tag: 'INVALID_API_KEY' }],
  ['exa', 402, { error: 'You have exceeded your credits limit.', tag: 'NO_MORE_CREDITS' }],
  ['exa', 429, { error: 'You have exceeded your rate limit.' }],
];

for (const [cli, status, body] of NEWEST)
  test(`an answer of ${status} to ${cli} that is in the newest form (${Object.keys(body)}) leads to the next key`, {
    skip,
  }, async t => {
    const { search, asked } = await openFixed(t, cli, (key, _req, res) =>
      json(res, key.endsWith('-a') ? status : 200, key.endsWith('-a') ? body : found('from b')),
    );
    assert.equal((await search(2)).isError, false);
    assert.deepEqual(asked(), ['a POST /search', 'b POST /search']);
  });
