// The emulator's proxy mode: which protocols a release speaks, when the port is open, and when its process ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Emulator, emulator } from '../../support/daemon/emulator.ts';
import { alive } from '../../support/daemon/fake-cli.ts';
import { listen } from '../../support/listen.ts';
import { freePort } from '../../support/ports.ts';
import { until } from '../../support/until.ts';

async function proxied(t: TestContext, version?: string): Promise<{ cli: Emulator; port: number }> {
  const port = freePort();
  const cli = await emulator({ ...(version ? { version } : {}), proxy: true, program: true });
  t.after(cli.remove);
  await cli.control('reset', `settings.proxyPort=${port}`, 'settings.protocol="MASQUE"');
  return { cli, port };
}

/** Connects and waits until the port is open. */
async function open(t: TestContext, version?: string) {
  const world = await proxied(t, version);
  await world.cli.run('mode', 'proxy');
  await world.cli.run('connect');
  await until(() => isOpen(world.port));
  return world;
}

const host = async (cli: Emulator) => JSON.parse(await cli.control('show')).proxyHost as { process: string } | null;

function isOpen(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}

/** Sends bytes and resolves with what came back, once `length` bytes did or the other end closed. */
function exchange(port: number, bytes: Buffer | string, length = Number.POSITIVE_INFINITY): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let answer = Buffer.alloc(0);
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('data', piece => {
      answer = Buffer.concat([answer, piece]);
      if (answer.length >= length) done();
    });
    socket.once('end', done).once('error', done); // a reset is an end as well
    socket.setTimeout(5000, () => reject(new Error('no answer')));
  });
}

/** A server that says what it was sent. */
async function echo(t: TestContext): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, socket => void socket.pipe(socket).on('error', () => {}));
  return listen(t, server);
}

const word = (port: number) => Buffer.from([port >> 8, port & 255]);

test('the newest release speaks SOCKS5, SOCKS4 and 4a, CONNECT and plain HTTP', async t => {
  const { port } = await open(t);
  const target = word(await echo(t));
  const [v4, name] = [Buffer.from([127, 0, 0, 1]), Buffer.from('localhost')];
  const ok = Buffer.from([5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const say = Buffer.from('hello');
  const socks5 = (command: number, address: Buffer) =>
    Buffer.concat([Buffer.from([5, 1, 0, 5, command, 0]), address, target]);
  const byAddress = socks5(1, Buffer.concat([Buffer.from([1]), v4]));
  assert.deepEqual(await exchange(port, Buffer.concat([byAddress, say]), 17), Buffer.concat([ok, say]));
  const byName = socks5(1, Buffer.concat([Buffer.from([3, name.length]), name]));
  assert.equal((await exchange(port, byName, 12))[3], 0);
  const socks4 = Buffer.concat([Buffer.from([4, 1]), target, v4, Buffer.from('me\0')]);
  assert.deepEqual(
    await exchange(port, Buffer.concat([socks4, say]), 13),
    Buffer.concat([Buffer.from([0, 90, 0, 0, 0, 0, 0, 0]), say]),
  );
  const socks4a = Buffer.concat([Buffer.from([4, 1]), target, Buffer.from([0, 0, 0, 1]), Buffer.from('\0localhost\0')]);
  assert.equal((await exchange(port, socks4a, 8))[1], 90);
  const number = target.readUInt16BE();
  const tunnel = await exchange(port, `CONNECT localhost:${number} HTTP/1.1\r\nHost: x\r\n\r\nhello`, 24);
  assert.equal(tunnel.toString(), 'HTTP/1.1 200 OK\r\n\r\nhello');
  const head = `GET http://127.0.0.1:${number}/a?b HTTP/1.1\r\nHost: h\r\nProxy-Connection: x\r\n\r\n`;
  const passed = 'GET /a?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';
  assert.equal((await exchange(port, head, passed.length)).toString(), passed);
});

test('UDP ASSOCIATE and BIND get code 7, unknown addresses 8, and what does not answer its own code', async t => {
  const { port } = await open(t);
  const closed = word(freePort());
  const request = (command: number, ...address: number[]) => Buffer.from([5, 1, 0, 5, command, 0, ...address]);
  const codes = [
    [request(3, 1, 0, 0, 0, 0, 0, 0), 7],
    [request(2, 1, 127, 0, 0, 1, ...closed), 7],
    [request(1, 9, 0, 0), 8],
    [request(1, 1, 127, 0, 0, 1, ...closed), 5],
    [request(1, 3, 9, ...Buffer.from('x.invalid'), ...closed), 4],
  ] as const;
  for (const [bytes, code] of codes) assert.equal((await exchange(port, bytes, 12))[3], code);
  assert.deepEqual(await exchange(port, Buffer.from([5, 1, 2])), Buffer.from([5, 0xff]), 'only with a login');
  assert.match((await exchange(port, 'CONNECT x.invalid:1 HTTP/1.1\r\n\r\n')).toString(), /^HTTP\/1\.1 502 /);
  for (const bad of [
    'CONNECT x HTTP/1.1\r\n\r\n',
    'CONNECT a:99999 HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'hello\r\n\r\n',
  ])
    assert.match((await exchange(port, bad)).toString(), /^HTTP\/1\.1 400 /, bad);
  assert.equal((await exchange(port, 'G'.repeat(20_000))).length, 0, 'a head without end');
  assert.equal((await exchange(port, Buffer.from([9, 9, 9]))).length, 0, 'no protocol at all');
  assert.ok(await isOpen(port));
});

test('before 2025.8 there is SOCKS5 only, and before 2025.10 no plain HTTP', async t => {
  const greeting = Buffer.from([5, 1, 0]);
  const old = await open(t, '2025.7.176');
  assert.deepEqual(await exchange(old.port, greeting, 2), Buffer.from([5, 0]));
  assert.equal((await exchange(old.port, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n')).length, 0);
  assert.equal((await exchange(old.port, Buffer.from([4, 1, 0, 1, 127, 0, 0, 1, 0]))).length, 0);
  const between = await open(t, '2025.8.779');
  assert.match((await exchange(between.port, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n')).toString(), /^HTTP\/1\.1 502/);
  assert.match(
    (await exchange(between.port, 'GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n')).toString(),
    /^HTTP\/1\.1 405/,
  );
});

test('the port is open only while connected in proxy mode, and follows the port that is set', async t => {
  const { cli, port } = await proxied(t);
  await cli.run('connect');
  assert.equal(await host(cli), null, 'not in mode warp');
  await cli.run('mode', 'proxy');
  await until(() => isOpen(port));
  const other = freePort();
  await cli.run('proxy', 'port', String(other));
  await until(async () => (await isOpen(other)) && !(await isOpen(port)));
  const { process: first } = (await host(cli))!;
  await cli.run('disconnect');
  await until(async () => !(await isOpen(other)) && (await host(cli)) === null && !alive(Number(first.split(' ')[0])));
  await cli.run('connect');
  await until(() => isOpen(other));
  await cli.control('fault=service-down');
  await until(async () => !(await isOpen(other)));
  await cli.control('clear');
  await until(() => isOpen(other));
});

test('a port in use makes it unable for the recorded reason, until the port is free', async t => {
  const { cli, port } = await proxied(t);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  await cli.run('mode', 'proxy');
  await cli.run('connect');
  await until(async () => /ProxyAddressBound/.test((await cli.run('-j', 'status')).stdout));
  assert.match((await cli.run('status')).stdout, /^Status update: Unable\n/);
  server.close();
  await until(async () => /Connected/.test((await cli.run('status')).stdout));
  assert.ok(await isOpen(port));
});

test('ends with the connection and with its state, and the next connection takes it over', async t => {
  const { cli, port } = await proxied(t);
  const owner = spawn('sh', ['-c', `"$0" mode proxy; "$0" connect; echo ready; sleep 30; :`, cli.bin], {
    env: cli.env,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  await until(() => isOpen(port));
  const { process: first } = (await host(cli))!;
  process.kill(-owner.pid!, 'SIGKILL');
  await until(async () => !alive(Number(first.split(' ')[0])));
  assert.equal(await isOpen(port), false);
  await cli.run('status');
  await until(() => isOpen(port));
  const { process: second } = (await host(cli))!;
  assert.notEqual(second, first);
  assert.match(readFileSync(`/proc/${second.split(' ')[0]}/cmdline`, 'utf8'), /--host-proxy/);
  await cli.remove();
  await until(() => !alive(Number(second.split(' ')[0])));
});
