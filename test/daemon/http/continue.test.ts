// `Expect: 100-continue`: the guard decides before "100 Continue" is sent, and pipelined responses stay whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, request, startListeners, type Target } from '../../support/daemon/listeners.ts';

const ACTION = JSON.stringify({ action: 'connect' });
const EXPECT = { expect: '100-continue' };

/** Everything that the daemon sends until it closes the connection. */
async function conversation(target: Target, bytes: string): Promise<string> {
  const socket = open(target);
  socket.write(bytes);
  let text = '';
  for await (const piece of socket.setEncoding('latin1')) text += piece;
  return text;
}

/** Splits a connection's bytes into responses by their content-length; throws where they don't add up. */
function responsesIn(text: string): { status: number; body: string }[] {
  const responses = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end);
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? assert.fail(`not a response: ${JSON.stringify(rest)}`);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    responses.push({ status: Number(status), body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return responses;
}

test('the guard refuses a request before "100 Continue" is sent', async t => {
  const { port, socket } = await startListeners(t);
  for (const [target, host] of [
    [{ port }, `localhost:${port}`],
    [{ path: socket }, 'localhost'],
  ] as const)
    for (const [headers, status] of [
      [{ host: 'evil.example' }, 421],
      [{ origin: 'http://evil.example' }, 403],
      [{ 'content-type': 'text/plain' }, 415],
      [{ 'content-length': '70000' }, 413],
    ] as const) {
      const head = request('POST /api/action', host, {
        'content-type': 'application/json',
        'content-length': '20',
        ...EXPECT,
        ...headers,
      });
      const responses = responsesIn(await conversation(target, head));
      assert.deepEqual(
        responses.map(r => r.status),
        [status],
        JSON.stringify(headers),
      );
    }
});

test('a request without a route gets no "100 Continue", and its connection closes because the body may still come', async t => {
  const { port } = await startListeners(t);
  const host = `localhost:${port}`;
  const head = { 'content-type': 'application/json', 'content-length': '20', ...EXPECT };
  for (const line of ['POST /api/nope', 'POST /api/health']) {
    const [first, ...more] = responsesIn(await conversation({ port }, request(line, host, head)));
    assert.deepEqual([first!.status, more], [line.endsWith('nope') ? 404 : 405, []], line);
  }
});

test('a body is asked for once the guard has admitted the request, and the connection stays open', async t => {
  const { port, performed } = await startListeners(t);
  const host = `localhost:${port}`;
  const socket = open({ port });
  t.after(() => socket.destroy());
  let text = '';
  const got = (pattern: RegExp) =>
    new Promise<void>(resolve => {
      const look = () => pattern.test(text) && resolve();
      socket.on('data', piece => {
        text += piece;
        look();
      });
      look();
    });
  const head = { 'content-type': 'application/json', 'content-length': String(ACTION.length), ...EXPECT };
  socket.write(request('POST /api/action', host, head));
  await got(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  assert.deepEqual(performed, []);
  socket.write(ACTION);
  await got(/"action":"connect"/);
  assert.deepEqual(performed, [['connect', undefined]]);
  assert.doesNotMatch(text, /connection: close/i);
  text = '';
  socket.write(request('GET /api/health', host));
  await got(/"app":"culvert"/);
});

test('pipelined requests that expect "100 Continue" get whole responses in their order', async t => {
  const { port } = await startListeners(t);
  const host = `localhost:${port}`;
  const post = request('POST /api/action', host, EXPECT, ACTION);
  const last = request('GET /api/health', host, { connection: 'close' });
  for (const path of ['/api/health', '/api/snapshot', '/api/config']) {
    const cases = [
      { requests: [request('GET /api/nope', host), request(`GET ${path}`, host, EXPECT)], statuses: [404, 200] },
      { requests: [request(`GET ${path}`, host), post, last], statuses: [200, 100, 200, 200] },
    ];
    for (const { requests, statuses } of cases) {
      const responses = responsesIn(await conversation({ port }, requests.join('')));
      assert.deepEqual(
        responses.map(r => r.status),
        statuses,
        path,
      );
      for (const { status, body } of responses) if (status !== 100) JSON.parse(body);
    }
  }
});

test('HTTP/1.0 never gets "100 Continue"', async t => {
  const { port } = await startListeners(t);
  const bytes = request('POST /api/action', `localhost:${port}`, EXPECT, ACTION).replace('HTTP/1.1', 'HTTP/1.0');
  assert.deepEqual(
    responsesIn(await conversation({ port }, bytes)).map(r => r.status),
    [200],
  );
});
