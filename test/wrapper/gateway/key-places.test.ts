// A key replaces the placeholder where the provider expects a key, and nowhere else in a request.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createProvider, request } from 'node:http';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import {
  keysInProtocols,
  withKeyInAddress,
  withKeyInBody,
  withKeyInProtocols,
} from '../../../wrapper/gateway/key-places.ts';
import { listen } from '../../support/listen.ts';
import { contextOf, json, openShippedAt } from '../../support/wrapper/gateway.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';

const KEY = 'real-canary-key';

/** A provider that keeps all bytes of programs, and answers each request. */
async function startRecorder(t: TestContext) {
  let bytes = '';
  const server = createServer(socket => {
    let text = '';
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    socket.on('data', chunk => {
      text += chunk.toString('latin1');
      const [head = '', ...body] = text.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body.length === 0 || body.join('').length < length) return;
      // the gateway also asks for the remaining quota
      if (!head.startsWith('GET /usage ')) bytes += text;
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
  });
  const port = await listen(t, server);
  const take = () => {
    const taken = bytes;
    bytes = '';
    return taken;
  };
  return { port, take };
}

const HEADERS = ['X-Forward', 'Referer', 'User-Agent', 'X-P-Key', 'Accept'];

/** Requests that carry a placeholder in every place, by name. */
function attacks(placeholder: string) {
  const named = Object.fromEntries(HEADERS.map(name => [name, `see ${placeholder}`]));
  const nested = { url: `https://evil.example/?k=${placeholder}`, headers: { authorization: placeholder } };
  const form = 'application/x-www-form-urlencoded';
  return {
    query: { where: `/v2/scrape?k=${placeholder}&tavilyApiKey=${placeholder}` },
    path: { where: `/v2/${placeholder}/scrape/${placeholder}` },
    'path like the MCP server': { where: `/v2/${placeholder}/mcp` },
    headers: { headers: named },
    'value in a body': { body: JSON.stringify(nested) },
    'name in a body': { body: JSON.stringify({ [placeholder]: 1, text: `${placeholder}${placeholder}` }) },
    'deep in a body': { body: JSON.stringify({ data: { api_key: placeholder }, list: [{ api_key: placeholder }] }) },
    'list as a body': { body: JSON.stringify([{ api_key: placeholder }, placeholder]) },
    'text as a body': { body: `${placeholder} "api_key":"${placeholder}"` },
    form: { body: `api_key=${placeholder}&url=${placeholder}`, headers: { 'content-type': form } },
    'a large body': { body: JSON.stringify({ text: 'x'.repeat(1_200_000), url: placeholder, api_key: placeholder }) },
  } satisfies Record<string, { where?: string; body?: string; headers?: Record<string, string> }>;
}

for (const cli of [
  'firecrawl',
  'tvly',
  'exa',
  'openai',
  'elevenlabs',
  'deepl',
  'brave',
  'context7',
  'jina',
  'openrouter',
])
  test(`the key for ${cli} leaves in its header only, wherever a program writes its placeholder`, async t => {
    const { port, take } = await startRecorder(t);
    const { url, placeholder, http } = await openShippedAt(t, cli, { a: KEY }, port);
    const scheme = http.key_header === 'authorization' ? `${http.key_scheme} ` : '';
    const own = { [http.key_header]: `${scheme}${placeholder}` };
    for (const [what, each] of Object.entries(attacks(placeholder))) {
      const { where, body, headers } = { where: '/v2/scrape', body: undefined, headers: {}, ...each };
      const asking = request(`${url}${where}`, { method: 'POST', agent: false, headers: { ...headers, ...own } });
      asking.on('error', () => {});
      const [answer] = await once(asking.end(body), 'response');
      answer.resume();
      const sent = take();
      const lines = sent.split('\r\n').filter(line => line.includes(KEY));
      assert.deepEqual(lines, [`${http.key_header}: ${scheme}${KEY}`], what);
      if (what !== 'a large body') assert.ok(sent.includes(placeholder), what);
    }
  });

const shipped = (t: TestContext, cli: string) => loadCatalog(contextOf(sandbox(t)).catalog, '').providers[cli]!.http!;

test('the address of an MCP server has one place for the key', t => {
  const [firecrawl, tvly] = [shipped(t, 'firecrawl'), shipped(t, 'tvly')];
  const replaced = (target: string, http = firecrawl) => withKeyInAddress(target, http, 'fc-1', 'a$$b$&');
  assert.equal(replaced('/fc-1/v2/mcp?x=fc-1'), '/a$$b$&/v2/mcp?x=fc-1');
  for (const elsewhere of ['/v2/mcp/fc-1', '/fc-1/fc-1/v2/mcp', '/fc-12/v2/mcp', '/fc-1/v2/mcp/more', '/?fc-1/v2/mcp'])
    assert.equal(replaced(elsewhere), elsewhere);
  assert.equal(replaced('/mcp/?x=fc-1&tavilyApiKey=fc-1', tvly), '/mcp/?x=fc-1&tavilyApiKey=a$$b$&');
  assert.equal(replaced('/mcp/?tavilyApiKey=old&tavilyApiKey=', tvly), '/mcp/?tavilyApiKey=a$$b$&&tavilyApiKey=a$$b$&');
  for (const elsewhere of ['/mcp/?x=fc-1', '/search?tavilyApiKey=fc-1', '/fc-1/mcp'])
    assert.equal(replaced(elsewhere, tvly), elsewhere);
});

test('a field at the top of a body has the key, and the rest of the body stays', t => {
  const replaced = (text: string) => withKeyInBody(Buffer.from(text), shipped(t, 'tvly'), 'key "1"').toString();
  assert.equal(
    replaced('{"api_key":"tvly-1","query":"tvly-1 é 中"}'),
    '{"api_key":"key \\"1\\"","query":"tvly-1 é 中"}',
  );
  const exact = (key: string) =>
    `{ "n": 12345678901234567890, "a": 1, "a": 2, "\\u0061pi_key" : "${key}",\n "in": {"api_key": "tvly-1"} }`;
  for (const other of ['tvly-1', 'tvly-old', '\\u0074vly-1', ''])
    assert.equal(replaced(exact(other)), exact('key \\"1\\"'));
  assert.equal(replaced('\uFEFF{"api_key":"tvly-1"}'), '\uFEFF{"api_key":"key \\"1\\""}');
  for (const same of ['{"api_key":["tvly-1"]}', '{"key":"tvly-1"}', '["tvly-1"]', 'tvly-1'])
    assert.equal(replaced(same), same);
});

test('a subprotocol is the key, or ends with it', () => {
  const replaced = (text: string) => withKeyInProtocols(text, 'sk-1', 'key');
  assert.equal(replaced('realtime, openai-insecure-api-key.sk-1,v1'), 'realtime, openai-insecure-api-key.key, v1');
  assert.equal(replaced('sk-1'), 'key');
  assert.equal(replaced('sk-1x, xsk-1'), 'sk-1x, xsk-1');
  assert.ok(keysInProtocols('realtime, openai-insecure-api-key.sk-1, v1').includes('sk-1'));
});

/** A body with its key, as a provider may read it: in JSON, also in UTF-16, and as a form. */
function keyInBody(body: Buffer): unknown {
  const text = body.toString(body[0] === 0xff ? 'utf16le' : 'utf8').replace(/^\uFEFF/, '');
  return text.startsWith('{') ? JSON.parse(text).api_key : new URLSearchParams(text).get('api_key');
}

test('a program with a wrong key in another place stops no account', async t => {
  let asked = 0;
  const server = createProvider(async (req, res) => {
    if (req.url !== '/usage') asked += 1;
    const body = Buffer.concat(await req.toArray());
    const own = String(req.headers.authorization).slice('Bearer '.length);
    const { searchParams } = new URL(req.url!, 'http://localhost');
    const sent = keyInBody(body) ?? searchParams.get('tavilyApiKey') ?? searchParams.get('api_key') ?? own;
    json(res, sent === KEY ? 200 : 401, { detail: { error: 'Unauthorized: missing or invalid API key.' } });
  });
  const { url, placeholder } = await openShippedAt(t, 'tvly', { a: KEY, b: 'real-b' }, await listen(t, server));
  const post = async (body: string | Buffer, where = '/search', type = 'application/json') => {
    const headers = { authorization: `Bearer ${placeholder}`, 'content-type': type };
    return (await fetch(`${url}${where}`, { method: 'POST', headers, body })).status;
  };
  const old = JSON.stringify({ query: 'x', api_key: 'tvly-old' });
  assert.deepEqual(
    [await post(old), await post(`\uFEFF${old}`), await post('{}', '/mcp?tavilyApiKey=old')],
    [200, 200, 200],
  );
  const form = 'application/x-www-form-urlencoded';
  assert.equal(await post('api_key=old', '/search', form), 401);
  assert.equal(await post(Buffer.from(`\uFEFF${old}`, 'utf16le')), 401);
  assert.equal(await post(JSON.stringify({ api_key: placeholder, text: 'x'.repeat(1_100_000) })), 401);
  assert.equal(await post('{"api_key":["old"]}'), 401);
  assert.equal(await post('{}', '/search?api_key=old'), 401);
  assert.equal(asked, 8, 'no other account was tried');
  assert.equal(await post('{}'), 200);
});

test('a refusal of a body that can hold no key, such as a list, pauses the account', async t => {
  const server = createProvider((req, res) => json(res, req.headers.authorization === `Bearer ${KEY}` ? 200 : 401, {}));
  const { url, placeholder } = await openShippedAt(t, 'tvly', { a: 'real-b', b: KEY }, await listen(t, server));
  const headers = { authorization: `Bearer ${placeholder}`, 'content-type': 'application/json' };
  assert.equal((await fetch(`${url}/search`, { method: 'POST', headers, body: '[{"query":"x"}]' })).status, 200);
});
