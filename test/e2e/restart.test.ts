// `culvert restart` with real daemons: flags and pending changes go on, and the outcome is said.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, culvert, type Home, start, startDemo } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

/** Ends a daemon that is not a child of the test. */
function endWithTest(home: Home, pid: number): void {
  home.defer(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it has ended
    }
    return until(() => !existsSync(`/proc/${pid}`), 'the end of the daemon');
  });
}

async function snapshotOf(home: Home) {
  const { stdout } = await culvert(home, 'status', '--long', '--json');
  return JSON.parse(stdout) as {
    changes: { subject: string; confirmBy: string | null }[];
    tunnelCli: { emulated: boolean };
  };
}

/** The words of a process after its program. */
const wordsOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(2, -1);

const pendingOf = async (home: Home) =>
  (await snapshotOf(home)).changes.map(({ subject, confirmBy }) => [subject, confirmBy !== null]);

test('a restart keeps the flags, what is not confirmed, and what ends later', async t => {
  const home = createHome(t);
  const { port, child, ended } = await startDemo(home);
  assert.equal((await culvert(home, 'connect', '--wait')).code, 0);
  assert.equal((await culvert(home, 'mode', 'doh', '--confirm-within', '500')).code, 0);
  assert.equal((await culvert(home, 'off', '--for', '15m')).code, 0);
  const before = await pendingOf(home);
  assert.deepEqual(before.map(([subject]) => subject).sort(), ['connection', 'mode']);

  const words = wordsOf(child.pid!);
  const { code, stdout } = await culvert(home, 'restart', '--json');
  const { pid, restarted } = JSON.parse(stdout);
  endWithTest(home, pid);
  assert.deepEqual([code, restarted, await ended], [0, true, 0]);
  assert.notEqual(pid, child.pid);
  assert.deepEqual(wordsOf(pid), words);
  const status = JSON.parse((await culvert(home, 'status', '--json')).stdout);
  assert.equal(status.port, port);
  await until(async () => (await pendingOf(home)).length === 2, 'the pending changes');
  assert.deepEqual(await pendingOf(home), before);
  assert.equal((await snapshotOf(home)).tunnelCli.emulated, true);

  const stop = await culvert(home, 'stop');
  assert.match(
    stop.stderr,
    /^Reverted, because it was not confirmed: Mode\nDemo: reverts only .*: Back on at .*\d\d:\d\d\n$/,
  );
  const late = await culvert(home, 'status');
  assert.equal(late.code, 5);
  assert.match(
    late.stderr,
    /^culvert: The Culvert daemon is not running\.\nDemo: reverts only when the demo runs again: Back on at .*\nStart it with: culvert\n$/,
  );
});

test('a demo becomes the real thing and back on request, on the same port', async t => {
  const home = createHome(t);
  home.env.CULVERT_WARP_CLI = join(home.directory, 'no-warp-cli');
  const { port, child, ended } = await startDemo(home);
  let { pid } = child;
  const token = (await culvert(home, 'token')).stdout.trim();
  for (const demo of [false, true]) {
    const reply = await fetch(`http://127.0.0.1:${port}/api/restart`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ demo }),
    });
    assert.deepEqual(await reply.json(), { ok: true });
    const before = pid;
    const record = join(home.runtime, 'daemon.json');
    const next = () => {
      try {
        return JSON.parse(readFileSync(record, 'utf8')) as { pid: number; port: number; demo: boolean };
      } catch {
        return null; // between the two
      }
    };
    await until(() => (next()?.pid ?? before) !== before, 'the next daemon');
    pid = next()!.pid;
    endWithTest(home, pid);
    assert.deepEqual([next()!.demo, next()!.port], [demo, port]);
    assert.equal((await snapshotOf(home)).tunnelCli.emulated, demo);
  }
  assert.equal(await ended, 0);
  assert.equal((await culvert(home, 'stop')).code, 0);
});

test('as a unit, the daemon ends with the status on which systemd starts it again', async t => {
  const home = createHome(t);
  home.env.NOTIFY_SOCKET = join(home.directory, 'nobody-listens');
  const { child, ended } = await startDemo(home);
  assert.equal((await culvert(home, 'mode', 'doh', '--confirm-within', '500')).code, 0);
  child.kill('SIGUSR2');
  assert.equal(await ended, 75);
  assert.ok(existsSync(join(home.directory, '.local/state/culvert/demo/changes.json')));
});

test('a daemon that ends right after its start reverts what is not confirmed', async t => {
  const home = createHome(t);
  const { child, ended, port } = await startDemo(home);
  assert.equal((await culvert(home, 'mode', 'doh', '--confirm-within', '500')).code, 0);
  child.kill('SIGKILL');
  await ended;
  const next = start(home, '--demo', '--port', String(port));
  const record = join(home.runtime, 'daemon.json');
  await until(() => JSON.parse(readFileSync(record, 'utf8')).pid === next.child.pid, 'its record');
  next.child.kill('SIGTERM');
  assert.equal(await next.ended, 0);
  assert.equal(existsSync(join(home.directory, '.local/state/culvert/demo/changes.json')), false);
});

test('without a daemon, a restart starts one and says so', async t => {
  const home = createHome(t);
  home.env.CULVERT_SERVER_PORT = String(freePort());
  const { code, stdout } = await culvert(home, 'restart');
  const [, pid] = /^The daemon was not running\. Started it: version \S+ \(pid (\d+)\)\.\n$/.exec(stdout) ?? [];
  assert.ok(pid, stdout);
  endWithTest(home, Number(pid));
  assert.equal(code, 0);
  assert.equal((await culvert(home, 'stop')).code, 0);
});

for (const [what, signal, says] of [
  ['a demo that was stopped', 'SIGTERM', false],
  ['a demo that was killed', 'SIGKILL', true],
] as const)
  test(`a restart after ${what} speaks of the demo only where it has replaced it`, async t => {
    const home = createHome(t);
    home.env.CULVERT_WARP_CLI = join(home.directory, 'no-warp-cli');
    const { child, ended, port } = await startDemo(home);
    home.env.CULVERT_SERVER_PORT = String(port);
    assert.equal((await culvert(home, 'mode', 'doh', '--for', '1h')).code, 0);
    child.kill(signal);
    await ended;
    assert.ok(existsSync(join(home.directory, '.local/state/culvert/demo')), 'its state stays');
    const { code, stdout, stderr } = await culvert(home, 'restart');
    endWithTest(home, Number(/pid (\d+)/.exec(stdout)?.[1]));
    assert.equal(code, 0, stderr);
    if (says) assert.match(stderr, /^The demo was killed\. This one works on the tunnel client of this machine\./);
    else assert.equal(stderr, '');
    assert.equal((await culvert(home, 'stop')).code, 0);
  });

test('without a daemon, the launcher and the command line say the same, to people and to scripts', async t => {
  const home = createHome(t);
  const [launcher, commandLine] = [await culvert(home, 'status'), await culvert(home, 'mode')];
  assert.deepEqual([launcher.code, launcher.stderr], [5, commandLine.stderr]);
  const [short, long] = [await culvert(home, 'status', '--json'), await culvert(home, 'status', '--long', '--json')];
  assert.deepEqual(JSON.parse(short.stdout), JSON.parse(long.stdout));
  assert.equal(short.code, 5);
});
