// The local proxy against the emulator, which really listens: switched on in order, proven, and undone on failure.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'node:test';
import { load } from '../../../../daemon/emulator/state.ts';
import { Problem } from '../../../../daemon/problem.ts';
import { createLog, createState } from '../../../../daemon/state/store.ts';
import { createTunnel } from '../../../../daemon/warp/tunnel.ts';
import { emulator } from '../../../support/daemon/emulator.ts';
import { folder } from '../../../support/daemon/fake-cli.ts';
import { listen } from '../../../support/listen.ts';
import { freePort } from '../../../support/ports.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

/** A started tunnel over an emulator whose proxy mode listens on `port`, and the commands that it ran. */
async function setup(t: test.TestContext, options: { version?: string; faults?: string; proxyLimitMs?: number } = {}) {
  const place = folder();
  const port = freePort();
  const { version, proxyLimitMs } = options;
  const cli = await emulator({ ...(version ? { version } : {}), connectMs: 30, proxy: true });
  await cli.control('reset', `settings.proxyPort=${port}`, ...(options.faults ? [`fault=${options.faults}`] : []));
  place.script('warp-cli', `echo "$*" >> ${place.path}/runs\nexec ${cli.bin} "$@"`);
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const tunnel = createTunnel({
    cli: 'warp-cli',
    emulated: true,
    env: { ...cli.env, PATH: `${place.path}:${process.env.PATH}` },
    acceptedTerms: `${place.path}/accepted-terms`,
    state,
    log: createLog({ capacity: 500 }),
    ...(proxyLimitMs ? { proxyLimitMs } : {}),
  });
  t.after(async () => {
    await tunnel.stop();
    await cli.remove();
    place.remove();
  });
  tunnel.start();
  await until(() => state.snapshot().status.state !== 'unknown');
  const changes = () =>
    place
      .read('runs')
      .split('\n')
      .filter(line => /^(tunnel protocol set|mode|set-mode|connect|disconnect)/.test(line));
  /** Waits for mode, protocol and state, as far as they are given. In proxy mode each answer of the emulator starts a process; reading its file starts none. */
  const becomes = async (...expected: string[]) => {
    const now = () => {
      const { settings } = load(cli.stateFile);
      return [settings.mode ?? 'warp', settings.protocol ?? 'MASQUE', state.snapshot().status.state];
    };
    await until(
      () => expected.every((value, i) => now()[i] === value),
      () => `${expected}; it is ${now()}`,
    );
  };
  return { cli, port, tunnel, changes, becomes };
}

const problem =
  (code: string, detail = /./) =>
  (error: unknown) =>
    error instanceof Problem && error.code === code && detail.test(error.message);

async function curl(...args: string[]): Promise<string> {
  const child = spawn('curl', ['-sS', '--max-time', '5', '--noproxy', '', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', piece => (text += piece));
  await once(child, 'close');
  return text;
}

/** A page on loopback that answers with the address of the client. */
async function page(t: test.TestContext): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => {
      const body = `asked from ${socket.remoteAddress}`;
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    });
  });
  return listen(t, server);
}

test('a disconnected WireGuard client gets MASQUE, the mode and the connection, and then curl goes through', async t => {
  const { cli, tunnel, port, changes, becomes } = await setup(t);
  await tunnel.runAction({ action: 'setProtocol', value: 'WireGuard' });
  await cli.control('proxyFrom=127.0.0.77');
  const output = await tunnel.runAction({ action: 'enableLocalProxy' });
  assert.deepEqual(output?.argv.slice(1), ['mode', 'proxy']);
  assert.deepEqual(changes(), ['tunnel protocol set WireGuard', 'tunnel protocol set MASQUE', 'mode proxy', 'connect']);
  await becomes('proxy', 'MASQUE', 'connected');
  const address = `http://127.0.0.1:${await page(t)}/`;
  for (const kind of ['socks5', 'socks5h', 'http', 'socks4'])
    assert.equal(await curl('-x', `${kind}://127.0.0.1:${port}`, address), 'asked from 127.0.0.77', kind);
});

test('a proxy that already answers starts nothing, and simultaneous requests share one attempt', async t => {
  const { tunnel, changes } = await setup(t);
  await Promise.all([
    tunnel.runAction({ action: 'enableLocalProxy' }),
    tunnel.runAction({ action: 'enableLocalProxy' }),
  ]);
  assert.deepEqual(changes(), ['mode proxy', 'connect']);
  assert.equal(await tunnel.runAction({ action: 'enableLocalProxy' }), null);
  assert.deepEqual(changes(), ['mode proxy', 'connect']);
});

test('a port in use is named with its program, and everything is as it was before', async t => {
  for (const connected of FULL ? [true, false] : [true]) {
    const { tunnel, port, becomes, cli } = await setup(t);
    await tunnel.runAction({ action: 'setProtocol', value: 'WireGuard' });
    if (connected) await cli.run('connect');
    const expected = ['warp', 'WireGuard', connected ? 'connected' : 'disconnected'];
    await becomes(...expected);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    await assert.rejects(
      tunnel.runAction({ action: 'enableLocalProxy' }),
      problem(
        'proxy-port-in-use',
        new RegExp(`Port ${port} .* in use by \\S+ \\(process ${process.pid}, user \\d+\\)`),
      ),
    );
    await becomes(...expected);
    server.close();
    await once(server, 'close');
    await tunnel.runAction({ action: 'enableLocalProxy' });
    await becomes('proxy', 'MASQUE', 'connected');
  }
});

test('a port taken by another proxy is not mistaken for the tunnel’s', async t => {
  const other = await setup(t);
  await other.tunnel.runAction({ action: 'enableLocalProxy' });
  const { tunnel, cli, becomes } = await setup(t);
  await cli.control(`settings.proxyPort=${other.port}`);
  await assert.rejects(tunnel.runAction({ action: 'enableLocalProxy' }), problem('proxy-port-in-use'));
  await becomes('warp', 'MASQUE', 'disconnected');
});

for (const [fault, seen] of [
  ['proxy-silent', /: nothing listens there\. The tunnel is connected/],
  ['proxy-deaf', /: it accepts connections, but speaks neither SOCKS5 nor HTTP\. The tunnel is connected/],
] as const)
  test(`a proxy with the fault ${fault} is reported as not answering, and undone`, async t => {
    const { tunnel, becomes } = await setup(t, { faults: fault, proxyLimitMs: 4000 });
    await assert.rejects(tunnel.runAction({ action: 'enableLocalProxy' }), problem('proxy-not-answering', seen));
    await becomes('warp', 'MASQUE', 'disconnected');
  });

test('a tunnel that can’t connect is given up before all time is over, with its reason, and undone', async t => {
  const { tunnel, becomes } = await setup(t, { faults: 'unable=CaptivePortalTimedOut' });
  await assert.rejects(
    tunnel.runAction({ action: 'enableLocalProxy' }),
    problem('proxy-not-answering', /unable \(Signing in to this network/),
  );
  await becomes('warp');
});

test('a mode that an organization locked is reported, and nothing stays changed', async t => {
  const { tunnel, cli, becomes } = await setup(t);
  await cli.control('organization=example', 'policy.allowModeSwitch=false', 'policy.protocol=MASQUE');
  await assert.rejects(tunnel.runAction({ action: 'enableLocalProxy' }), problem('not-authorized'));
  await cli.control('policy=null');
  await becomes('warp');
});

test('without a registration it is refused, and the mode stays', async t => {
  const { tunnel, cli, becomes } = await setup(t, { faults: 'not-registered' });
  await assert.rejects(tunnel.runAction({ action: 'enableLocalProxy' }), problem('not-registered'));
  await cli.control('clear');
  await becomes('warp');
});

test('a release before 2025.8 works with SOCKS5 only', async t => {
  const { tunnel, port, changes } = await setup(t, { version: '2025.7.176' });
  await tunnel.runAction({ action: 'enableLocalProxy' });
  assert.deepEqual(changes(), ['mode proxy', 'connect']);
  const address = `http://127.0.0.1:${await page(t)}/`;
  assert.match(await curl('-x', `socks5h://127.0.0.1:${port}`, address), /^asked from/);
  assert.match(await curl('-x', `http://127.0.0.1:${port}`, address), /^curl: /);
});

test('the port vanishes with the connection, and the proxy’s process with it', async t => {
  const { tunnel, cli, port } = await setup(t);
  await tunnel.runAction({ action: 'enableLocalProxy' });
  const { proxyHost } = JSON.parse(await cli.control('show'));
  await tunnel.runAction({ action: 'disconnect' });
  const address = `http://127.0.0.1:${await page(t)}/`;
  await until(async () => /^curl: \(7\)/.test(await curl('-x', `http://127.0.0.1:${port}`, address)));
  await until(async () => JSON.parse(await cli.control('show')).proxyHost === null);
  assert.match(proxyHost.process, /^\d+ \d+$/);
});
