// Attacks on a gateway: other users and web pages, requests of an odd form, connections that do nothing, and endless answers.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import * as path from 'node:path';
import type { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { readAudit } from '../../../wrapper/store/audit.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';
import { contextOf, homeFor, json, openGateway, type Respond, startProvider } from '../../support/wrapper/gateway.ts';
import { buildWrapper, type Sandbox } from '../../support/wrapper/sandbox.ts';

const KEY = 'real-canary';
const MIB = 1024 * 1024;
/** Size of an endless answer, for a test. */
const LONG = (FULL ? 1_024 : 64) * MIB;

/** Idle connections of an attacker: more than a gateway keeps, where the attacker is this user. */
const IDLE = FULL ? 10_000 : 3_300;
const IDLE_OF_OTHERS = FULL ? 10_000 : 500;

async function setUp(t: TestContext, respond: Respond = (_key, _req, res) => json(res, 200, {})) {
  const provider = await startProvider(t, respond);
  const opened = await openGateway(t, homeFor(t, provider.port, { a: KEY }));
  return { ...provider, ...opened, at: Number(new URL(opened.gateway.url).port) };
}

/** A gateway in a separate process, whose memory can be measured. */
async function startProcess(t: TestContext, respond: Respond, args: readonly string[] = []) {
  const { port } = await startProvider(t, respond);
  const box = homeFor(t, port, { a: KEY });
  const { placeholder, url } = await box.json('serve', 'token', 'add', 'fake', 'x');
  const child = box.start(process.execPath, [...args, buildWrapper(), 'serve', 'fake']);
  const texts = [textOf(child.stdout!), textOf(child.stderr!)];
  const said = () => texts.map(text => text()).join('');
  await until(() => said().includes('Ctrl+C'), said);
  const ask = async (target: string): Promise<IncomingMessage> => {
    const [answer] = await once(
      get(`${url}${target}`, { agent: false, headers: { authorization: `Bearer ${placeholder}` } }),
      'response',
    );
    return answer;
  };
  return { box, child, url, placeholder, ask, said };
}

/** Text that has arrived so far. */
function textOf(stream: Readable): () => string {
  let text = '';
  stream.on('data', chunk => {
    text += chunk;
  });
  return () => text;
}

/** Sends bytes as they are. @returns all that came back until the end */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(text, 'latin1');
  const answer = textOf(socket);
  await new Promise(resolve => socket.once('close', resolve));
  return answer();
}

test('the audit log says how many requests were turned away, and why, in few lines', async t => {
  const { port } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const box = homeFor(t, port, { a: KEY });
  const { gateway, ask } = await openGateway(t, box);
  const at = Number(new URL(gateway.url).port);
  for (let count = 0; count < 30; count += 1)
    await raw(at, 'GET /private HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await ask('/private', { headers: { origin: 'http://private.example' } });
  await ask('/private', { headers: { authorization: 'Bearer private' } });
  await gateway.close();
  const { paths } = contextOf(box);
  const lines = readAudit(paths, 100).map(({ at: _, ...line }) => line);
  const counts: Record<string, number> = {};
  for (const { why, count, ...rest } of lines) {
    assert.deepEqual(rest, { cli: 'fake', command: 'http', account: null, outcome: 'refused' });
    counts[why!] = (counts[why!] ?? 0) + count!;
  }
  assert.deepEqual(counts, { 'other-name': 30, 'web-page': 1, 'no-placeholder': 1 });
  // those of the first second, and those of the end
  assert.ok(lines.length <= 6, `${lines.length} lines`);
  assert.match((await box.wrap(['audit'])).stdout, /refused \(web-page\), requests: 1/);
  assert.doesNotMatch((await box.wrap(['metrics'])).stdout, /runs_total\{cli="fake",outcome="refused"\} [^0]/);
});

test('a request of an odd form neither reaches the provider nor brings a second one along', async t => {
  const { calls, key, at } = await setUp(t);
  const start = `POST /first HTTP/1.1\r\nHost: 127.0.0.1:${at}\r\nConnection: close\r\n`;
  const admitted = `${start}Authorization: Bearer ${key}\r\n`;
  const second = 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';
  const odd = {
    'two lengths': `${admitted}Content-Length: 0\r\nContent-Length: ${second.length}\r\n\r\n${second}`,
    'length and chunks': `${admitted}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`,
    'chunks twice': `${admitted}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${second}`,
    'chunks under another name': `${admitted}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${second}`,
    'a space before the colon': `${admitted}Content-Length : 5\r\n\r\n${second}`,
    'a length with a sign': `${admitted}Content-Length: +5\r\n\r\n${second}`,
    'a header over two lines': `${start}Authorization: Bearer\r\n ${key}\r\nContent-Length: 0\r\n\r\n`,
    'NUL in a header': `${admitted}X-Odd: a\0b\r\nContent-Length: 0\r\n\r\n`,
    'NUL in the path': `POST /fir\0st HTTP/1.1${admitted.slice(start.indexOf('\r\n'))}Content-Length: 0\r\n\r\n`,
    'a lone CR': `${admitted}X-Odd: a\rX-Api-Key: b\r\nContent-Length: 0\r\n\r\n`,
    'two keys': `${admitted}Authorization: Bearer ${key}\r\nContent-Length: 0\r\n\r\n`,
    'two hosts': `${admitted}Host: 127.0.0.1:${at}\r\nContent-Length: 0\r\n\r\n`,
    'no host': `POST / HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    'another host': `${admitted.replace(`Host: 127.0.0.1:${at}`, `Host: evil.example:${at}`)}Content-Length: 0\r\n\r\n`,
    'another name of this machine': `${admitted.replace('127.0.0.1', 'localhost')}Content-Length: 0\r\n\r\n`,
    'a whole address': `${admitted.replace('/first', 'http://evil.example/')}Content-Length: 0\r\n\r\n`,
    'a page': `${admitted}Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n`,
    'a page that navigates': `${admitted}Sec-Fetch-Site: cross-site\r\nContent-Length: 0\r\n\r\n`,
    CONNECT: `CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1:${at}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  };
  for (const [what, text] of Object.entries(odd)) {
    const answer = await raw(at, text);
    assert.doesNotMatch(answer, /^HTTP\/1\.1 2/, what);
    assert.deepEqual(calls, [], what);
  }
  assert.match(await raw(at, `${admitted}Content-Length: 0\r\n\r\n`), /^HTTP\/1\.1 200 /);
  assert.deepEqual(calls, [`${KEY} POST /first`]);
});

test('a page that asks first gets no leave', async t => {
  const { at, calls } = await setUp(t);
  const answer = await raw(
    at,
    `OPTIONS /x HTTP/1.1\r\nHost: 127.0.0.1:${at}\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\nConnection: close\r\n\r\n`,
  );
  assert.match(answer, /^HTTP\/1\.1 403 /);
  assert.doesNotMatch(answer, /access-control/i);
  assert.deepEqual(calls, []);
});

const notRoot = process.getuid!() !== 0 && 'needs root';

test('another user gets nothing, also with a placeholder', { skip: notRoot }, async t => {
  const { at, key, calls, ask } = await setUp(t);
  const text = `GET /x HTTP/1.1\r\nHost: 127.0.0.1:${at}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
  const script = `
    const socket = require('net').connect(${at}, '127.0.0.1', () => socket.write(${JSON.stringify(text)}));
    socket.on('error', () => {}).on('data', bytes => console.log('got', String(bytes))).on('close', () => console.log('closed'));`;
  const child = spawn(process.execPath, ['-e', script], { uid: 65_534, gid: 65_534, env: {}, cwd: '/' });
  const said = textOf(child.stdout);
  await once(child, 'close');
  assert.equal(said(), 'closed\n');
  assert.deepEqual(calls, []);
  assert.equal((await ask('/x')).status, 200);
});

/** Opens connections in a separate process, which has its own limit of open files. */
async function openIdle(t: TestContext, port: number, { count, uid }: { count: number; uid?: number }) {
  const script = `
    let left = ${count};
    const next = () => left-- > 0 && require('net').connect(${port}, '127.0.0.1').on('connect', next).on('error', () => setTimeout(next, 1));
    for (let i = 0; i < 64; i += 1) next();
    setInterval(() => left <= 0 && console.log('open'), 100);`;
  const options = { env: {}, cwd: '/', ...(uid !== undefined && { uid, gid: uid }) };
  const child: ChildProcess = spawn(process.execPath, ['-e', script], options);
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
}

for (const [uid, count] of [
  [undefined, IDLE],
  [65_534, IDLE_OF_OTHERS],
] as const)
  test(`${count} idle connections of ${uid ? 'another user' : 'this user'} shut no program out`, {
    skip: uid !== undefined && notRoot,
  }, async t => {
    const { ask, child, url } = await startProcess(t, (_key, _req, res) => json(res, 200, {}));
    await openIdle(t, Number(new URL(url).port), { count, ...(uid !== undefined && { uid }) });
    for (let round = 0; round < 5; round += 1) {
      const answer = await ask('/x');
      assert.equal(answer.resume().statusCode, 200);
    }
    assert.ok(fs.readdirSync(`/proc/${child.pid}/fd`).length < 3_300);
  });

/** Most memory of a process so far, in MB. */
function peakOf({ pid }: ChildProcess): number {
  return Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

/** `/STATUS/TYPE` answers with a long body. */
const endless: Respond = (_key, req, res) => {
  const [, status, type] = req.url!.split('/');
  if (status === 'small') return json(res, 200, {});
  res.writeHead(Number(status), { 'content-type': `application/${type}` });
  const block = Buffer.alloc(MIB, '[');
  let left = LONG / MIB;
  const more = () => {
    while (left-- > 0) if (!res.write(block)) return void res.once('drain', more);
    res.end();
  };
  more();
};

test('endless answers take little memory, and a program that does not read them delays no other', async t => {
  const { ask, child } = await startProcess(t, endless);
  (await ask('/small')).resume();
  const before = peakOf(child);
  const slow: IncomingMessage[] = [];
  for (const target of ['/200/text', '/200/json', '/402/json']) {
    slow.push(await ask(target));
    const answer = await ask(target);
    let bytes = 0;
    for await (const chunk of answer) bytes += (chunk as Buffer).length;
    assert.equal(bytes, LONG, target);
    const begun = performance.now();
    (await ask('/small')).resume();
    assert.ok(performance.now() - begun < 10_000);
  }
  for (const answer of slow) answer.destroy();
  const grown = peakOf(child) - before;
  assert.ok(grown < 120, `grew by ${grown} MB`);
});

test('when a program leaves a provider that never answers, the provider is left as well', async t => {
  let closed = 0;
  const waiting: Socket[] = [];
  const { server, at, key } = await setUp(t, req => void req);
  const count = (socket: Socket) => {
    waiting.push(socket);
    socket.resume().once('end', () => socket.destroy());
    socket.once('close', () => {
      closed += 1;
    });
  };
  server.on('upgrade', (_req, socket) => count(socket as Socket));
  server.on('request', req => count(req.socket));
  const head = `GET /x HTTP/1.1\r\nHost: 127.0.0.1:${at}\r\nAuthorization: Bearer ${key}\r\n`;
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n';
  for (const [index, more] of ['', upgrade].entries()) {
    const socket = connect(at, '127.0.0.1');
    socket.on('error', () => {}).write(`${head}${more}\r\n`);
    await until(() => waiting.length === index + 1);
    socket.destroy();
    await until(() => closed === index + 1);
  }
});

test('no report and no core dump of a gateway, and no file that it writes, holds a key', async t => {
  const { ask, box, child, said } = await startProcess(t, (_key, _req, res) => json(res, 200, {}), [
    '--report-on-signal',
    '--report-directory=.',
  ]);
  (await ask('/x')).resume();
  process.kill(child.pid!, 'SIGUSR2');
  const report = await until(() => fs.readdirSync(box.home).find(name => name.startsWith('report.')));
  await until(() => fs.readFileSync(path.join(box.home, report), 'utf8').trimEnd().endsWith('}'));
  assert.match(fs.readFileSync(`/proc/${child.pid}/limits`, 'utf8'), /^Max core file size +1 +1 /m);
  const ended = once(child, 'exit');
  child.kill('SIGABRT');
  await ended;
  assert.deepEqual(filesWith(box, KEY), [path.join(box.config, 'keys.env')]);
  assert.ok(!said().includes(KEY));
});

/** Files below the home directory that hold a text. */
function filesWith({ home }: Sandbox, text: string): string[] {
  const files = fs.readdirSync(home, { recursive: true, withFileTypes: true }).filter(each => each.isFile());
  return files
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter(file => fs.readFileSync(file, 'latin1').includes(text));
}
