// Websockets through a gateway: the provider gets the key, and the program its placeholder back.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { request } from 'node:http';
import * as path from 'node:path';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { homeFor, openGateway, startProvider } from '../../support/wrapper/gateway.ts';

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
  const connect = (protocol = key) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': protocol,
      'sec-websocket-extensions': 'permessage-deflate',
    };
    return request(`${gateway.url}/crawl/job-12345678`, { headers }).end();
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

test('a refusal of the last account goes out as it is, and says when to ask again', async t => {
  const { connect, key } = await setUp(t, { a: 'real-a', b: 'real-b' }, { 'real-a': 402, 'real-b': 429 });
  const [refused] = await once(connect(), 'response');
  const { 'content-type': type, 'retry-after': rest, 'x-should-retry': again } = refused.headers;
  assert.deepEqual([refused.statusCode, type, rest, again], [429, 'text/x', '60', 'false']);
  assert.equal(String((await refused.toArray())[0]), key.slice(0, 6));
});

test('a socket that the provider breaks off is in the audit log', async t => {
  const { connect, gateway, box, server } = await setUp(t, { a: 'real-a' });
  server.removeAllListeners('upgrade').on('upgrade', (_req, socket: Duplex) => socket.destroy());
  const [answer] = await once(connect(), 'response');
  assert.equal(answer.statusCode, 502);
  await gateway.close();
  const { account, outcome } = JSON.parse(fs.readFileSync(path.join(box.state, 'audit.jsonl'), 'utf8'));
  assert.deepEqual([account, outcome], ['a', 'failed']);
});
