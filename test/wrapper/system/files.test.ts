// Files on a full or read-only disk, and in a directory that others control.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FAKE, setUp } from '../../support/wrapper/fake-cli.ts';

test('M7: on a full or read-only disk every command says so and changes nothing; uninstalling works', async t => {
  if (process.getuid?.() !== 0) return t.skip('a small file system can be mounted by root only');
  const box = setUp(t, { a: 'k1', b: 'k2' });
  box.uninstall('fake');
  const small = fs.mkdtempSync('/tmp/culvert-wrap-small-');
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', small]).status !== 0) {
    return t.skip('no file system can be mounted here');
  }
  t.after(() => {
    spawnSync('umount', ['-l', small]);
    fs.rmdirSync(small);
  });
  const env = { XDG_STATE_HOME: path.join(small, 'state'), XDG_CONFIG_HOME: path.join(small, 'config') };
  fs.cpSync(path.join(box.home, '.config'), path.join(small, 'config'), { recursive: true });
  assert.equal((await box.wrap(['install', 'fake'], { env })).exit, 0);
  const config = fs.readFileSync(path.join(small, 'config/culvert-wrap/config.toml'), 'utf8');
  try {
    fs.writeFileSync(path.join(small, 'fill'), Buffer.alloc(1024 * 1024));
  } catch {
    // Full, as intended.
  }
  assert.equal((await box.run('fake', ['x'], { env })).stdout, 'ok\n');
  for (const args of [
    ['auth', 'use', 'b'],
    ['auth', 'add', 'c', '--env', 'FAKE_KEY=env:C'],
    ['auth', 'add', 'd', '--file'],
    ['auth', 'disable', 'a'],
  ]) {
    const result = await box.run('fake', args, { env, input: 'key\n' });
    assert.equal(result.exit, 73, `${args.join(' ')}: ${result.stderr}`);
    assert.match(result.stderr, /No space left on disk\n.*make room/);
  }
  assert.equal(fs.readFileSync(path.join(small, 'config/culvert-wrap/config.toml'), 'utf8'), config);
  const uninstalled = await box.wrap(['uninstall', 'fake'], { env });
  assert.equal(uninstalled.exit, 0, uninstalled.stderr);
  assert.equal(fs.readFileSync(path.join(box.bin, 'fake'), 'utf8'), FAKE);
  spawnSync('mount', ['-o', 'remount,ro', small]);
  const readOnly = await box.wrap(['install', 'fake'], { env });
  assert.notEqual(readOnly.exit, 70);
  assert.doesNotMatch(readOnly.stderr, /unexpected error/);
});

test('L11: a state directory that others control is refused, and the audit log follows no symlink', async t => {
  const box = setUp(t, { a: 'k1' });
  box.uninstall('fake');
  fs.mkdirSync(box.state, { recursive: true });
  fs.chmodSync(box.state, 0o777);
  const refused = await box.wrap(['install', 'fake']);
  assert.equal(refused.exit, 77);
  assert.match(refused.stderr, /others can write to it\n.*chmod go-w/);
  fs.chmodSync(box.state, 0o700);
  box.install('fake');
  const target = path.join(box.home, 'precious');
  fs.writeFileSync(target, 'precious\n');
  fs.rmSync(path.join(box.state, 'audit.jsonl'), { force: true });
  fs.symlinkSync(target, path.join(box.state, 'audit.jsonl'));
  assert.equal((await box.run('fake', ['x'])).stdout, 'ok\n');
  assert.equal(fs.readFileSync(target, 'utf8'), 'precious\n');
});
