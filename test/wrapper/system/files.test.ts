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
    assert.match(result.stderr, /No space left on disk\n.*it is as before; make room/);
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

/** The user's own files that the wrapper edits, with a command that does. */
const EDITED: Record<string, readonly string[]> = {
  'config.toml': ['accounts', 'disable', 'fake', 'b'],
  'providers.toml': ['catalog', 'new', 'other', '--inject', 'OTHER_KEY'],
};

for (const [name, command] of Object.entries(EDITED)) {
  test(`a link in place of ${name} stays, and what it leads to is edited`, async t => {
    const box = setUp(t, { a: 'k1', b: 'k2' });
    const file = path.join(box.config, name);
    const dotfiles = path.join(box.home, 'dotfiles');
    const real = path.join(dotfiles, 'real.toml');
    fs.mkdirSync(path.join(dotfiles, 'sub'), { recursive: true });
    fs.renameSync(file, real);
    // through a linked directory, where `..` means its real parent
    fs.symlinkSync(path.join(dotfiles, 'sub'), path.join(box.home, 'short'));
    fs.symlinkSync(`${box.home}/short/../link.toml`, file);
    fs.symlinkSync('real.toml', path.join(dotfiles, 'link.toml'));
    const before = fs.readFileSync(real, 'utf8');
    const result = await box.wrap(command);
    assert.equal(result.exit, 0, result.stderr);
    assert.ok(fs.lstatSync(file).isSymbolicLink());
    assert.notEqual(fs.readFileSync(real, 'utf8'), before);
    assert.deepEqual(fs.readdirSync(dotfiles).sort(), ['link.toml', 'real.toml', 'sub']);
    assert.equal((await box.run('fake', ['x'])).stdout, 'ok\n');
  });

  test(`a link in place of ${name} that leads to nothing or in a circle is named, and stays`, async t => {
    const box = setUp(t, { a: 'k1', b: 'k2' });
    const file = path.join(box.config, name);
    const kept = fs.readFileSync(file, 'utf8');
    const link = (to: string) => {
      fs.rmSync(file, { force: true });
      fs.symlinkSync(to, file);
    };
    const own = name === 'config.toml' ? ['accounts', 'add', 'fake', 'c', '--env', 'FAKE_KEY=env:C'] : command;
    link(path.join(box.home, 'gone/real.toml'));
    const gone = await box.wrap(own);
    assert.deepEqual([gone.exit, fs.existsSync(path.join(box.home, 'gone'))], [73, false]);
    assert.match(gone.stderr, /is a link to .*gone\/real\.toml, whose directory does not exist/);
    link(name);
    const circle = await box.wrap(own);
    assert.notEqual(circle.exit, 0);
    assert.match(circle.stderr, /circle|too many symbolic links/i);
    assert.doesNotMatch(circle.stderr, /unexpected error/);
    assert.ok(fs.lstatSync(file).isSymbolicLink());
    const made = path.join(box.home, 'made.toml');
    link(made);
    if (name === 'providers.toml') fs.writeFileSync(made, kept);
    const result = await box.wrap(own);
    assert.equal(result.exit, 0, result.stderr);
    assert.match(fs.readFileSync(made, 'utf8'), /\[/);
  });

  test(`root does not write where another user's link in place of ${name} leads`, async t => {
    if (process.getuid?.() !== 0) return t.skip('only root can make the link of another user');
    const box = setUp(t, { a: 'k1', b: 'k2' });
    const file = path.join(box.config, name);
    const target = path.join(box.home, 'target.toml');
    fs.renameSync(file, target);
    fs.symlinkSync(target, file);
    fs.lchownSync(file, 12_345, 12_345);
    const before = fs.readFileSync(target, 'utf8');
    const result = await box.wrap(command);
    assert.equal(result.exit, 73);
    assert.match(result.stderr, /is a link of another user/);
    assert.equal(fs.readFileSync(target, 'utf8'), before);
  });
}
