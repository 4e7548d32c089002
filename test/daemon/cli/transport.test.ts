// The transport over the Unix socket: answers whole, streams in order, and every failure reported as "unreachable".
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient, Unreachable } from '../../../daemon/api/client.ts';
import { createTransport } from '../../../daemon/cli/transport.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const path = socketPath(t);
  await new Promise<void>(resolve => server.listen(path, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return path;
}

function socketPath(t: TestContext): string {
  return join(temporary(t, 'transport'), 's');
}

test('a request carries method, path, headers and body, and its answer comes back whole', async t => {
  let seen: unknown;
  const path = await serve(t, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', piece => {
      body += piece;
    });
    request.on('end', () => {
      seen = [request.method, request.url, request.headers['content-type'], request.headers.host, body];
      response.writeHead(422, { etag: '"e"' });
      const text = Buffer.from('zürück');
      response.write(text.subarray(0, 2)); // in the middle of ü
      setImmediate(() => response.end(text.subarray(2)));
    });
  });
  const reply = await createTransport(path).request(
    'POST',
    '/x?y=1',
    { 'content-type': 'application/json' },
    '{"a":"ö"}',
  );
  assert.deepEqual(reply, { status: 422, etag: '"e"', body: 'zürück' });
  assert.deepEqual(seen, ['POST', '/x?y=1', 'application/json', 'localhost', '{"a":"ö"}']);
});

test('the daemon is unreachable without a listener', async t => {
  const path = socketPath(t);
  await assert.rejects(createTransport(path).request('GET', '/', {}), Unreachable);
  writeFileSync(path, '');
  await assert.rejects(createTransport(path).request('GET', '/', {}), {
    name: 'Unreachable',
    message: 'The Culvert daemon is not running.',
  });
  await assert.rejects(createTransport(`/tmp/${'x'.repeat(200)}`).stream('/', {}), Unreachable);
});

test("another user's socket is unreachable, and said to be so", async t => {
  const path = await serve(t, (_, response) => response.end());
  const directory = join(path, '..');
  chmodSync(directory, process.getuid!() === 0 ? 0o700 : 0);
  const failure = await failureOf(t, path);
  chmodSync(directory, 0o700);
  assert.match(failure, /^No permission to use/);
});

/** The error of a request in a process that is not root, because root may enter every directory. */
async function failureOf(t: TestContext, path: string): Promise<string> {
  const place = temporary(t);
  chmodSync(place, 0o755);
  const transport = resolve(import.meta.dirname, '../../../daemon/cli/transport.ts');
  const text = `import { createTransport } from ${JSON.stringify(transport)};
    createTransport(process.argv[2]).request('GET', '/', {}).catch(error => console.log(error.message));`;
  const program = bundleScript({ text }, place);
  const nobody = process.getuid!() === 0 ? { uid: 65534, gid: 65534 } : {};
  const { stdout } = await promisify(execFile)(process.execPath, [program, path], { cwd: '/', ...nobody });
  return stdout;
}

test('an answer that is cut, or none in time, is unreachable and not half an answer', async t => {
  const path = await serve(t, (request, response) => {
    if (request.url === '/silent') return;
    response.writeHead(200, { 'content-length': '100' });
    response.write('half');
    if (request.url === '/cut') setImmediate(() => response.destroy());
  });
  const transport = createTransport(path, { readMs: 200, silenceMs: 200 });
  await assert.rejects(transport.request('GET', '/cut', {}), Unreachable);
  await assert.rejects(transport.request('GET', '/silent', {}), /no answer within 0\.2 s/);
  await assert.rejects(transport.request('GET', '/stuck', {}), Unreachable);
  await assert.rejects(transport.stream('/silent', {}), Unreachable);
});

test('an answer that is not HTTP counts as unreachable', async t => {
  const path = socketPath(t);
  const server = createNetServer(socket => socket.end('220 ready\r\n'));
  await new Promise<void>(resolve => server.listen(path, resolve));
  t.after(() => server.close());
  await assert.rejects(createTransport(path).request('GET', '/', {}), Unreachable);
});

test('a stream yields text in order, ends quietly when closed, and throws when it breaks or falls silent', async t => {
  const closed: string[] = [];
  const path = await serve(t, (request, response) => {
    response.on('close', () => closed.push(request.url!));
    response.writeHead(200);
    response.write('data: 1\n\n');
    if (request.url === '/break') setImmediate(() => response.destroy());
  });
  const transport = createTransport(path, { silenceMs: 200 });

  const mine = await transport.stream('/mine', {});
  const got: string[] = [];
  for await (const chunk of mine.chunks) {
    got.push(chunk);
    mine.close();
  }
  assert.deepEqual([mine.status, got], [200, ['data: 1\n\n']]);

  for (const url of ['/break', '/silence']) {
    const stream = await transport.stream(url, {});
    await assert.rejects(async () => {
      for await (const _ of stream.chunks);
    }, Unreachable);
  }
  while (closed.length < 3) await new Promise(resolve => setImmediate(resolve));
});

test('a refused stream is the problem, through the client', async t => {
  const path = await serve(t, (_, response) => {
    response.writeHead(503, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ code: 'busy', detail: '64 streams are open.', status: 503 }));
  });
  await assert.rejects(createClient(createTransport(path)).events(), {
    name: 'ApiError',
    message: '64 streams are open.',
  });
});
