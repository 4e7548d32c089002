// Load on a gateway: many simultaneous requests, large bodies, and a provider that never answers.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { listen } from '../../support/listen.ts';
import { FULL } from '../../support/thoroughness.ts';
import { homeFor, json, openGateway, startProvider } from '../../support/wrapper/gateway.ts';

/** Requests for each account; a full run makes 1,000 in all. */
const EACH = FULL ? 200 : 40;
const MIB = 1024 * 1024;
const UPLOAD = FULL ? 50 : 10;

const KEYS = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(name => [name, `real-${name}`]));

/** A provider that counts credits: beyond them it answers 402, and takes nothing. */
async function countingProvider(t: TestContext, credits: number) {
  const spent = new Map<string, number>();
  let refused = 0;
  const { port } = await startProvider(t, (key, req, res) => {
    const used = spent.get(key) ?? 0;
    if (req.url === '/usage') return json(res, 200, { remaining: credits - used, limit: credits });
    if (used >= credits) {
      refused += 1;
      return json(res, 402, { error: 'no credits' });
    }
    spent.set(key, used + 1);
    json(res, 200, {});
  });
  return { port, spent, refused: () => refused };
}

async function askAll(url: string, key: string, count: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const one = async () => {
    const asking = request(`${url}/scrape`, { method: 'POST', agent, headers: { authorization: `Bearer ${key}` } });
    const [answer] = await once(asking.end('{}'), 'response');
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode as number;
  };
  const statuses = await Promise.all(Array.from({ length: count }, one));
  agent.destroy();
  return statuses;
}

test('simultaneous requests over five accounts spend every credit once', async t => {
  const { port, spent } = await countingProvider(t, EACH);
  const { gateway, key } = await openGateway(t, homeFor(t, port, KEYS));
  const statuses = await askAll(gateway.url, key, 5 * EACH);
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.deepEqual([...spent.values()], Array(5).fill(EACH));
});

test('simultaneous requests leave the reserve of every account alone, and none meets a limit', async t => {
  const { port, spent, refused } = await countingProvider(t, EACH + 10);
  const usage = `[providers.fake.usage]\nurl = "http://127.0.0.1:${port}/usage"\nremaining = "remaining"\nlimit = "limit"\n`;
  const box = homeFor(t, port, KEYS, usage);
  box.configure('[capacity.fake]\nreserve = 10\n');
  const { gateway, key } = await openGateway(t, box);
  const statuses = await askAll(gateway.url, key, 5 * EACH);
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.deepEqual([...spent.values()], Array(5).fill(EACH));
  assert.equal(refused(), 0);
});

test('connections that a program opens together stay open until it asks', { skip: !FULL }, async t => {
  const { port } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const { gateway, key } = await openGateway(t, homeFor(t, port, KEYS));
  const { port: at, host } = new URL(gateway.url);
  const text = `GET /x HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const sockets = Array.from({ length: 1_200 }, () => connect(Number(at), '127.0.0.1').on('error', () => {}));
  t.after(() => sockets.map(socket => socket.destroy()));
  const ask = async (socket: Socket) => {
    socket.write(text);
    for await (const bytes of socket) return String(bytes).split('\r\n', 1)[0];
    return 'closed';
  };
  // the gateway has accepted all of them when it answers on the last one
  const asked = [await ask(sockets.at(-1)!), ...(await Promise.all(sockets.slice(0, 20).map(ask)))];
  assert.deepEqual(new Set(asked), new Set(['HTTP/1.1 200 OK']));
});

test('a body that is too large to be kept goes up and comes down whole', async t => {
  const block = randomBytes(MIB);
  const hash = createHash('sha256');
  for (let count = 0; count < UPLOAD; count += 1) hash.update(block);
  const expected = hash.digest('hex');
  // it answers with what it gets
  const provider = createServer((req, res) => void req.pipe(res));
  const port = await listen(t, provider);
  const { gateway, key } = await openGateway(t, homeFor(t, port, KEYS));
  const asking = request(`${gateway.url}/parse`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
  const answered = once(asking, 'response');
  const send = async () => {
    for (let count = 0; count < UPLOAD; count += 1) if (!asking.write(block)) await once(asking, 'drain');
    asking.end();
  };
  const sent = send();
  const [answer] = await answered;
  const seen = createHash('sha256');
  let bytes = 0;
  for await (const chunk of answer) {
    seen.update(chunk);
    bytes += chunk.length;
  }
  await sent;
  assert.deepEqual([bytes, seen.digest('hex')], [UPLOAD * MIB, expected]);
});

test('a provider that never answers is asked once, and the answer says not to ask again', async t => {
  const { port, calls } = await startProvider(t, () => {});
  const box = homeFor(t, port, KEYS);
  fs.appendFileSync(path.join(box.config, 'providers.toml'), 'answer_within = "200ms"\n');
  const { ask } = await openGateway(t, box);
  const answer = await ask('/scrape', { method: 'POST', body: '{}' });
  assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [500, 'false']);
  assert.equal(calls.length, 1);
});
