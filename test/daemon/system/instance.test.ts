// The runtime directory is private, and its record names a process that still runs.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startTime } from '../../../daemon/core/process.ts';
import { prepareRuntime, runningInstance } from '../../../daemon/system/instance.ts';
import { type Paths, paths } from '../../../daemon/system/paths.ts';
import { temporary } from '../../support/temporary.ts';

function session(t: TestContext): Paths {
  const runtime = temporary(t, 'instance');
  const p = paths({ HOME: runtime, XDG_RUNTIME_DIR: runtime });
  prepareRuntime(p);
  return p;
}

test('ignores the record of a process that is gone or whose pid was reused', t => {
  const p = session(t);
  assert.equal(runningInstance(p), null);
  const record = { pid: process.pid, port: 4173, version: '1', demo: false, started: startTime(process.pid)! };
  writeFileSync(p.record, JSON.stringify(record));
  assert.deepEqual(runningInstance(p), record);
  writeFileSync(p.record, JSON.stringify({ ...record, started: '1' }));
  assert.equal(runningInstance(p), null);
  for (const torn of [
    '{"pid":',
    'null',
    '{"pid":-1,"started":null}',
    '{"pid":0}',
    '{"pid":"1"}',
    '{"pid":4000000000}',
  ]) {
    writeFileSync(p.record, torn);
    assert.equal(runningInstance(p), null, torn);
  }
});

test('refuses a runtime directory that others can enter', t => {
  const p = session(t);
  chmodSync(p.runtime, 0o755);
  assert.throws(() => prepareRuntime(p), /open to other users.*chmod 700/s);
});

test('names a link or a file in place of the runtime directory, and does not advise to chmod its target', t => {
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

test('refuses a directory too deep for a socket, and creates nothing', t => {
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

test('uses the state directory where there is no session directory', () => {
  assert.equal(paths({ HOME: '/h' }).socket, '/h/.local/state/culvert/run/api.sock');
  assert.equal(paths({ HOME: '/h', XDG_RUNTIME_DIR: 'relative' }).runtime, '/h/.local/state/culvert/run');
  assert.equal(paths({ HOME: '/h', XDG_RUNTIME_DIR: '/run/user/1' }).socket, '/run/user/1/culvert/api.sock');
  assert.throws(() => paths({}), /HOME is not set/);
});
