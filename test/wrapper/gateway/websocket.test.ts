// Websockets through a gateway: the provider gets the key, and the program its placeholder back.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { listen } from '../../support/listen.ts';
import { homeFor, openGateway, startProvider } from '../../support/wrapper/gateway.ts';
import { auditOf } from '../../support/wrapper/sandbox.ts';

/** A provider whose sockets take a key as a subprotocol, and repeat each byte and the key. */
async function setUp(t: TestContext, keys: Record<string, string>, refused: Record<string, number> = {}) {
  const provider = await startProvider(t, (_key, _req, res) => void res.writeHead(404).end());
  const asked: string[] = [];
  provider.server.on('upgrade', (req, socket: Duplex) => {
    const key = String(req.headers['sec-websocket-protocol']);
    asked.push(`${key} ${req.headers['sec-websocket-extensions'] ?? 'plain'}`);
    if (refused[key])
      return void socket.end(
        `HTTP/1.1 ${refused[key]} No\r\nContent-Type: text/x\r\nContent-Length: ${key.length}\r\n\r\n${key}`,
      );
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: ${key}\r\n\r\n`;
    socket.write(`${head}hello ${key};`);
    socket.pipe(socket);
  });
  const box = homeFor(t, provider.port, keys);
  const { gateway, key } = await openGateway(t, box);
  const connect = (protocol = key, where = '/crawl/job-12345678') => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': protocol,
      'sec-websocket-extensions': 'permessage-deflate',
    };
    return request(`${gateway.url}${where}`, { headers }).end();
  };
  return { asked, connect, key, gateway, box, server: provider.server };
}

test('the placeholder comes back as the subprotocol, and the key in no byte', async t => {
  const { asked, connect, key } = await setUp(t, { a: 'real-a', b: 'real-b' }, { 'real-a': 402 });
  const [answer, socket, head] = await once(connect(), 'upgrade');
  t.after(() => socket.destroy());
  assert.equal(answer.headers['sec-websocket-protocol'], key);
  let text = head.toString();
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString();
  });
  socket.write('ping');
  const signal = AbortSignal.timeout(20_000);
  while (!text.endsWith('ping')) await once(socket, 'data', { signal });
  assert.equal(text, `hello ${key.slice(0, 6)};ping`);
  assert.deepEqual(asked, ['real-a plain', 'real-b plain']);
});

test('a socket without the placeholder does not reach the provider, and a refusal of the provider goes out', async t => {
  const { asked, connect } = await setUp(t, { a: 'real-a' }, { 'real-a': 403 });
  const [stranger] = await once(connect('fk-other'), 'response');
  assert.equal(stranger.statusCode, 401);
  assert.deepEqual(asked, []);
  const [refused] = await once(connect(), 'response');
  assert.equal(refused.statusCode, 403);
});

test('a refusal of the last account goes out as it is, and names no time that the provider did not', async t => {
  const { connect, key } = await setUp(t, { a: 'real-a', b: 'real-b' }, { 'real-a': 402, 'real-b': 429 });
  const [refused] = await once(connect(), 'response');
  const { 'content-type': type, 'retry-after': rest, 'x-should-retry': again } = refused.headers;
  assert.deepEqual([refused.statusCode, type, rest, again], [429, 'text/x', undefined, undefined]);
  assert.equal(String((await refused.toArray())[0]), key.slice(0, 6));
});

test('a socket that the provider breaks off is in the audit log', async t => {
  const { connect, gateway, box, server } = await setUp(t, { a: 'real-a' });
  server.removeAllListeners('upgrade').on('upgrade', (_req, socket: Duplex) => socket.destroy());
  const [answer] = await once(connect(), 'response');
  assert.equal(answer.statusCode, 502);
  await gateway.close();
  const { account, outcome } = auditOf(box)[0];
  assert.deepEqual([account, outcome], ['a', 'failed']);
});

test('a request for another protocol is forwarded with its body, without that wish, on a connection that stays', async t => {
  const seen: unknown[] = [];
  const server = createServer(async (req, res) => {
    const { upgrade, 'http2-settings': settings, authorization } = req.headers;
    seen.push([req.method, req.url, upgrade, settings, authorization]);
    res.writeHead(200, { 'content-type': 'text/x' }).end((await req.toArray()).join(''));
  });
  const { gateway, key } = await openGateway(t, homeFor(t, await listen(t, server), { a: 'real-a' }));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const wish = { connection: 'Upgrade, HTTP2-Settings', 'http2-settings': 'AAMAAABk' };
  const large = 'x'.repeat(200_000);
  for (const more of [
    { upgrade: 'h2c', ...wish },
    { upgrade: 'websocket', connection: 'Upgrade' },
    { upgrade: 'h2c', ...wish, 'transfer-encoding': 'chunked' },
    {},
  ]) {
    const headers = { authorization: `Bearer ${key}`, ...more };
    const asking = request(`${gateway.url}/scrape`, { method: 'POST', agent, headers });
    asking.end(large);
    const [answer] = await once(asking, 'response');
    assert.equal((await answer.toArray()).join(''), large);
    assert.equal(seen.length > 1, asking.reusedSocket);
  }
  assert.deepEqual(seen, Array(4).fill(['POST', '/scrape', undefined, undefined, 'Bearer real-a']));
});

test('the answer of a provider without a websocket is passed whole, and has its cost', async t => {
  const { connect, server, gateway, box, key } = await setUp(t, { a: 'real-a' });
  const large = `real-a${'x'.repeat(300_000)}`;
  server.removeAllListeners('upgrade').removeAllListeners('request');
  server.on('request', (_req, res) => res.writeHead(200, { 'content-length': large.length }).end(large));
  const [answer] = await once(connect(key, '/search'), 'response');
  assert.equal((await answer.toArray()).join(''), large.replace('real-a', key.slice(0, 6)));
  await gateway.close();
  const { account, outcome, cost } = auditOf(box)[0];
  assert.deepEqual([account, outcome, cost], ['a', 'ok', 1]);
});

test('a wrong key as a further subprotocol stops no account', async t => {
  const { connect, asked, key, server } = await setUp(t, { a: 'real-a', b: 'real-b' });
  server.removeAllListeners('upgrade').on('upgrade', (req, socket: Duplex) => {
    asked.push(String(req.headers.authorization));
    const body = '{"error":"Invalid API key"}';
    socket.end(`HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  for (const wrong of ['insecure-api-key.other', 'fk-other']) {
    const [answer] = await once(connect(`${key}, ${wrong}`), 'response');
    assert.equal(answer.statusCode, 401);
  }
  assert.deepEqual(asked, ['Bearer real-a', 'Bearer real-a']);
  await once(connect(key), 'response');
  assert.deepEqual(asked.slice(2), ['Bearer real-a', 'Bearer real-b']);
});
