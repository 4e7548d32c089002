// `culvert stop`: ends the daemon and nothing else, whatever the record says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isSingleProcess } from '../../../../daemon/cli/commands/culvert/stop.ts';
import { startTime } from '../../../../daemon/system/process.ts';
import { createHome, culvert, type Home } from '../../../support/daemon/command.ts';

/** A process that answers health on the home's socket. */
async function daemon(t: TestContext, home: Home, onTerm: string) {
  const script = `
    process.on('SIGTERM', () => { ${onTerm} });
    require('node:http').createServer((_, r) => r.end(JSON.stringify({ok: true, app: 'culvert', pid: process.pid})))
      .listen(${JSON.stringify(home.socket)}, () => console.log('ready'));`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

function record(home: Home, pid: number | undefined, started: string | null): void {
  writeFileSync(
    join(home.path, 'run', 'culvert', 'daemon.json'),
    JSON.stringify({ pid, port: 4173, version: '1', started }),
  );
}

test('stop ends the recorded daemon and comes back when it is gone', async t => {
  const home = createHome(t);
  const child = await daemon(t, home, 'setTimeout(() => process.exit(0), 100)');
  record(home, child.pid, startTime(child.pid!));
  const { code, stdout } = await culvert(home, ['stop']);
  assert.deepEqual([code, stdout], [0, `Stopped the daemon (pid ${child.pid}).\n`]);
  assert.equal(startTime(child.pid!), null);
});

test('stop finds a daemon without a record by its socket', async t => {
  const home = createHome(t);
  const child = await daemon(t, home, 'process.exit(0)');
  const { code, stdout } = await culvert(home, ['stop', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { ok: true, pid: child.pid }]);
});

test('a pid that now belongs to another process is not signaled', async t => {
  const home = createHome(t);
  const other = spawn('sleep', ['60']);
  t.after(() => other.kill('SIGKILL'));
  record(home, other.pid, '1');
  assert.equal((await culvert(home, ['stop'])).code, 5);
  assert.notEqual(startTime(other.pid!), null);
  assert.equal(other.signalCode, null);
});

test('stop says immediately that the daemon is suspended, and how it goes on', async t => {
  const home = createHome(t);
  const child = await daemon(t, home, 'process.exit(0)');
  record(home, child.pid, startTime(child.pid!));
  child.kill('SIGSTOP');
  const { code, stderr } = await culvert(home, ['stop']);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`suspended.*\\n.*kill -CONT ${child.pid}`));
});

test('stop says what became of changes that were pending', async t => {
  for (const [reverts, expected] of [
    [false, /stays until Culvert runs again/],
    [true, /not confirmed was reverted/],
  ] as const) {
    const home = createHome(t);
    const state = join(home.path, '.local/state/culvert');
    mkdirSync(state, { recursive: true });
    const changes = join(state, 'changes.json');
    writeFileSync(changes, '{}');
    const revert = reverts ? `require('node:fs').rmSync(${JSON.stringify(changes)});` : '';
    await daemon(t, home, `${revert} process.exit(0)`);
    const { code, stderr } = await culvert(home, ['stop']);
    assert.equal(code, 0);
    assert.match(stderr, expected);
  }
});

// told apart by the function only: were it wrong, running the command with these would end every process there is
for (const pid of [-1, 0, 1, -1234, 1.5, Number.NaN, '1', '1234', null, undefined, 2 ** 60]) {
  test(`${typeof pid} ${pid} is not a process to signal`, () =>
    assert.equal(isSingleProcess({ pid, started: '1' }), false));
}
test('a pid without a start time proves nothing', () => {
  for (const started of [null, undefined, '', 5]) assert.equal(isSingleProcess({ pid: 1234, started }), false);
  assert.equal(isSingleProcess({ pid: 1234, started: '5' }), true);
});

for (const text of ['', '{', 'null', '[]']) {
  test(`a record of ${text || 'nothing'} is ignored`, async t => {
    const home = createHome(t);
    writeFileSync(join(home.path, 'run', 'culvert', 'daemon.json'), text);
    const { code, stderr } = await culvert(home, ['stop']);
    assert.deepEqual([code, stderr], [5, 'culvert: The Culvert daemon is not running.\nStart it with: culvert\n']);
  });
}

test('token prints the token and makes it when there is none', async t => {
  const home = createHome(t);
  const { code, stdout } = await culvert(home, ['token']);
  assert.equal(code, 0);
  assert.match(stdout, /^[\w-]{43}\n$/);
  assert.equal((await culvert(home, ['token'])).stdout, stdout);
  assert.deepEqual(JSON.parse((await culvert(home, ['token', '--json'])).stdout), { ok: true, token: stdout.trim() });
  assert.equal(statSync(join(home.path, '.local/state/culvert/token')).mode & 0o777, 0o600);
});
