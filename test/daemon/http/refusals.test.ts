// Every refusal of the contract over both listeners, with its status and code; and the requests that are admitted.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { endpoints } from '../../../daemon/api/contract.ts';
import {
  type Answer,
  open,
  type Running,
  raw,
  request,
  startListeners,
  type Target,
} from '../../support/daemon/listeners.ts';
import { inTurn } from '../../support/thoroughness.ts';

let running: Running;
let listeners: { name: string; target: Target; host: string; otherHosts: string[] }[];
const ends: (() => Promise<void>)[] = [];
after(() => Promise.all(ends.map(end => end())));
before(async () => {
  running = await startListeners({ after: end => ends.push(end) });
  const { port, socket } = running;
  listeners = [
    {
      name: 'TCP',
      target: { port },
      host: `127.0.0.1:${port}`,
      otherHosts: ['127.0.0.1', 'localhost', `127.0.0.1:${port + 1}`],
    },
    { name: 'IPv6', target: { port, host: '::1' }, host: `[::1]:${port}`, otherHosts: ['[::1]', '[::1]:80'] },
    { name: 'socket', target: { path: socket }, host: 'localhost', otherHosts: [`localhost:${port}`] },
  ];
});

/** Runs a case over every listener. */
async function everywhere(check: (send: typeof raw, listener: (typeof listeners)[number]) => Promise<void>) {
  for (const listener of listeners) await check(raw, listener);
}

function assertProblem(answer: Answer, status: number, code: string, note: string) {
  assert.equal(answer.status, status, `${note}: ${answer.body}`);
  assert.equal(answer.headers['content-type'], 'application/problem+json', note);
  assert.equal(answer.headers['cache-control'], 'no-store', note);
  const problem = answer.json() as Record<string, unknown>;
  assert.equal(problem.code, code, note);
  assert.equal(problem.status, status, note);
  assert.equal(problem.type, `urn:culvert:problem:${code}`, note);
  assert.ok((problem.detail as string).length > 10, note);
  for (const name of Object.keys(answer.headers)) assert.ok(!name.startsWith('access-control'), note);
}

const ACTION = JSON.stringify({ action: 'connect' });

test('a plain curl by the same user needs no credential', () =>
  everywhere(async (send, { target, host, name }) => {
    const answer = await send(target, request('GET /api/health', host, { 'user-agent': 'curl/8', accept: '*/*' }));
    assert.equal(answer.status, 200, name);
    assert.equal(answer.json().app, 'culvert' as never);
  }));

test('a connection of another user is refused before anything else', async t => {
  const stranger = await startListeners(t, { uid: 4_000_000 });
  const sent = [
    request('GET /api/health', 'evil.example'),
    // a parser would answer these with 400 or 431, or wait for the rest
    '\x00\xff no request\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    `GET / HTTP/1.1\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`,
    'GET / HT',
  ];
  for (const text of sent)
    assertProblem(await raw({ port: stranger.port }, text), 403, 'peer-not-allowed', text.slice(0, 40));
});

test('any Host but the exact own ones is refused', () =>
  everywhere(async (send, { target, otherHosts, name }) => {
    const port = running.port;
    const hostile = [
      'evil.example',
      `evil.example:${port}`,
      `localhost.:${port}`,
      `127.0.0.1.:${port}`,
      `127.1:${port}`,
      `0.0.0.0:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `LOCALHOST:${port}`,
      `user@localhost:${port}`,
      `foo.localhost:${port}`,
      '',
      ...otherHosts,
    ];
    for (const host of hostile)
      assertProblem(await send(target, request('GET /api/health', host)), 421, 'host-not-allowed', `${name} ${host}`);
    assertProblem(await send(target, 'GET /api/health HTTP/1.0\r\n\r\n'), 421, 'host-not-allowed', `${name} none`);
  }));

test('a second Host is refused', () =>
  everywhere(async (send, { target, host, name }) => {
    const answer = await send(target, `GET /api/health HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n\r\n`);
    assert.ok([400, 421].includes(answer.status), `${name} ${answer.status}`);
    assert.ok(['malformed-request', 'host-not-allowed'].includes(answer.json().code!));
  }));

test('a foreign Origin is refused on reads and writes', () =>
  everywhere(async (send, { target, host, name }) => {
    const port = running.port;
    for (const origin of [
      'http://evil.example',
      'null',
      `https://127.0.0.1:${port}`,
      `http://localhost:${port + 1}`,
      'x',
    ]) {
      const note = `${name} ${origin}`;
      assertProblem(await send(target, request('GET /api/health', host, { origin })), 403, 'origin-not-allowed', note);
      const post = request('POST /api/action', host, { origin }, ACTION);
      assertProblem(await send(target, post), 403, 'origin-not-allowed', note);
    }
  }));

test('the own origin is allowed over TCP', async () => {
  const { port } = running;
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`, `http://[::1]:${port}`]) {
    const answer = await raw({ port }, request('GET /api/health', `127.0.0.1:${port}`, { origin }));
    assert.equal(answer.status, 200, origin);
  }
});

test('no answer allows the page of another origin to read it, nor does a preflight', () =>
  everywhere(async (send, { target, host, name }) => {
    const own: Record<string, string> = name === 'socket' ? {} : { origin: `http://${host}` };
    const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' };
    const requests = [
      request('GET /api/health', host, own),
      request('GET /api/snapshot', host, own),
      request('GET /api/nothing', host, own),
      request('OPTIONS /api/action', host, { ...own, ...preflight }),
      request('OPTIONS /api/action', host, { ...preflight, origin: 'http://evil.example' }),
    ];
    for (const text of requests) {
      const { headers } = await send(target, text);
      assert.deepEqual(
        Object.keys(headers).filter(header => header.startsWith('access-control')),
        [],
        `${name} ${text}`,
      );
    }
  }));

test('cross-site and same-site fetches are refused, reads too', () =>
  everywhere(async (send, { target, host, name }) => {
    for (const site of ['cross-site', 'same-site', 'SAME-ORIGIN', 'bogus', '']) {
      const answer = await send(target, request('GET /api/health', host, { 'sec-fetch-site': site }));
      assertProblem(answer, 403, 'fetch-site-not-allowed', `${name} ${site}`);
    }
    const typed = await send(target, request('GET /api/health', host, { 'sec-fetch-site': 'none' }));
    assert.equal(typed.status, 200);
    const post = request('POST /api/action', host, { 'sec-fetch-site': 'none' }, ACTION);
    assertProblem(await send(target, post), 403, 'fetch-site-not-allowed', name);
  }));

test('a mutation that is not plain JSON is refused', () =>
  everywhere(async (send, { target, host, name }) => {
    const types = [
      null,
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'json',
    ];
    for (const type of types) {
      const answer = await send(target, request('POST /api/action', host, { 'content-type': type }, ACTION));
      assertProblem(answer, 415, 'unsupported-media-type', `${name} ${type}`);
    }
    for (const encoding of ['gzip', 'identity']) {
      const answer = await send(target, request('POST /api/action', host, { 'content-encoding': encoding }, ACTION));
      assertProblem(answer, 415, 'unsupported-media-type', `${name} ${encoding}`);
    }
    const utf8 = request('POST /api/action', host, { 'content-type': 'application/json; charset=UTF-8' }, ACTION);
    assert.equal((await send(target, utf8)).status, 200);
  }));

test('a body over 64 KiB is refused, announced or not', () =>
  everywhere(async (send, { target, host, name }) => {
    const big = JSON.stringify({ action: 'setMode', value: 'x'.repeat(70_000) });
    assertProblem(await send(target, request('POST /api/action', host, {}, big)), 413, 'payload-too-large', name);
    const chunks = `${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`;
    const chunked = request('POST /api/action', host, {
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    });
    assertProblem(await send(target, chunked + chunks), 413, 'payload-too-large', `${name} chunked`);
  }));

test('a body that is not JSON in UTF-8 is refused', () =>
  everywhere(async (send, { target, host, name }) => {
    for (const body of ['', '{', 'undefined', '{"action":"connect"}x', '['.repeat(60_000), "{'action':'connect'}"]) {
      const answer = await send(target, request('POST /api/action', host, {}, body));
      assertProblem(answer, 400, 'malformed-json', `${name} ${body.slice(0, 20)}`);
    }
    const head = request('POST /api/action', host, { 'content-type': 'application/json', 'content-length': '23' });
    const invalid = Buffer.concat([
      Buffer.from(`${head}{"action":"connect`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"} '),
    ]);
    assertProblem(await send(target, invalid), 400, 'malformed-json', `${name} UTF-8`);
  }));

test('keys that reach prototypes are refused at any depth', () =>
  everywhere(async (send, { target, host, name }) => {
    for (const body of [
      '{"__proto__":{"action":"connect"}}',
      '{"action":"connect","constructor":1}',
      '{"action":{"a":[{"prototype":1}]}}',
    ])
      assertProblem(
        await send(target, request('POST /api/action', host, {}, body)),
        422,
        'invalid-body',
        `${name} ${body}`,
      );
  }));

test('a body outside the closed schema is refused with the places that are wrong', () =>
  everywhere(async (send, { target, host, name }) => {
    const cases: [string, string][] = [
      ['{}', 'action'],
      ['{"action":"reboot"}', 'action'],
      ['{"action":"toString"}', 'action'],
      ['{"action":"connect","value":1}', 'value'],
      ['{"action":"connect","extra":1}', ''],
      ['[]', ''],
      ['null', ''],
      ['"connect"', ''],
    ];
    for (const [body, path] of cases) {
      const answer = await send(target, request('POST /api/action', host, {}, body));
      assertProblem(answer, 422, 'invalid-body', `${name} ${body}`);
      const { errors } = answer.json() as unknown as { errors: { path: string; message: string }[] };
      assert.ok(
        errors.some(e => e.path === path),
        `${name} ${body}: ${JSON.stringify(errors)}`,
      );
    }
  }));

test('a query outside the schema is refused', () =>
  everywhere(async (send, listener) => {
    const { target, host, name } = listener;
    for (const line of inTurn(Object.keys(endpoints), listeners.indexOf(listener))) {
      const body = line.startsWith('POST ') ? '{}' : undefined;
      const answer = await send(target, request(`${line}?unheard=of`, host, {}, body));
      assertProblem(answer, 422, 'invalid-query', `${name} ${line}`);
    }
    for (const query of ['only=', 'only=nope', 'only=status,', 'only=status&only=log'])
      assertProblem(
        await send(target, request(`GET /api/events?${query}`, host)),
        422,
        'invalid-query',
        `${name} ${query}`,
      );
    for (const query of ['since=abc', 'since=-1', 'since=1&foo=2', 'limit=1e9', 'since=1&since=2'])
      assertProblem(
        await send(target, request(`GET /api/logs?${query}`, host)),
        422,
        'invalid-query',
        `${name} ${query}`,
      );
  }));

test('unknown routes and methods are refused, the latter with Allow', () =>
  everywhere(async (send, { target, host, name }) => {
    for (const path of [
      '/',
      '//',
      '/api',
      '/api/',
      '/api/nope',
      '/api/health/',
      '/API/health',
      '/api/%68ealth',
      '/../etc/passwd',
    ])
      assertProblem(await send(target, request(`GET ${path}`, host)), 404, 'not-found', `${name} ${path}`);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await send(target, request(`${method} /api/health`, host));
      assertProblem(answer, 405, 'method-not-allowed', `${name} ${method}`);
      assert.equal(answer.headers.allow, 'GET, HEAD');
    }
    const get = await send(target, request('GET /api/action', host));
    assertProblem(get, 405, 'method-not-allowed', name);
    assert.equal(get.headers.allow, 'POST');
  }));

test('too long a request is refused', () =>
  everywhere(async (send, { target, host, name }) => {
    for (const length of [2049, 12_000, 40_000]) {
      const answer = await send(target, request(`GET /api/health?${'x'.repeat(length)}`, host));
      assertProblem(answer, 414, 'uri-too-long', `${name} ${length}`);
    }
    for (const length of [8_192, 20_000]) {
      const answer = await send(target, request('GET /api/health', host, { 'x-long': 'x'.repeat(length) }));
      assertProblem(answer, 431, 'headers-too-large', `${name} ${length}`);
    }
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`x-${i}`, '1']));
    assertProblem(await send(target, request('GET /api/health', host, many)), 431, 'headers-too-large', `${name} many`);
  }));

test('a malformed request is refused, and the daemon goes on', () =>
  everywhere(async (send, { target, host, name }) => {
    for (const bytes of [
      'garbage\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      `GET http://evil.example/api/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `GET * HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      `POST /api/action HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
      `GET /api/\x80 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ])
      assertProblem(await send(target, Buffer.from(bytes, 'latin1')), 400, 'malformed-request', `${name} ${bytes}`);
    assert.equal((await send(target, request('GET /api/health', host))).status, 200);
  }));

test('headers and requests that do not arrive in time are answered and ended', async t => {
  const slow = await startListeners(t, { limits: { headersTimeoutMs: 50, requestTimeoutMs: 100 } });
  const host = `127.0.0.1:${slow.port}`;
  const headers = await raw({ port: slow.port }, `GET /api/health HTTP/1.1\r\nHost: ${host}\r\n`);
  assertProblem(headers, 408, 'request-timeout', 'headers');
  const head = request('POST /api/action', host, { 'content-type': 'application/json', 'content-length': '100' });
  assertProblem(await raw({ port: slow.port }, `${head}{`), 408, 'request-timeout', 'body');
});

test('streams over the limit are answered with a time to come back', async t => {
  const small = await startListeners(t, { limits: { streams: 2 } });
  const host = `127.0.0.1:${small.port}`;
  for (const _ of [1, 2]) {
    const stream = open({ port: small.port });
    t.after(() => stream.destroy());
    stream.write(request('GET /api/events', host));
    await new Promise(resolve => stream.once('data', resolve));
  }
  for (const path of ['/api/events', '/api/events?only=status']) {
    const third = await raw({ port: small.port }, request(`GET ${path}`, host));
    assertProblem(third, 503, 'busy', path);
    assert.ok(Number(third.headers['retry-after']) > 0);
  }
});

/** Fills a listener with idle connections. */
async function occupy(t: TestContext, target: Target, count: number) {
  const idle = Array.from({ length: count }, () => open(target));
  t.after(() => idle.forEach(socket => void socket.destroy()));
  await Promise.all(idle.map(socket => new Promise(resolve => socket.once('connect', resolve))));
}

test('connections over the limit are answered on both listeners, also when the request comes late', async t => {
  const small = await startListeners(t, { limits: { connections: 8, unixConnections: 8 } });
  const targets = [
    [{ port: small.port }, `127.0.0.1:${small.port}`],
    [{ path: small.socket }, 'localhost'],
  ] as const;
  for (const [target] of targets) await occupy(t, target, 8);
  for (const [target, host] of targets)
    for (const afterMs of [0, 30]) {
      const socket = open(target);
      await new Promise(resolve => socket.once('connect', resolve));
      await delay(afterMs); // the refusal must not be sent, and lost, before the request is
      socket.write(request('GET /api/health', host));
      let text = '';
      for await (const piece of socket) text += piece;
      assert.match(text, /^HTTP\/1\.1 503 /, `${host} ${afterMs}`);
      assert.match(text, /retry-after: \d/i);
      assert.match(text, /"code":"busy"/);
    }
});

test('the loopback addresses share one quota', async t => {
  const { port } = await startListeners(t, { limits: { connections: 8 } });
  // answered once each: before that, a connection is only being looked up
  for (let i = 0; i < 8; i++) {
    const kept = open({ port });
    t.after(() => void kept.destroy());
    kept.write(request('GET /api/health', `127.0.0.1:${port}`));
    await once(kept, 'data');
  }
  const answer = await raw({ port, host: '::1' }, request('GET /api/health', `[::1]:${port}`));
  assert.deepEqual([answer.status, answer.json().code], [503, 'busy']);
});

test('idle TCP connections do not affect the Unix socket, and vice versa', async t => {
  const tcpFull = await startListeners(t, { limits: { connections: 8 } });
  await occupy(t, { port: tcpFull.port }, 12);
  assert.equal((await raw({ path: tcpFull.socket }, request('GET /api/health', 'localhost'))).status, 200);
  const unixFull = await startListeners(t, { limits: { unixConnections: 8 } });
  await occupy(t, { path: unixFull.socket }, 12);
  const { port } = unixFull;
  assert.equal((await raw({ port }, request('GET /api/health', `127.0.0.1:${port}`))).status, 200);
});

test('nothing that was refused has reached the tunnel', () => {
  assert.deepEqual(
    running.performed.filter(([action, value]) => action !== 'connect' || value !== undefined),
    [],
  );
  assert.equal(running.performed.length, listeners.length, 'only the UTF-8 case above was admitted, once per listener');
});

test('an unknown Expect header changes nothing: the guard still decides', () =>
  everywhere(async (send, { target, host, name }) => {
    const known = await send(target, request('GET /api/health', host, { expect: 'miracles' }));
    assert.equal(known.status, 200, name);
    const hostile = await send(target, request('GET /api/health', 'evil.example', { expect: 'miracles' }));
    assertProblem(hostile, 421, 'host-not-allowed', name);
  }));

test('CONNECT passes the same guard before it is refused', async t => {
  const stranger = await startListeners(t, { uid: 4_000_000 });
  const answer = await raw({ port: stranger.port }, request('CONNECT evil.example:80', 'evil.example:80'));
  assertProblem(answer, 403, 'peer-not-allowed', 'other uid');
  await everywhere(async (send, { target, host, name }) => {
    assertProblem(await send(target, request('CONNECT a:80', 'a:80')), 421, 'host-not-allowed', name);
    assertProblem(await send(target, request('CONNECT a:80', host)), 400, 'malformed-request', name);
  });
});

test('idle connections of another user do not use up the quota of this one', async t => {
  const crowded = await startListeners(t, {
    uid: 4_000_000,
    limits: { connections: 20, strangers: 4, headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 },
  });
  const knocking = Array.from({ length: 20 }, () => open({ port: crowded.port }));
  t.after(() => knocking.forEach(socket => void socket.destroy()));
  let left = knocking.length;
  await new Promise<void>(resolve => {
    for (const socket of knocking) {
      socket.on('error', () => {});
      socket.on('close', () => --left === 4 && resolve());
    }
  });
  const own = await raw({ path: crowded.socket }, request('GET /api/health', 'localhost'));
  assert.equal(own.status, 200);
});

test('a client that closes its sending direction after the request gets the answer', () =>
  everywhere(async (_, { target, host, name }) => {
    for (const line of ['GET /api/health', 'GET /api/config']) {
      const socket = open(target);
      socket.end(request(line, host));
      let text = '';
      for await (const piece of socket) text += piece;
      assert.match(text, /^HTTP\/1\.1 200 /, `${name}: ${line}`);
    }
  }));

test('HEAD is offered only where it is allowed', () =>
  everywhere(async (send, { target, host, name }) => {
    const events = await send(target, request('POST /api/events', host, {}, '{}'));
    assertProblem(events, 405, 'method-not-allowed', name);
    assert.equal(events.headers.allow, 'GET', name);
    const health = await send(target, request('POST /api/health', host, {}, '{}'));
    assert.equal(health.headers.allow, 'GET, HEAD', name);
  }));
