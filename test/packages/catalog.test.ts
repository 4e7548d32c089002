// `./culvert-tool release catalog`: one command signs the catalog of a clean tree, without a build.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { keyId, pinnedKeys } from '../../manifest/keys.ts';
import { verifyCatalog } from '../../wrapper/catalog/release.ts';
import { temporary } from '../support/temporary.ts';
import { KEYS, PINS } from '../support/wrapper/release-keys.ts';
import { TEXTS } from '../support/wrapper/signed-catalog.ts';

const root = resolve(import.meta.dirname, '../..');
const pins = JSON.parse(PINS);

/** A clean repository with the files that the command reads, which pins the tests' keys; and a key to sign with. */
function repository(t: TestContext) {
  const at = temporary(t, 'catalog');
  for (const part of [
    'data/release',
    'data/repository',
    'data/knowledge',
    'daemon/core',
    'manifest',
    'wrapper',
    'package.json',
    'tsconfig.json',
  ])
    cpSync(join(root, part), join(at, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(at, 'node_modules'));
  const project = JSON.parse(readFileSync(join(root, 'data/project.json'), 'utf8'));
  project.releaseKeys.pinned = pins;
  writeFileSync(join(at, 'data/project.json'), JSON.stringify(project));
  writeFileSync(join(at, '.gitignore'), '/build/\n/dist/\n/node_modules\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.example', ...args], { cwd: at, encoding: 'utf8' });
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'x');
  const key = join(temporary(t, 'key'), 'current.key');
  writeFileSync(key, KEYS.current.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const run = (...args: string[]) =>
    spawnSync(join(at, 'data/release/catalog.sh'), args, {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: at },
    });
  return { at, key, run };
}

test('one command makes and signs a catalog that installations take, and builds nothing', t => {
  const { at, key, run } = repository(t);
  const { status, stderr } = run('--key', key, '--expires', '30d');
  assert.equal(status, 0, stderr);
  const bytes = readFileSync(join(at, 'dist/catalog/culvert-catalog.json'));
  const trust = { keys: pinnedKeys(pins), revoked: [keyId(KEYS.stolen)] };
  const { release, files } = verifyCatalog(bytes, { ...trust, now: Date.now(), installed: '0.0.1', seen: undefined });
  assert.deepEqual(files, TEXTS);
  assert.deepEqual([release.channel, release.signers[0]!.name, release.revoked], ['catalog', 'current', []]);
  assert.deepEqual(readdirSync(join(at, 'build')), ['catalog']);
});

test('a catalog that is no commit, has no key, or would be refused is not made', t => {
  const { at, key, run } = repository(t);
  const refused = (words: string[], why: RegExp) => {
    const { status, stderr } = run(...words);
    assert.notEqual(status, 0);
    assert.match(stderr, why);
    assert.ok(!existsSync(join(at, 'dist')));
  };
  refused([], /give --key FILE/);
  refused(['--key', key, '--channel', 'stable'], /has no channel/);
  refused(['--key', key, '--add'], /make it without --add first/);
  appendFileSync(join(at, 'wrapper/catalog/providers/tvly.toml'), '# changed\n');
  refused(['--key', key], /A catalog is a commit/);
});
