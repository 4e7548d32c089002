// The machines that an AppImage is built for, and that no other place names one architecture.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const text = (file: string) => readFileSync(resolve(root, file), 'utf8');

/** Files that may name an architecture. */
const TABLES = new Set([
  'data/appimage/machine.sh', // the machines of the AppImage
  'data/appimage/lock.sh', // all lists
  'data/appimage/packages.amd64.lock',
  'data/appimage/packages.arm64.lock',
  'data/appimage/SOURCES.md', // packages with Node
  'daemon/warp/cli/install-steps.ts', // architectures of Cloudflare's repository
  '.gitlab-ci.yml', // names of nodejs.org
]);

test('no other file names an architecture', () => {
  const named = 'x86[-_]64|amd64|aarch64|arm64|linux-x64';
  const others = [':!*.test.ts', ':!test/support', ':!po', ':!package-lock.json', ':!*.md'];
  const { stdout } = spawnSync('git', ['grep', '-lE', named, '--', ...others], { cwd: root, encoding: 'utf8' });
  const files = stdout.trim().split('\n');
  assert.deepEqual(
    files.filter(file => !TABLES.has(file)),
    [],
  );
});

/** @returns the words of machine.sh for a machine */
function words(machine: string) {
  const script = '. data/appimage/machine.sh; echo "$machine $architecture $loader $node $node_integrity"';
  const env = { PATH: process.env.PATH, CULVERT_IMAGE_MACHINE: machine };
  return execFileSync('sh', ['-c', script], { cwd: root, env, encoding: 'utf8' }).trim().split(' ');
}

/** @returns the packages of a list, without version and architecture */
const packages = (architecture: string) =>
  [...text(`data/appimage/packages.${architecture}.lock`).matchAll(/\/([^/_]+)_[^/]*_(all|\w+)\.deb$/gm)].map(
    ([, name, of]) => ({ name: name!, of: of! }),
  );

test('each machine takes packages of its own architecture, and the same ones', () => {
  const names = ['x86_64', 'aarch64'].map(machine => {
    const [, architecture, loader, node, integrity] = words(machine);
    assert.match(loader!, /^ld-linux-[\w-]+\.so\.\d$/);
    assert.match(node!, /^node-linux-\w+@\d+\.\d+\.\d+$/);
    assert.match(integrity!, /^sha512-[\w+/]{86}==$/);
    const taken = packages(architecture!);
    assert.ok(taken.length > 50);
    for (const { name, of } of taken) assert.ok(of === 'all' || of === architecture, `${name} is of ${of}`);
    return taken.map(({ name }) => name).sort();
  });
  assert.deepEqual(names[1], names[0]);
  const versions = ['x86_64', 'aarch64'].map(machine => words(machine)[3]!.split('@')[1]);
  assert.equal(versions[1], versions[0]);
});

test('refuses a machine that it is not built for', () => {
  const env = { PATH: process.env.PATH, CULVERT_IMAGE_MACHINE: 'riscv64' };
  const { status, stderr } = spawnSync('sh', ['-c', '. data/appimage/machine.sh'], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /built for x86_64 and aarch64; this is riscv64/);
});
