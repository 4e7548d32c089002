// A lock under contention, after kills, and where its path holds something else.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { acquireLock, putLink, sweepLock } from '../../../daemon/core/lock.ts';
import { startTime } from '../../../daemon/core/process.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';

function lockPath(t: TestContext): string {
  const directory = temporary(t, 'lock');
  return join(directory, 'lock');
}

const CONTENDER = `
  import { acquireLock } from ${JSON.stringify(resolve(import.meta.dirname, '../../../daemon/core/lock.ts'))};
  console.log('heldBy' in acquireLock(process.argv[2]) ? 'lost' : 'won');
  setInterval(() => {}, 1000);
`;
const program = bundleScript({ text: CONTENDER }, temporary({ after }, 'lock'));

/** A process that tries to take the lock, prints the result, and stays alive. */
function contender(path: string): ChildProcess {
  return spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
}
const word = async (child: ChildProcess) => String((await once(child.stdout!, 'data'))[0]).trim();

test('exactly one of many contenders wins, even over the lock of a killed process', async t => {
  const path = lockPath(t);
  const killed = contender(path);
  assert.equal(await word(killed), 'won');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  assert.ok(existsSync(path), 'the killed process left its lock');
  const crowd = Array.from({ length: 6 }, () => contender(path));
  t.after(() => crowd.forEach(child => void child.kill('SIGKILL')));
  const words = await Promise.all(crowd.map(word));
  assert.deepEqual(words.sort(), ['lost', 'lost', 'lost', 'lost', 'lost', 'won']);
});

test('a lock of a killed process that nothing can be written next to is an error, not a wait without end', t => {
  // the name of what breaks it is longer than a name can be
  const path = join(temporary(t, 'lock'), 'x'.repeat(252));
  writeFileSync(path, `${process.pid} 0`);
  assert.throws(() => acquireLock(path), { code: 'ENAMETOOLONG' });
});

test('a release leaves the lock of another process', t => {
  const path = lockPath(t);
  const lock = acquireLock(path);
  assert.ok('release' in lock);
  const other = `${process.ppid} ${startTime(process.ppid)}`;
  writeFileSync(path, other);
  lock.release();
  assert.equal(readFileSync(path, 'utf8'), other);
});

test('a release that fails is not the failure of the work before it', t => {
  const path = lockPath(t);
  const lock = acquireLock(path);
  assert.ok('release' in lock);
  rmSync(path);
  mkdirSync(path);
  lock.release();
});

for (const put of [undefined, putLink])
  test(`names the holder, and is free again after release: ${put ? 'a link' : 'a file'}`, t => {
    const path = lockPath(t);
    const first = acquireLock(path, 0, put);
    assert.ok('release' in first);
    assert.deepEqual(acquireLock(path, 0, put), { heldBy: process.pid });
    assert.deepEqual(acquireLock(path, 20, put), { heldBy: process.pid }, 'also after waiting');
    first.release();
    const again = acquireLock(path, 0, put);
    assert.ok('release' in again);
    again.release();
    assert.deepEqual(readdirSync(join(path, '..')), []);
  });

test('reports something else in place of the lock instead of waiting for it', t => {
  const path = lockPath(t);
  mkdirSync(path);
  assert.throws(() => acquireLock(path, 60_000), /lock is a directory, not a lock\. Remove it/);
});

test('takes over a lock that is torn or names a reused pid', t => {
  const path = lockPath(t);
  for (const content of ['', 'x', `${process.pid}`, `${process.pid} 1`, '-1 1', '0 0']) {
    writeFileSync(path, content);
    const lock = acquireLock(path);
    assert.ok('release' in lock, JSON.stringify(content));
    lock.release();
    if (content === '') continue;
    symlinkSync(content, path);
    const link = acquireLock(path, 0, putLink);
    assert.ok('release' in link, `link to ${content}`);
    link.release();
  }
});

test('sweeps the private files of dead processes, and only those', async t => {
  const path = lockPath(t);
  const dead = spawn('true');
  await once(dead, 'exit');
  for (const name of [`lock.${dead.pid}`, `lock.${process.pid}`, 'lock.turn', 'other.1'])
    writeFileSync(join(path, '..', name), '');
  sweepLock(path);
  assert.deepEqual(readdirSync(join(path, '..')).sort(), [`lock.${process.pid}`, 'lock.turn', 'other.1'].sort());
});
