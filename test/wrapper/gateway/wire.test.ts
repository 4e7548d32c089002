// All bytes between a program and a gateway: no real key among them, and methods, expectations and trailers as HTTP has them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
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

/** Ways in which honest programs write a key with special characters. */
const FORMS: Record<string, (key: string) => string> = {
  plain: key => key,
  'JSON with escaped slashes': key => JSON.stringify(key).slice(1, -1).replaceAll('/', '\\/'),
  'percent-encoded': key => encodeURIComponent(key),
  'percent-encoded in small letters': key => encodeURIComponent(key).replace(/%../g, code => code.toLowerCase()),
  Base64: key => Buffer.from(key).toString('base64'),
  'Base64 behind a name': key => Buffer.from(`user:${key}`).toString('base64'),
  'Base64 for addresses': key => Buffer.from(key).toString('base64url'),
};

const PLACES: Record<string, (text: string, res: ServerResponse) => unknown> = {
  header: (text, res) => res.writeHead(200, { 'x-seen': `k=${text};` }).end('{}'),
  body: (text, res) => res.writeHead(200, { 'content-type': 'application/json' }).end(`{"key":"${text}"}`),
  error: (text, res) => res.writeHead(400, { 'content-type': 'application/json' }).end(`{"error":"${text}"}`),
  events: (text, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`data: ${text.slice(0, 9)}`);
    setImmediate(() => res.end(`${text.slice(9)}\n\n`));
  },
  trailer: (text, res) => {
    res.writeHead(200, { trailer: 'x-key', 'transfer-encoding': 'chunked' });
    res.addTrailers({ 'x-key': text });
    res.end('x');
  },
};

test('a key is hidden in each form in which programs write one, wherever it stands', async t => {
  const key = 'real/canary+0123456789/x==';
  const { url, placeholder, http } = await openShipped(t, 'tvly', { a: key }, (_key, req, res) => {
    const [, place, form] = req.url!.split('/').map(decodeURIComponent);
    PLACES[place!]!(FORMS[form!]!(key), res);
  });
  for (const place of Object.keys(PLACES))
    for (const form of Object.keys(FORMS)) {
      const target = `/${place}/${encodeURIComponent(form)}`;
      const text = await bytesOf(url, [
        `GET ${target} HTTP/1.1`,
        `${http.key_header}: ${http.key_scheme} ${placeholder}`,
      ]);
      assert.match(text, /^HTTP\/1\.1 [24]00/, `${place}, ${form}: ${text}`);
      // the ends of Base64 mix with what is around
      assert.ok(!text.includes(FORMS[form]!(key).slice(8, -8)), `${place}, ${form}: ${text}`);
    }
});

const HEADERS = (bytes: number) => `x: ${'x'.repeat(bytes)}\r\n`;
/** Answers that break the protocol, or that could hide a key. */
const BROKEN: Record<string, string | Buffer> = {
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc',
  'length and chunks': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a bare CR': 'HTTP/1.1 200 OK\r\nx: a\rb\r\nContent-Length: 0\r\n\r\n',
  'headers of 20 kB': `HTTP/1.1 200 OK\r\n${HEADERS(20_000)}\r\n`,
  'headers of 3 MB': `HTTP/1.1 200 OK\r\n${HEADERS(1_000).repeat(3_000)}\r\n`,
  'no HTTP': 'hello\r\n\r\n',
  compressed: Buffer.concat([
    Buffer.from('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n'),
    gzipSync(KEY),
  ]),
  'a compressed error': Buffer.concat([
    Buffer.from('HTTP/1.1 400 x\r\nContent-Encoding: br\r\nConnection: close\r\n\r\n'),
    gzipSync(KEY),
  ]),
};

test('a broken answer of the provider is 502 with a sentence, and the next request is answered', async t => {
  const { url, placeholder, http } = await openShipped(t, 'tvly', { a: KEY }, (_key, req, res) => {
    const broken = BROKEN[decodeURIComponent(req.url!.slice(1))];
    if (broken === undefined) return json(res, 200, {});
    req.socket.on('error', () => {});
    req.socket.end(broken);
  });
  const ask = (target: string) =>
    bytesOf(url, [
      `GET /${encodeURIComponent(target)} HTTP/1.1`,
      `${http.key_header}: ${http.key_scheme} ${placeholder}`,
    ]);
  for (const what of Object.keys(BROKEN)) {
    const text = await ask(what);
    assert.match(text, /^HTTP\/1\.1 502 .*The provider gave a broken answer: /s, `${what}: ${text}`);
    assert.match(await ask('good'), /^HTTP\/1\.1 200 /, what);
  }
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
