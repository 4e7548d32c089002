// All bytes between a program and a gateway: no real key among them, and methods, expectations and trailers as HTTP has them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { homeFor, json, openGateway, openShipped, startProvider } from '../../support/wrapper/gateway.ts';

const KEY = 'real-canary-0123456789';

/** Answers of a provider that repeats the key wherever it can. */
const REPEATS: Record<string, (key: string, res: ServerResponse) => unknown> = {
  json: (key, res) => json(res, 200, { key, nested: [`Bearer ${key}`], url: `https://site.example/?k=${key}` }),
  refusal: (key, res) => json(res, 400, { error: `${key} may not do this` }),
  headers: (key, res) =>
    res.writeHead(302, key, { location: `https://site.example/${key}`, 'set-cookie': `k=${key}`, 'x-key': key }).end(),
  stream: (key, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`data: ${key.slice(0, 7)}`);
    setImmediate(() => res.end(`${key.slice(7)}\n\n`));
  },
  trailers: (key, res) => {
    res.writeHead(200, { trailer: 'x-key', 'transfer-encoding': 'chunked' });
    res.addTrailers({ 'x-key': key });
    res.end(key);
  },
};

/** Sends a request and gives all bytes that come back, until the gateway closes the connection. */
async function bytesOf(url: string, lines: string[], body = ''): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const [start, ...headers] = lines;
  socket.write([start, `Host: ${host}`, 'Connection: close', ...headers, '', body].join('\r\n'));
  let text = '';
  for await (const chunk of socket) text += chunk.toString('latin1');
  return text;
}

for (const cli of ['firecrawl', 'tvly', 'exa', 'openai', 'elevenlabs', 'deepl'])
  test(`the bytes that a program of ${cli} gets hold no key`, async t => {
    const { url, placeholder, http } = await openShipped(t, cli, { a: KEY }, (_key, req, res) =>
      (REPEATS[req.url!.slice(1)] ?? REPEATS.json)!(KEY, res),
    );
    const scheme = http.key_header === 'authorization' ? `${http.key_scheme} ` : '';
    for (const what of Object.keys(REPEATS)) {
      const text = await bytesOf(url, [`GET /${what} HTTP/1.1`, `${http.key_header}: ${scheme}${placeholder}`]);
      assert.match(text, /^HTTP\/1\.1 [234]/, what);
      assert.ok(!text.includes(KEY), `${what}: ${text}`);
    }
    assert.ok(!(await bytesOf(url, ['GET /json HTTP/1.1'])).includes(KEY), 'without a placeholder');
  });

/** A gateway in front of a provider that keeps what it reads. */
async function setUp(t: Parameters<typeof startProvider>[0], keys: Record<string, string> = { a: KEY }) {
  const seen: { line: string; headers: IncomingMessage['headers']; trailers: object; body: string }[] = [];
  const provider = await startProvider(t, () => {});
  provider.server.removeAllListeners('request').on('request', async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { method, headers, trailers } = req;
    seen.push({ line: `${method} ${req.url}`, headers, trailers, body });
    if (headers.authorization?.endsWith('-out')) return json(res, 402, {});
    res.writeHead(200, { 'content-type': 'text/plain', 'content-length': 4 }).end(method === 'HEAD' ? '' : 'done');
  });
  const { gateway, key, ask } = await openGateway(t, homeFor(t, provider.port, keys));
  return { url: gateway.url, own: `Authorization: Bearer ${key}`, ask, seen };
}

test('HEAD gets the headers and no body, and PATCH moves to the next account with its body', async t => {
  const { ask, seen } = await setUp(t, { a: 'key-out', b: KEY });
  const head = await ask('/x', { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '4', '']);
  const patch = await ask('/x', { method: 'PATCH', body: 'changed' });
  assert.equal(await patch.text(), 'done');
  assert.deepEqual(
    seen.map(({ line, body }) => `${line} ${body}`.trim()),
    ['HEAD /x', 'HEAD /x', 'PATCH /x changed'],
  );
});

test('a program that waits for leave gets it, and sends its body then', async t => {
  const { url, own, seen } = await setUp(t);
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    ['POST /x HTTP/1.1', `Host: ${host}`, own, 'Expect: 100-continue', 'Content-Length: 4', '', ''].join('\r\n'),
  );
  const [first] = await once(socket, 'data');
  assert.equal(String(first), 'HTTP/1.1 100 Continue\r\n\r\n');
  assert.equal(seen.length, 0);
  socket.write('body');
  const [second] = await once(socket, 'data');
  assert.match(String(second), /^HTTP\/1\.1 200 /);
  socket.destroy();
  assert.deepEqual(
    seen.map(({ body, headers }) => [body, headers.expect]),
    [['body', undefined]],
  );
});

test('trailers of a program end at the gateway, and its body is whole', async t => {
  const { url, own, seen } = await setUp(t);
  const chunks = '4\r\nbody\r\n0\r\nX-Api-Key: other\r\n\r\n';
  const text = await bytesOf(
    url,
    ['POST /x HTTP/1.1', own, 'Trailer: X-Api-Key', 'Transfer-Encoding: chunked'],
    chunks,
  );
  assert.match(text, /^HTTP\/1\.1 200 .*done$/s);
  assert.deepEqual(
    seen.map(({ body, headers, trailers }) => [body, headers.trailer, trailers]),
    [['body', undefined, {}]],
  );
});
