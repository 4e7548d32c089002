// Long request bodies take turns: a client that sends many keeps no short request waiting, and each is read in the end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { open, raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { until } from '../../support/until.ts';

const LONG = JSON.stringify({ text: `# ${'x'.repeat(50_000)}` });
/** Long requests that are read at a time. */
const TURNS = 2;

/** Sends the head of a long request; `text` is what was answered so far. */
function begin(port: number, headers: Record<string, string | null> = {}) {
  const socket = open({ port });
  const client = { socket, text: '', headers };
  socket.setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', piece => {
    client.text += piece;
  });
  const head = {
    'content-type': 'application/json',
    'content-length': String(LONG.length),
    expect: '100-continue',
    ...headers,
  };
  socket.write(request('POST /api/routes/preview', `127.0.0.1:${port}`, head));
  return client;
}

type Client = ReturnType<typeof begin>;
const isRead = ({ text }: Client) => text.startsWith('HTTP/1.1 100 Continue\r\n');
const isAnswered = ({ text }: Client) => /\r\n\r\nHTTP\/1\.1 \d{3} /.test(text);
/** After a request that came later was answered, the ones before have got whatever they get. */
const health = (port: number) => raw({ port }, request('GET /api/health', `127.0.0.1:${port}`));

test('only a few long requests are read at a time, and short ones do not wait', async t => {
  const { port } = await startListeners(t);
  const clients: Client[] = [];
  for (let i = 0; i < 5; i++) {
    clients.push(begin(port, i % 2 ? { 'content-length': null, 'transfer-encoding': 'chunked' } : {}));
    await until(() => clients.filter(isRead).length === Math.min(i + 1, TURNS), `${i} are read`);
    assert.equal((await health(port)).status, 200);
  }
  assert.equal(clients.filter(isRead).length, TURNS);

  for (const [i, client] of clients.entries()) {
    await until(() => isRead(client), `the turn of ${i}`);
    // an answer, a client that leaves, and a body that is refused: each lets the next one in
    if (i === 2) client.socket.destroy();
    else if (i % 2) client.socket.write(`${LONG.length.toString(16)}\r\n${LONG}\r\n0\r\n\r\n`);
    else client.socket.write(i === 0 ? LONG : 'x'.repeat(LONG.length));
    if (i !== 2) await until(() => isAnswered(client), `the answer of ${i}`);
  }
  for (const { socket } of clients) socket.destroy();
});

test('a client that leaves while it waits takes no turn', async t => {
  const { port } = await startListeners(t);
  const first = [begin(port), begin(port)];
  await until(() => first.every(isRead));
  const left = Array.from({ length: 3 }, () => begin(port));
  assert.equal((await health(port)).status, 200);
  for (const { socket } of left) {
    socket.destroy();
    await once(socket, 'close');
  }
  const last = begin(port);
  for (const { socket } of first) socket.destroy();
  await until(() => isRead(last));
  last.socket.write(LONG);
  await until(() => isAnswered(last));
  last.socket.destroy();
});

test('a body in many chunks arrives whole', async t => {
  const { port } = await startListeners(t);
  const head = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const body = [...JSON.stringify({ action: 'nothing', padding: 'é'.repeat(15_000) })];
  const chunks = body.map(letter => `${Buffer.byteLength(letter).toString(16)}\r\n${letter}\r\n`).join('');
  const answer = await raw({ port }, `${request('POST /api/action', `127.0.0.1:${port}`, head)}${chunks}0\r\n\r\n`);
  assert.deepEqual([answer.status, answer.json().code], [422, 'invalid-body']);
});
