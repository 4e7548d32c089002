// One daemon per session: the lock under a crowd, after kills, and with a wrong owner.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { acquire, prepareRuntime, running, startOf } from '../../daemon/instance.ts';
import { type Paths, paths } from '../../daemon/paths.ts';

function session(t: TestContext): Paths {
  const runtime = mkdtempSync(join(tmpdir(), 'culvert-instance-'));
  t.after(() => rmSync(runtime, { recursive: true, force: true }));
  const p = paths({ HOME: runtime, XDG_RUNTIME_DIR: runtime });
  prepareRuntime(p);
  return p;
}

/** A process that tries for the lock, prints what it got, and holds on. */
function contender(p: Paths): ChildProcess {
  const script = `
    import { acquire } from ${JSON.stringify(new URL('../../daemon/instance.ts', import.meta.url).href)};
    console.log('heldBy' in acquire(${JSON.stringify(p)}) ? 'lost' : 'won');
    setInterval(() => {}, 1000);
  `;
  return spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
const word = async (child: ChildProcess) => String((await once(child.stdout!, 'data'))[0]).trim();

test('of many that start at once exactly one wins, even over the lock of a killed one', async t => {
  const p = session(t);
  const killed = contender(p);
  assert.equal(await word(killed), 'won');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  assert.ok(existsSync(`${p.runtime}/lock`), 'the killed one left its lock');
  const crowd = Array.from({ length: 6 }, () => contender(p));
  t.after(() => crowd.forEach(child => void child.kill('SIGKILL')));
  const words = await Promise.all(crowd.map(word));
  assert.deepEqual(words.sort(), ['lost', 'lost', 'lost', 'lost', 'lost', 'won']);
});

test('the loser learns who holds the lock, and release frees it', t => {
  const p = session(t);
  const first = acquire(p);
  assert.ok('release' in first);
  assert.deepEqual(acquire(p), { heldBy: process.pid });
  first.release();
  const again = acquire(p);
  assert.ok('release' in again);
  again.release();
});

test('what is in the place of the lock and is none is named, not waited for', t => {
  const p = session(t);
  mkdirSync(`${p.runtime}/lock`);
  assert.throws(() => acquire(p), /lock can't be read: EISDIR.*Remove it/);
});

test('a record of a process that is gone, or whose number was given again, is none', t => {
  const p = session(t);
  assert.equal(running(p), null);
  const record = { pid: process.pid, port: 4173, version: '1', started: startOf(process.pid)! };
  writeFileSync(p.record, JSON.stringify(record));
  assert.deepEqual(running(p), record);
  writeFileSync(p.record, JSON.stringify({ ...record, started: '1' }));
  assert.equal(running(p), null);
  for (const torn of [
    '{"pid":',
    'null',
    '{"pid":-1,"started":null}',
    '{"pid":0}',
    '{"pid":"1"}',
    '{"pid":4000000000}',
  ]) {
    writeFileSync(p.record, torn);
    assert.equal(running(p), null, torn);
  }
});

test('a killed process that nobody has reaped counts as gone', async () => {
  const script =
    'import os, time; pid = os.fork(); pid or os.kill(os.getpid(), 9); print(pid, flush=True); time.sleep(60)';
  const parent = spawn('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const zombie = Number(await word(parent));
  const deadline = Date.now() + 5_000;
  while (startOf(zombie) !== null && Date.now() < deadline) await new Promise(resolve => setImmediate(resolve));
  assert.ok(existsSync(`/proc/${zombie}/stat`), 'still in the process table');
  assert.equal(startOf(zombie), null);
  parent.kill('SIGKILL');
});

test('a runtime directory that others can enter is refused', t => {
  const p = session(t);
  chmodSync(p.runtime, 0o755);
  assert.throws(() => prepareRuntime(p), /open to other users.*chmod 700/s);
});

test('a link or a file in place of the runtime directory is named as such, without advice to open what it leads to', t => {
  const p = session(t);
  for (const place of [() => symlinkSync(tmpdir(), p.runtime), () => writeFileSync(p.runtime, '')]) {
    rmSync(p.runtime, { recursive: true });
    place();
    assert.throws(
      () => prepareRuntime(p),
      (e: Error) => /is not a directory/.test(e.message) && !/chmod/.test(e.message),
    );
  }
});

test('a directory too deep for a socket is refused in words, and nothing is made', t => {
  const { runtime } = session(t);
  const fits = paths({
    HOME: '/h',
    XDG_RUNTIME_DIR: join(runtime, 'x'.repeat(107 - join(runtime, 'culvert/api.sock').length - 1)),
  });
  assert.equal(fits.socket.length, 107);
  prepareRuntime(fits);
  const deep = paths({ HOME: '/h', XDG_RUNTIME_DIR: join(runtime, 'x'.repeat(120)) });
  assert.throws(() => prepareRuntime(deep), /may have 107 .*shorter directory/s);
  assert.ok(!existsSync(join(runtime, 'x'.repeat(120))));
});

test('without a session directory the state directory serves', () => {
  assert.equal(paths({ HOME: '/h' }).socket, '/h/.local/state/culvert/run/api.sock');
  assert.equal(paths({ HOME: '/h', XDG_RUNTIME_DIR: 'relative' }).runtime, '/h/.local/state/culvert/run');
  assert.equal(paths({ HOME: '/h', XDG_RUNTIME_DIR: '/run/user/1' }).socket, '/run/user/1/culvert/api.sock');
  assert.throws(() => paths({}), /HOME is not set/);
});
