// A daemon that is busy, suspended, or closes a connection is not reported as stopped.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StalePart } from '../../../daemon/api/schema.ts';
import { startTime } from '../../../daemon/core/process.ts';
import { createHome, culvert, ended, prints, start, startDaemon, startHome } from '../../support/daemon/command.ts';
import { open } from '../../support/daemon/listeners.ts';
import { suspend } from '../../support/signal.ts';

test('a daemon without a free connection is busy, with exit code 1', async t => {
  const { home, socket } = await startHome(t, undefined, { limits: { unixConnections: 4 } });
  const idle = Array.from({ length: 4 }, () => open({ path: socket }));
  t.after(() => idle.forEach(each => void each.destroy()));
  await Promise.all(idle.map(each => once(each, 'connect')));
  const { code, stderr } = await culvert(home, ['mode']);
  assert.equal(code, 1);
  assert.match(stderr, /4 connections are open, and no more are allowed/);
  assert.doesNotMatch(stderr, /Start it with/);
});

test('a connection that the daemon ends is a failure, not a daemon that does not run', async t => {
  const home = createHome(t);
  const server = createServer(socket => socket.once('data', () => socket.destroy())).listen(home.socket);
  t.after(() => server.close());
  await once(server, 'listening');
  const { code, stdout } = await culvert(home, ['mode', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).code], [1, 'daemon-not-answering']);
});

test('a suspended daemon is reported within seconds, with the command that lets it go on', async t => {
  const home = createHome(t);
  const listen = `require('net').createServer(() => {}).listen(${JSON.stringify(home.socket)}, () => console.log('up'))`;
  const daemon = spawn(process.execPath, ['-e', listen]);
  t.after(() => daemon.kill('SIGKILL'));
  await once(daemon.stdout, 'data');
  const record = { pid: daemon.pid, port: null, version: '1', started: startTime(daemon.pid!) };
  writeFileSync(join(home.env.XDG_RUNTIME_DIR!, 'culvert', 'daemon.json'), JSON.stringify(record));
  await suspend(daemon.pid!);
  for (const words of [['mode'], ['wait', '--timeout', '99']]) {
    const asked = performance.now();
    const { code, stderr } = await culvert(home, words);
    assert.equal(code, 1, words[0]);
    assert.ok(performance.now() - asked < 80_000, `${words[0]} waited for its own limit`);
    assert.match(stderr, new RegExp(`process ${daemon.pid}\\) is suspended.*kill -CONT ${daemon.pid}\n$`, 's'));
  }
});

test('waits for a slow WARP, and says so', async t => {
  const home = createHome(t);
  let answer = () => {};
  const late = new Promise<void>(resolve => {
    answer = resolve;
  });
  const { daemon } = await startDaemon(t, home, undefined, {
    tunnel: { isFresh: () => false, refresh: () => late },
  });
  daemon.state.set('settings', { Mode: 'warp' });
  const child = await start(home, ['mode']);
  await prints(child, 'stderr', /^WARP has not answered yet/);
  answer();
  const { code, stdout, stderr } = await ended(child);
  assert.deepEqual([code, stdout], [0, 'warp\n']);
  assert.match(stderr, /has not answered yet; still waiting/);
});

test('a daemon that does not even answer about itself is named, not WARP', async t => {
  const home = createHome(t);
  const sockets = new Set<Socket>();
  const silent = createServer(socket => void sockets.add(socket));
  await new Promise<void>(resolve => silent.listen(home.socket, resolve));
  const child = await start(home, ['mode']);
  await prints(child, 'stderr', /^The Culvert daemon has not answered yet/);
  for (const socket of sockets) socket.destroy();
  silent.close();
  assert.notEqual((await ended(child)).code, 0);
});

test('a wait for a tunnel names WARP where the daemon answers and WARP does not', async t => {
  const home = createHome(t);
  const never = new Promise<void>(() => {});
  const { daemon } = await startDaemon(t, home, undefined, {
    tunnel: { isFresh: () => false, refresh: () => never },
  });
  daemon.state.set('status', { ...daemon.state.snapshot().status, state: 'connected', blocked: null });
  const { code, stderr } = await culvert(home, ['wait', '--timeout', '1']);
  assert.match(stderr, /not known to be connected after 1 s: WARP does not answer\./);
  assert.equal(code, 3);
});

test('settings that are being read are not blamed on the tunnel CLI', async t => {
  const home = createHome(t);
  let ageSeconds: number | null = null;
  const { daemon } = await startDaemon(t, home, undefined, {
    tunnel: { isFresh: () => false, async refresh() {}, stale: () => [{ part: 'settings', ageSeconds }] },
  });
  daemon.state.set('status', { ...daemon.state.snapshot().status, state: 'connected', blocked: null });
  const first = await fetchSnapshot(home.socket);
  assert.deepEqual([first.statusCode, first.headers['retry-after']], [503, '2']);
  const unread = await culvert(home, ['mode']);
  assert.equal(unread.code, 1);
  assert.match(unread.stderr, /being read for the first time/);
  ageSeconds = 3;
  for (const words of [['mode'], ['proxy', 'status'], ['proxy', 'on'], ['proxy', 'off']]) {
    const old = await culvert(home, [...words]);
    assert.equal(old.code, 1, words.join(' '));
    assert.match(old.stderr, /The mode is not read yet\./);
  }
});

test('settings and lists that could not be read again are shown as old', async t => {
  const home = createHome(t);
  const parts: StalePart['part'][] = ['settings', 'splitTunnel'];
  const ageSeconds = 12;
  const { daemon } = await startDaemon(t, home, undefined, {
    tunnel: { isFresh: () => false, async refresh() {}, stale: () => parts.map(part => ({ part, ageSeconds })) },
  });
  const { settings } = daemon.state.snapshot();
  daemon.state.set('settings', { ...settings, Mode: 'doh', 'WARP tunnel protocol': 'MASQUE' });
  daemon.state.set('splitTunnel', { mode: 'exclude', ips: [{ value: '192.0.2.0/24', description: null }], hosts: [] });
  for (const [words, part] of [
    [['mode'], 'settings'],
    [['protocol'], 'settings'],
    [['proxy', 'status'], 'settings'],
    [['routes', 'list'], 'splitTunnel'],
    [['proxy', 'off'], 'settings'],
    [['network'], 'settings'],
    [['status'], 'both'],
    [['status', '--long'], 'both'],
  ] as const) {
    const { code, stderr } = await culvert(home, words);
    assert.deepEqual(
      [code, /could not be read again; this is what was known 12 s ago/.test(stderr)],
      [0, true],
      stderr,
    );
    const printed = await culvert(home, [...words, '--json']);
    const stale = parts.filter(each => part === 'both' || each === part).map(each => ({ part: each, ageSeconds }));
    assert.deepEqual([JSON.parse(printed.stdout).stale, printed.stderr], [stale, '']);
  }
  const exported = await culvert(home, ['settings', 'export']);
  assert.match(exported.stderr, /^Left out, because WARP did not report them: settings of WARP, split tunnel\.$/m);
  assert.match(exported.stdout, /^# Left out, because WARP did not report them: tunnel, dns, split_tunnel$/m);
  assert.doesNotMatch(exported.stdout, /^mode|^entries/m);
  const forecasts = await culvert(home, ['why', '192.0.2.1', '--json']);
  assert.deepEqual(JSON.parse(forecasts.stdout).addresses[0].reason, 'unknown');
  daemon.state.set('status', { ...daemon.state.snapshot().status, blocked: 'service-stopped' });
  assert.doesNotMatch((await culvert(home, ['status'])).stderr, /read again/, 'the line has no mode');
  daemon.state.set('status', { ...daemon.state.snapshot().status, blocked: null });
  parts.length = 0;
  assert.deepEqual(await culvert(home, ['mode']), { code: 0, stdout: 'doh\n', stderr: '' });
});

test('a status that could not be read again says when it was known, and what WARP answered', async t => {
  const { home, daemon } = await startHome(t);
  const connected = { ...daemon.state.snapshot().status, state: 'connected' as const, blocked: null };
  for (const [said, words] of [
    [null, 'WARP does not answer'],
    ['Error: no', 'WARP answers with an error: no'],
    ["thread 'main' panicked at a.rs:1:9:", "warp-cli crashed: thread 'main' panicked at a.rs:1:9"],
  ] as const) {
    daemon.state.set('status', { ...connected, lastKnown: { at: '2020-02-29T12:00:00.000Z', said } });
    const { stdout } = await culvert(home, ['status']);
    assert.match(stdout.replaceAll('\n', ' '), new RegExp(`^● Connected, as of 2020-0.* \\d\\d:\\d\\d · ${words}`));
    assert.equal((await culvert(home, ['status', '--check'])).code, 3);
    const waited = await culvert(home, ['wait', '--timeout', '0']);
    assert.equal(waited.code, 3);
    assert.match(waited.stderr, new RegExp(`not known to be connected after 0 s: ${words}`));
  }
  daemon.state.set('status', connected);
  assert.doesNotMatch((await culvert(home, ['status'])).stdout, /as of|answer/);
  assert.equal((await culvert(home, ['status', '--check'])).code, 0);
});

async function fetchSnapshot(socketPath: string): Promise<IncomingMessage> {
  const [response] = await once(get({ socketPath, path: '/api/snapshot' }), 'response');
  return response.resume();
}
