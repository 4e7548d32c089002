// Clients that send pipelined requests and read no answers: the owner is answered in time, and the memory stays bounded.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { flooding, residentMegabytes, type Server } from '../../support/daemon/flooding.ts';
import { open, raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { temporary } from '../../support/temporary.ts';
import { FULL, sample } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const isRoot = process.getuid!() === 0;
const { start, attack } = flooding(temporary({ after }));
/** A request of the owner; the defect took up to 80 seconds on a machine with less to do. */
const LIMIT_MS = 20_000;
const MEGABYTES = 120;
const ROUNDS = FULL ? 4 : 2;

/** Asks as the owner, over both listeners, while clients send. */
async function ask({ pid, port, socket }: Server, shape: string): Promise<void> {
  const before = residentMegabytes(pid);
  for (let round = 0; round < ROUNDS; round++)
    for (const [target, host] of [
      [{ port }, `127.0.0.1:${port}`],
      [{ path: socket }, 'localhost'],
    ] as const) {
      const begun = performance.now();
      const answer = await raw(target, request('GET /api/health', host, { connection: 'close' }));
      assert.equal(answer.status, 200, shape);
      assert.ok(performance.now() - begun < LIMIT_MS, `${shape}: answered after ${performance.now() - begun} ms`);
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  const grown = residentMegabytes(pid) - before;
  assert.ok(grown < MEGABYTES, `${shape}: grew by ${grown} MB`);
}

for (const shape of sample(['openapi', 'health', 'slow', 'bare'], 1))
  test(`another user who sends requests (${shape}) and reads nothing`, { skip: !isRoot && 'needs root' }, async t => {
    const server = await start(t);
    await attack(t, String(server.port), shape, 65534);
    await ask(server, shape);
  });

/** A short run tries the first two: an answer of the usual length, and one that is refused. */
const SHAPES = ['snapshot', 'invalid', 'openapi', 'missing', 'bare', 'head', 'header', 'foreign'];
for (const shape of FULL ? SHAPES : SHAPES.slice(0, 2))
  test(`a program of this user that sends requests (${shape}) and reads nothing`, async t => {
    const server = await start(t);
    const children = [await attack(t, String(server.port), shape, null), await attack(t, server.socket, shape, null)];
    await ask(server, shape);
    for (const child of children) child.kill('SIGKILL');
    await until(
      async () =>
        (await raw({ port: server.port }, request('GET /api/health', `127.0.0.1:${server.port}`))).status === 200,
    );
  });

test('the first refusal of a Host ends the connection, with an answer that can be read', async t => {
  const { port, socket } = await startListeners(t);
  for (const target of [{ port }, { path: socket }]) {
    const client = open(target);
    client.write(request('GET /api/health', 'evil.example').repeat(2_000));
    let text = '';
    for await (const piece of client) text += piece;
    assert.match(text, /^HTTP\/1\.1 421 /);
    assert.match(text, /\r\nconnection: close\r\n/i);
    assert.equal(text.split('HTTP/1.1 ').length, 2);
  }
});

test('a header of 200 kB is refused with an answer that can be read', async t => {
  const { port } = await startListeners(t);
  const long = request('GET /api/health', `127.0.0.1:${port}`, { 'x-long': 'x'.repeat(200_000) });
  const answer = await raw({ port }, long);
  assert.deepEqual([answer.status, answer.json().code], [431, 'headers-too-large']);
});

test('pipelined requests get whole answers in their order, however they are cut', async t => {
  const { port } = await startListeners(t);
  const host = `127.0.0.1:${port}`;
  const post = request('POST /api/action', host, {}, JSON.stringify({ action: 'setMode', value: '\n\n\r\n\r\n' }));
  const requests = ['GET /api/health', 'GET /api/nothing', 'GET /api/version'].map(line => request(line, host));
  const all = [...requests, post, ...requests].join('').repeat(30);
  for (const size of [1, 7, 511, all.length]) {
    const client = open({ port });
    const text = readAll(client);
    for (let at = 0; at < all.length; at += size) client.write(all.slice(at, at + size));
    client.end();
    const codes = [...(await text).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    assert.deepEqual(codes, Array(30).fill(['200', '404', '200', '200', '200', '404', '200']).flat(), `cut at ${size}`);
  }
});

test('a body in many chunks arrives whole', async t => {
  const { port } = await startListeners(t);
  const head = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const body = [...JSON.stringify({ action: 'nothing', padding: 'é'.repeat(15_000) })];
  const chunks = body.map(letter => `${Buffer.byteLength(letter).toString(16)}\r\n${letter}\r\n`).join('');
  const answer = await raw({ port }, `${request('POST /api/action', `127.0.0.1:${port}`, head)}${chunks}0\r\n\r\n`);
  assert.deepEqual([answer.status, answer.json().code], [422, 'invalid-body']);
});

test('a refusal of what follows a request does not overtake its answer', async t => {
  const { port } = await startListeners(t);
  const client = open({ port });
  client.end(`${request('GET /api/config', `127.0.0.1:${port}`)}garbage\r\n\r\n`);
  const codes = [...(await readAll(client)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
  assert.deepEqual(codes, ['200', '400']);
});

async function readAll(client: ReturnType<typeof open>): Promise<string> {
  let text = '';
  for await (const piece of client) text += piece;
  return text;
}
