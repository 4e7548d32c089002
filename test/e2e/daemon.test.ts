// The built daemon as a process: start, ports, other instances, faults around it, and every kind of end.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ToolAccounts } from '../../daemon/api/accounts.ts';
import { createHome, culvert, getJson, prefix, program, start, startDemo } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { suspend } from '../support/signal.ts';
import { sample } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

/** The environment as /proc shows it; empty for a process that has ended. */
function environmentOf(pid: number): string {
  try {
    const state = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0];
    return state === 'Z' ? '' : readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

/** Processes with this home in their environment: everything that was started in it and left. */
function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => pid !== process.pid && environmentOf(pid).includes(`HOME=${home}\0`));
}

/** Takes ports, so that the daemon has to look further. */
async function occupy(t: TestContext, first: number, count: number) {
  const servers: Server[] = [];
  t.after(() => servers.forEach(s => void s.close()));
  for (let port = first; port < first + count; port++) {
    const server = createServer(socket => socket.destroy()).listen(port, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
  }
}

test('started, it answers on both loopback addresses and the socket, and all clients agree', async t => {
  const home = createHome(t);
  const { port } = await startDemo(home);
  const overTcp = await getJson(port, '/api/health');
  const record = JSON.parse(readFileSync(join(home.runtime, 'daemon.json'), 'utf8'));
  assert.equal(overTcp.port, port as never);
  assert.deepEqual([record.port, record.pid], [port, overTcp.pid]);
  assert.equal(statSync(join(home.runtime, 'daemon.json')).mode & 0o777, 0o600);
  assert.equal(statSync(home.runtime).mode & 0o777, 0o700);
  const curl = (...words: string[]) =>
    JSON.parse(execFileSync('curl', ['-sS', '--max-time', '10', ...words], { encoding: 'utf8' }));
  assert.equal(curl(`http://[::1]:${port}/api/health`).pid, overTcp.pid);
  assert.equal(curl('--unix-socket', join(home.runtime, 'api.sock'), 'http://localhost/api/health').pid, overTcp.pid);
  await culvert(home, 'connect', '--wait');
  const snapshot = await getJson(port, '/api/snapshot');
  const status = JSON.parse((await culvert(home, 'status', '--json')).stdout);
  assert.deepEqual(status.status, snapshot.status);
  assert.equal(status.status.state, 'connected');
  assert.equal((await culvert(home, 'status', '--check')).code, 0);
});

test('settings that keep the daemon small reach no program that it starts', async t => {
  const home = createHome(t);
  const { child } = await startDemo(home);
  const hasIt = (pid: number) => /(^|\0)MALLOC_ARENA_MAX=1\0/.test(environmentOf(pid));
  const listeners = () => processesOf(home.directory).filter(pid => pid !== child.pid);
  assert.equal(hasIt(child.pid!), true);
  // a process that was just forked still shows the daemon's own environment
  await until(() => listeners().length > 0 && !listeners().some(hasIt), 'listeners without it');
});

test('"culvert status" starts no process, works without Node, and distinguishes a dead or suspended daemon from a living one', async t => {
  const home = createHome(t);
  assert.equal((await culvert(home, 'status')).code, 5);
  const { child, ended } = await startDemo(home);
  await until(async () => /Disconnected/.test((await culvert(home, 'status')).stdout), 'the first state');
  const trace = join(home.directory, 'trace');
  for (const words of [['status'], ['status', '--check'], ['status', '--json'], ['--status']])
    execFileSync(
      'sh',
      ['-c', 'strace -f -qq -e trace=process -o "$0" "$@" || [ $? -eq 3 ]', trace, program, ...words],
      {
        env: { ...home.env, PATH: '/usr/bin:/bin' },
        stdio: 'ignore',
      },
    );
  const calls = readFileSync(trace, 'utf8')
    .split('\n')
    .filter(line => /\b(clone3?|v?fork|execve)\(/.test(line));
  assert.equal(calls.length, 1, `only the shell itself: ${calls.join('\n')}`);
  assert.match((await culvert(home, '--status')).stdout, /Disconnected.*\nport \d+\n$/);
  assert.equal((await culvert(home, 'status', '--check')).code, 3);
  await suspend(child.pid!);
  const suspended = await culvert(home, 'status');
  assert.deepEqual([suspended.code, suspended.stdout], [1, '']);
  assert.match(suspended.stderr, /is suspended, so the state is not known\. .*kill -CONT \d+\n$/);
  const [short, long] = [await culvert(home, 'status', '--json'), await culvert(home, 'status', '--long', '--json')];
  assert.deepEqual([short.code, JSON.parse(short.stdout), short.stderr], [1, JSON.parse(long.stdout), '']);
  child.kill('SIGKILL');
  await ended;
  assert.ok(existsSync(join(home.runtime, 'status')), 'a killed daemon leaves its file');
  const late = await culvert(home, 'status');
  assert.deepEqual([late.code, late.stdout], [5, '']);
  assert.match(late.stderr, /not running/);
});

test('one of two daemons started at the same time wins, and the other says so and ends well', async t => {
  const home = createHome(t);
  const port = String(freePort());
  const both = [1, 2].map(() => start(home, '--demo', '--port', port));
  const loser = await Promise.race(both.map(daemon => daemon.ended.then(code => ({ daemon, code }))));
  assert.equal(loser.code, 0);
  assert.match(loser.daemon.said(), /already running.*process \d+/);
  const winner = both.find(daemon => daemon !== loser.daemon)!;
  await winner.says(/answers on/);
  assert.equal((await getJson(Number(port), '/api/health')).pid, winner.child.pid as never);
});

test('a busy port is passed over, named, and recorded; a range of thirty busy ones is an error', async t => {
  const home = createHome(t);
  const first = freePort(31);
  await occupy(t, first, 2);
  const { said, port } = await startDemo(home, '--port', String(first));
  assert.equal(port, first + 2);
  assert.match(said(), new RegExp(`Port ${first} is in use; took ${first + 2}`));
  assert.equal(JSON.parse(readFileSync(join(home.runtime, 'daemon.json'), 'utf8')).port, port);

  await occupy(t, first + 3, 28);
  const other = start(createHome(t), '--demo', '--port', String(first + 1));
  assert.equal(await other.ended, 0, 'within its thirty stands the own daemon, which is used instead');
  assert.match(other.said(), new RegExp(`already running on port ${port}`));
  const far = freePort(30);
  await occupy(t, far, 30);
  const none = start(createHome(t), '--demo', '--port', String(far));
  assert.equal(await none.ended, 1);
  assert.match(none.said(), new RegExp(`ports ${far} to ${far + 29} are all in use`));
});

test('with 64 streams open it ends within two seconds of SIGTERM, and leaves nothing', async t => {
  const home = createHome(t);
  const { child, ended, port } = await startDemo(home);
  const streams = Array.from({ length: 64 }, () => connect(join(home.runtime, 'api.sock')));
  for (const stream of streams) {
    stream.write('GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(stream, 'data');
  }
  const byes = streams.map(async stream => {
    let text = '';
    for await (const piece of stream) text += piece;
    return /event: bye\ndata: \{"reason":"stopped"\}/.test(text);
  });
  const before = performance.now();
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  const took = performance.now() - before;
  assert.ok(took < 8_000, `${took} ms`);
  assert.deepEqual(await Promise.all(byes), Array(64).fill(true));
  assert.deepEqual(readdirSync(home.runtime), []);
  assert.deepEqual(processesOf(home.directory), []);
  await assert.rejects(getJson(port, '/api/health'), /ECONNREFUSED/);
});

for (const signal of sample(['SIGKILL', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGSEGV'] as const, 3))
  test(`after ${signal} no child is left, and the next start is an ordinary one`, async t => {
    const home = createHome(t);
    const first = await startDemo(home);
    await until(() => processesOf(home.directory).length >= 2, 'the listening child');
    process.kill(first.child.pid!, signal);
    await first.ended;
    await until(() => processesOf(home.directory).length === 0, 'no process left');
    const again = await startDemo(home);
    assert.equal((await getJson(again.port, '/api/health')).pid, again.child.pid as never);
  });

test('an idle daemon starts nothing beyond its listening child', async t => {
  const home = createHome(t);
  const { child, port } = await startDemo(home);
  await culvert(home, 'connect', '--wait');
  await getJson(port, '/api/snapshot');
  const log = async () => Number((await getJson(port, '/api/logs?since=0')).next);
  // connecting is over once a second passes without a new entry
  let before = -1;
  await until(async () => {
    const last = before;
    before = await log();
    if (before !== last) await delay(1_000);
    return before === last;
  }, 'the daemon is idle');
  const tracer = spawn('strace', ['-f', '-qq', '-e', 'trace=execve', '-p', String(child.pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let traced = '';
  tracer.stderr.setEncoding('utf8').on('data', (piece: string) => (traced += piece));
  await until(() => /TracerPid:\t[1-9]/.test(readFileSync(`/proc/${child.pid}/status`, 'utf8')), 'strace attached');
  const watched = performance.now();
  await until(() => performance.now() - watched > 6_000, 'six seconds passed');
  tracer.kill('SIGINT');
  await once(tracer, 'exit');
  assert.doesNotMatch(traced, /execve\(/);
  assert.equal(await log(), before);
});

test('a broken configuration file is named, and the daemon starts on the other layers', async t => {
  const home = createHome(t);
  const directory = join(home.directory, '.config', 'culvert');
  mkdirSync(directory, { recursive: true });
  const broken = '{\n  "ui": { "theme": "dark" },,\n}\n';
  writeFileSync(join(directory, 'config.json'), broken);
  const { port, said } = await startDemo(home);
  assert.match(said(), /config\.json, line 2: not valid JSON/);
  const { problems, config } = (await getJson(port, '/api/config')) as unknown as {
    problems: { line: number }[];
    config: { ui: { theme: string } };
  };
  assert.equal(problems[0]!.line, 2);
  assert.equal(config.ui.theme, 'system');
  assert.equal((await culvert(home, 'config', 'set', 'ui.theme', 'light')).code, 1);
  assert.equal(readFileSync(join(directory, 'config.json'), 'utf8'), broken);
});

test('a wrong environment variable ends the start with its name, value and expected type', async t => {
  const home = createHome(t);
  const daemon = start({ ...home, env: { ...home.env, CULVERT_SERVER_PORT: 'http' } });
  assert.equal(await daemon.ended, 1);
  assert.match(daemon.said(), /CULVERT_SERVER_PORT=http: expected a whole number from 1 to 65535/);
  for (const [flag, words] of [
    ['--port', ['--port', '70000']],
    ['--bogus', ['--bogus']],
  ] as const) {
    const child = await culvert(home, '--no-tray', ...words);
    assert.equal(child.code, 2, `${flag} ${child.stderr}`);
    assert.match(child.stderr, new RegExp(flag));
  }
});

test('an address that others can reach needs the two keys that allow it', async t => {
  const home = createHome(t);
  const daemon = start({ ...home, env: { ...home.env, CULVERT_SERVER_BIND: '0.0.0.0' } }, '--port', String(freePort()));
  assert.equal(await daemon.ended, 1);
  assert.match(daemon.said(), /webui\.allowRemote/);
  const env = { ...home.env, CULVERT_SERVER_BIND: '0.0.0.0', CULVERT_WEBUI: '1', CULVERT_WEBUI_ALLOW_REMOTE: '1' };
  const { port } = await startDemo({ ...home, env });
  assert.equal((await getJson(port, '/api/health')).ok, true as never);
  const token = (await culvert({ env }, 'token')).stdout.trim();
  assert.match(token, /^[\w-]{43}$/);
  const file = join(home.directory, '.local/state/culvert/token');
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a warp-cli that comes, goes and is replaced is noticed without a restart', async t => {
  const home = createHome(t);
  const bin = join(home.directory, 'bin');
  mkdirSync(bin);
  const env = { ...home.env, PATH: `${bin}:${process.env.PATH}` };
  const port = freePort();
  const daemon = start({ ...home, env }, '--port', String(port));
  await daemon.says(/answers on/);
  const snapshot = () =>
    getJson(port, '/api/snapshot') as unknown as Promise<{
      status: { state: string; blocked: string | null };
      tunnelCli: { available: boolean; version: string };
    }>;
  const blocked = async (code: string | null) => (await snapshot()).status.blocked === code;
  await until(() => blocked('cli-missing'), 'cli-missing');
  await daemon.says(/warp-cli is not installed\. .*culvert --demo/);
  assert.equal((await culvert({ env }, 'connect')).code, 6);
  assert.match((await culvert({ env }, 'status')).stdout, /Cloudflare WARP is not installed/);

  symlinkSync(join(prefix, 'bin/culvert-emulator'), join(bin, 'warp-cli'));
  await until(async () => (await snapshot()).status.state === 'disconnected', 'it came');
  assert.equal((await snapshot()).tunnelCli.available, true);
  rmSync(join(bin, 'warp-cli'));
  await until(() => blocked('cli-missing'), 'it went');
  writeFileSync(
    join(bin, 'warp-cli'),
    `#!/bin/sh\nCULVERT_EMULATOR_VERSION=2025.9.558.0 exec ${prefix}/bin/culvert-emulator "$@"\n`,
    { mode: 0o755 },
  );
  await until(async () => (await snapshot()).tunnelCli.version === '2025.9.558.0', 'another version came');
  assert.equal((await culvert({ env }, 'connect', '--wait')).code, 0);
});

test('directories that cannot be used are named, and nothing is half written', async t => {
  const home = createHome(t);
  writeFileSync(home.runtime, 'a file in the way');
  const inTheWay = start(home, '--demo');
  assert.equal(await inTheWay.ended, 1);
  assert.match(inTheWay.said(), /session\/culvert/);
  rmSync(home.runtime);
  mkdirSync(home.runtime);
  chmodSync(home.runtime, 0o777);
  const open = start(home, '--demo');
  assert.equal(await open.ended, 1);
  assert.match(open.said(), /open to other users/);
  assert.deepEqual(readdirSync(home.runtime), []);
});

test('a full disk is reported and truncates nothing', async t => {
  const home = createHome(t);
  const { port } = await startDemo(home);
  await culvert(home, 'config', 'set', 'ui.theme', 'dark');
  const file = join(home.directory, '.config/culvert/config.json');
  const before = readFileSync(file, 'utf8');
  if (process.getuid!() !== 0) return t.skip('making a small file system needs root');
  const small = join(home.directory, '.config/small');
  mkdirSync(small);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', small], { stdio: 'ignore' });
  } catch {
    return t.skip('this machine allows no mounts');
  }
  home.defer(() => execFileSync('umount', ['-l', small]));
  cpSync(file, join(small, 'config.json'));
  rmSync(join(home.directory, '.config/culvert'), { recursive: true });
  symlinkSync(small, join(home.directory, '.config/culvert'));
  try {
    writeFileSync(join(small, 'filler'), Buffer.alloc(128 * 1024));
  } catch {
    // full now, as wanted
  }
  const answer = await culvert(home, 'config', 'set', 'updates.channel', 'beta', '--json');
  assert.equal(answer.code, 1);
  assert.equal(JSON.parse(answer.stdout).code, 'config-not-writable');
  assert.equal(readFileSync(file, 'utf8'), before);
  assert.equal((await getJson(port, '/api/health')).ok, true as never);
});

test('a stream of accounts follows what culvert-wrap stores', async t => {
  const home = createHome(t);
  const { port } = await startDemo(home);
  const stream = spawn('curl', ['-sSN', `http://127.0.0.1:${port}/api/events?only=accounts`]);
  home.defer(() => stream.kill());
  let heard = '';
  stream.stdout.setEncoding('utf8').on('data', (piece: string) => (heard += piece));
  await until(() => heard.includes('event: accounts'), 'the present accounts');
  const words = ['accounts', 'add', 'firecrawl', 'team-a', '--env', 'FIRECRAWL_API_KEY=env:MINE'];
  execFileSync(join(prefix, 'bin/culvert-wrap'), words, { env: home.env, stdio: 'ignore' });
  await until(() => heard.includes('"name":"team-a"'), 'the new account');
  const { tools } = (await getJson(port, '/api/accounts')) as unknown as ToolAccounts;
  assert.deepEqual(tools.find(({ cli }) => cli === 'firecrawl')?.accounts[0]?.sources, ['env']);
});

test('systemd is notified when it is ready, that it lives, and that it stops', async t => {
  const home = createHome(t);
  const socket = join(home.directory, 'notify');
  const listener = spawn(
    'python3',
    [
      '-u',
      '-c',
      `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print('bound')
while True: print(s.recv(4096).decode())
`,
      socket,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  home.defer(() => listener.kill());
  let heard = '';
  listener.stdout.setEncoding('utf8').on('data', (piece: string) => (heard += piece));
  await until(() => heard.includes('bound'), 'bound');
  const env = { ...home.env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' };
  const { child, ended } = await startDemo({ ...home, env });
  await until(() => /READY=1/.test(heard), 'ready');
  await until(() => /WATCHDOG=1/.test(heard), 'alive');
  child.kill('SIGTERM');
  await ended;
  await until(() => /STOPPING=1/.test(heard), 'stopping');
});

test('the user unit is sandboxed to an exposure of at most 2.5', () => {
  const unit = join(prefix, 'lib/systemd/user/culvert.service');
  const table = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], {
    encoding: 'utf8',
  });
  const [, exposure] = /Overall exposure level for culvert.service: ([\d.]+)/.exec(table)!;
  assert.ok(Number(exposure) <= 2.5, exposure);
});
