// The launchers of the programs for Node find the Node that their package brings, with a PATH that has none.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporary } from '../support/temporary.ts';

const template = fs.readFileSync('data/bin/node.in', 'utf8');

/** Writes a program that says which Node it stands for. */
function writeNode(file: string): void {
  fs.mkdirSync(join(file, '..'), { recursive: true });
  fs.writeFileSync(file, `#!/bin/sh\necho "${file} $2"\n`, { mode: 0o755 });
}

/** Runs a launcher with a PATH that has nothing but readlink. */
function run(t: TestContext, launcher: string) {
  const tools = temporary(t, 'tools');
  const readlink = execFileSync('/bin/sh', ['-c', 'command -v readlink'], { encoding: 'utf8' }).trim();
  fs.symlinkSync(readlink, join(tools, 'readlink'));
  const { stdout, stderr } = spawnSync('/bin/sh', [launcher, 'x'], { env: { PATH: tools }, encoding: 'utf8' });
  return { stdout, stderr };
}

test('the launcher of an AppImage runs its own Node, as meson.build names it', t => {
  const [, value] =
    /^node_path = bundled \? '(.+?)' :/m.exec(fs.readFileSync('data/meson.build', 'utf8')) ?? assert.fail('node_path');
  const tree = temporary(t, 'appimage');
  const node = join(tree, 'lib/culvert/node');
  writeNode(node);
  fs.mkdirSync(join(tree, 'bin'));
  const launcher = join(tree, 'bin/culvert-wrap');
  fs.writeFileSync(launcher, template.replaceAll('@NODE@', value!).replaceAll('@PROGRAM@', 'wrap'), { mode: 0o755 });
  const said = { stdout: `${node} ${tree}/bin/../share/culvert/wrap/main.cjs\n`, stderr: '' };
  assert.deepEqual(run(t, launcher), said);
});

/** Has npm.sh edit a launcher: it stops where this tree has no more, after that. */
function edit(t: TestContext, text: string) {
  const tree = temporary(t, 'tree');
  const work = join(temporary(t, 'npm'), 'work');
  const files = { 'bin/culvert-wrap': text, 'share/culvert/wrap/main.cjs': '', 'share/man/man1/culvert-wrap.1': '' };
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(join(tree, name, '..'), { recursive: true });
    fs.writeFileSync(join(tree, name), content);
  }
  const { status, stderr } = spawnSync('data/release/npm.sh', [tree, temporary(t, 'out'), work], { encoding: 'utf8' });
  return { status, stderr, edited: join(work, 'wrap/package/bin/culvert-wrap') };
}

test('the launcher in an npm package runs the Node of a global installation, and that of PATH otherwise', t => {
  const text = template.replaceAll('@NODE@', '/nowhere/node').replaceAll('@PROGRAM@', 'wrap');
  const { edited } = edit(t, text);
  const prefix = temporary(t, 'prefix');
  writeNode(join(prefix, 'bin/node'));
  for (const [place, isGlobal] of [
    ['lib/node_modules', true],
    ['app/node_modules', false],
  ] as const) {
    const bin = join(prefix, place, 'culvert-wrap/bin');
    fs.mkdirSync(bin, { recursive: true });
    fs.copyFileSync(edited, join(bin, 'culvert-wrap'));
    const { stdout, stderr } = run(t, join(bin, 'culvert-wrap'));
    if (isGlobal) assert.equal(stdout, `${prefix}/bin/node ${bin}/../share/culvert/wrap/main.cjs\n`);
    else assert.match(stderr, /node: not found/);
  }
});

test('npm.sh packs no launcher in which it found no node', t => {
  const { status, stderr } = edit(t, template.replaceAll('__cw_n=', '__cw_m='));
  assert.equal(status, 1);
  assert.match(stderr, /names no node/);
});
