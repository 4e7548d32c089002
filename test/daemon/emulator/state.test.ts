// The state file under concurrency, sudden death and damage.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type Emulator, emulator } from '../../support/daemon/emulator.ts';
import { FULL } from '../../support/thoroughness.ts';

const KILLED = FULL ? 20 : 6;
const ROUNDS = KILLED + 5;

describe('the state of the emulator', () => {
  let it_: Emulator;
  beforeEach(async () => {
    it_ = await emulator({ program: true });
  });
  afterEach(() => it_.remove());

  const hosts = async () =>
    (JSON.parse(await readFile(it_.stateFile, 'utf8')).settings.hosts as { value: string }[]).map(each => each.value);
  const files = async () => (await readdir(dirname(it_.stateFile))).sort();

  it('loses none of 20 concurrent changes, and leaves no lock behind', async () => {
    const wanted = Array.from({ length: 20 }, (_, i) => `host-${i}.example`);
    const results = await Promise.all(wanted.map(host => it_.run('tunnel', 'host', 'add', host)));
    assert.deepEqual(new Set(results.map(each => each.exitCode)), new Set([0]));
    assert.deepEqual((await hosts()).sort(), wanted.sort());
    assert.deepEqual(await files(), ['emulator.json']);
  });

  it('is whole at every moment, and after every kill the next command goes on', async () => {
    await it_.run('status');
    // Large, so that a write takes long enough to be seen, and to be killed, half done.
    const state = JSON.parse(await readFile(it_.stateFile, 'utf8'));
    state.settings.ssids = Array.from({ length: 100_000 }, (_, i) => `network-${i}`);
    await writeFile(it_.stateFile, JSON.stringify(state));
    const done: string[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const host = `host-${i}.example`;
      const child = spawn(it_.bin, ['tunnel', 'host', 'add', host], { env: it_.env, stdio: 'ignore' });
      const exit = once(child, 'exit');
      // From before the lock to after the write, wherever that falls on this machine; the last ones live.
      const timer = i < KILLED ? setTimeout(() => child.kill('SIGKILL'), 1 + (200 / KILLED) * i) : undefined;
      let running = true;
      void exit.then(() => {
        running = false;
      });
      while (running) await hosts();
      clearTimeout(timer);
      if ((await exit)[0] === 0) done.push(host);
      const stored = await hosts();
      for (const each of done) assert.ok(stored.includes(each), `${each} was reported and lost`);
    }
    assert.ok(done.length >= 5 && done.length < ROUNDS, `${done.length} of ${ROUNDS} were not killed`);
    assert.equal((await it_.run('tunnel', 'host', 'add', 'last.example')).exitCode, 0);
    assert.ok((await hosts()).includes('last.example'));
  });

  it('takes the lock of a dead process, and waits for a living one', async () => {
    await it_.run('status');
    const lock = `${it_.stateFile}.lock`;
    const dead = spawn('true');
    await once(dead, 'exit');
    await writeFile(lock, `${dead.pid} 12345`);
    assert.equal((await it_.run('tunnel', 'host', 'add', 'a.example')).exitCode, 0);

    const self = await readFile('/proc/self/stat', 'latin1');
    const start = self.slice(self.lastIndexOf(')') + 2).split(' ')[19];
    await writeFile(lock, `${process.pid} ${start}`);
    const child = it_.start('tunnel', 'host', 'add', 'b.example');
    const exit = once(child, 'exit');
    // A change that needs no lock, and so takes at least as long as the other would have.
    for (let i = 0; i < 4; i++) assert.equal((await it_.run('status')).exitCode, 0, 'reading needs no lock');
    assert.equal(child.exitCode, null);
    await writeFile(lock, `${dead.pid} 12345`);
    assert.equal((await exit)[0], 0);
    assert.deepEqual(await hosts(), ['a.example', 'b.example']);
  });

  it('puts a damaged file aside and starts over', async () => {
    await mkdir(dirname(it_.stateFile), { recursive: true });
    for (const damage of ['', '{"format":1,', '[]', '{"format":99}']) {
      await writeFile(it_.stateFile, damage);
      assert.equal((await it_.run('-j', 'status')).exitCode, 0, damage);
      assert.equal(await readFile(`${it_.stateFile}.broken`, 'utf8'), damage);
    }
  });

  it('says why when it cannot be written', async () => {
    const { stderr, exitCode } = await it_.runWith({ CULVERT_EMULATOR_STATE: `${it_.bin}/emulator.json` }, 'status');
    assert.equal(exitCode, 1);
    assert.match(stderr, /^culvert-emulator: .*bin\/warp-cli.*Not a directory/);
  });

  it('does not call a directory that cannot be made a broken value', async () => {
    const { stderr, exitCode } = await it_.runWith({ CULVERT_EMULATOR_STATE: '/proc/below/emulator.json' }, 'connect');
    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      /^culvert-emulator: \/proc\/below can't be written: [^.]+\. Set CULVERT_EMULATOR_STATE to [^.]+\.$/m,
    );
  });

  it('is not rewritten by what changes nothing', async () => {
    await it_.run('connect');
    // A replaced file has another inode.
    const { ino } = await stat(it_.stateFile);
    for (const argv of [['connect'], ['dns', 'families', 'off'], ['vnet'], ['registration', 'new']])
      await it_.run(...argv);
    assert.equal((await stat(it_.stateFile)).ino, ino);
  });
});
