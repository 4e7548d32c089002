// The npm packages: installed into an empty prefix without a compiler, network or dependencies, run, and removed.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { prefix as tree } from '../support/e2e/culvert.ts';
import { temporary } from '../support/temporary.ts';

const { version } = packageJson;
const out = temporary({ after });
const pack = (directory: string) => {
  mkdirSync(directory, { recursive: true });
  const words = [tree, directory, join(directory, 'work')];
  execFileSync(resolve('data/release/npm.sh'), words, { env: { ...process.env, SOURCE_DATE_EPOCH: '1790000000' } });
};
pack(out);
const file = (name: string) => join(out, `${name}-${version}.tgz`);

/** Runs npm's programs and those of a prefix, with a PATH that has no compiler, Python or make. */
function machine(t: { after(end: () => void): unknown }) {
  const home = temporary(t);
  const tools = join(home, 'tools');
  mkdirSync(tools);
  const real = (name: string) => execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  for (const name of ['node', 'npm', 'npx', 'sh', 'readlink', 'sed', 'env', 'cat'])
    symlinkSync(real(name), join(tools, name));
  const at = join(home, 'prefix');
  const env = {
    HOME: home,
    PATH: `${join(home, 'bin')}:${join(at, 'bin')}:${tools}`,
    npm_config_prefix: at,
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const run = (command: string, ...words: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, words, { env, cwd: home, encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  const program = (name: string, text: string) => {
    mkdirSync(join(home, 'bin'), { recursive: true });
    writeFileSync(join(home, 'bin', name), text, { mode: 0o755 });
  };
  return { home, at, run, program };
}

test('the packages have no dependencies and no scripts, and the same bytes each time', t => {
  const again = temporary(t);
  pack(again);
  for (const name of ['culvert-wrap', 'culvert-manifest']) {
    assert.deepEqual(readFileSync(join(again, `${name}-${version}.tgz`)), readFileSync(file(name)));
    const text = execFileSync('tar', ['-xzOf', file(name), 'package/package.json'], { encoding: 'utf8' });
    const manifest = JSON.parse(text);
    for (const key of ['dependencies', 'optionalDependencies', 'scripts', 'gypfile'])
      assert.ok(!(key in manifest), key);
    assert.deepEqual([manifest.name, manifest.version, manifest.os], [name, version, ['linux']]);
    assert.match(manifest.description, /not of the proxy or debug tool of this name$/);
    const page = execFileSync('tar', ['-xzOf', file(name), `package/share/man/man1/${name}.1`], { encoding: 'utf8' });
    assert.match(page, /not of the forward proxy or the debug tool of the same name\.\n/);
    const listed = execFileSync('tar', ['-tzf', file(name)], { encoding: 'utf8' }).split('\n');
    for (const each of ['LICENSE', 'README.md', 'licenses.txt', `share/man/man1/${name}.1`, `bin/${name}`])
      assert.ok(listed.includes(`package/${each}`), each);
  }
});

test('an installed wrapper runs, wraps a tool, and leaves it as it was', t => {
  const { home, at, run, program } = machine(t);
  const original = '#!/bin/sh\necho "key $FIRECRAWL_API_KEY"\n';
  program('firecrawl', original);
  const installed = run('npm', 'install', '-g', file('culvert-wrap'), file('culvert-manifest'));
  assert.equal(installed.status, 0, installed.stderr);
  assert.deepEqual(readdirSync(join(at, 'lib/node_modules')), ['culvert-manifest', 'culvert-wrap']);
  assert.equal(run('culvert-wrap', '--version').stdout.trim(), `culvert-wrap ${version}`);
  // clients start it with a PATH that may have no node
  symlinkSync(process.execPath, join(at, 'bin/node'));
  const bareTools = join(home, 'bare');
  mkdirSync(bareTools);
  symlinkSync('/usr/bin/readlink', join(bareTools, 'readlink'));
  const bare = spawnSync(join(at, 'bin/culvert-wrap'), ['--version'], { env: { PATH: bareTools }, encoding: 'utf8' });
  assert.equal(bare.stdout.trim(), `culvert-wrap ${version}`, bare.stderr);
  assert.equal(run('culvert-manifest', '--version').stdout.trim(), `culvert-manifest ${version}`);
  assert.ok(existsSync(join(at, 'share/man/man1/culvert-wrap.1')));
  assert.equal(run('culvert-wrap', 'install', 'firecrawl').status, 0);
  writeFileSync(join(home, 'keys.env'), 'FIRECRAWL_API_KEY=fc-0123456789abcdef0123456789abcdef\n', { mode: 0o600 });
  const added = run('culvert-wrap', 'accounts', 'import', join(home, 'keys.env'), '--file');
  assert.equal(added.status, 0, added.stderr);
  assert.equal(run('firecrawl', 'search', 'x').stdout, 'key fc-0123456789abcdef0123456789abcdef\n');
  assert.equal(run('culvert-wrap', 'uninstall', 'firecrawl').status, 0);
  assert.equal(readFileSync(join(home, 'bin/firecrawl'), 'utf8'), original);
  assert.equal(run('npm', 'uninstall', '-g', 'culvert-wrap', 'culvert-manifest').status, 0);
  assert.ok(!existsSync(join(at, 'bin/culvert-wrap')));
});

test('a tool whose wrapper npm has removed still runs, and says what is missing', t => {
  const { home, run, program } = machine(t);
  program('firecrawl', '#!/bin/sh\necho ran\n');
  assert.equal(run('npm', 'install', '-g', file('culvert-wrap')).status, 0);
  assert.equal(run('culvert-wrap', 'install', 'firecrawl').status, 0);
  writeFileSync(join(home, 'keys.env'), 'FIRECRAWL_API_KEY=fc-0123456789abcdef0123456789abcdef\n', { mode: 0o600 });
  assert.equal(run('culvert-wrap', 'accounts', 'import', join(home, 'keys.env'), '--file').status, 0);
  assert.equal(run('npm', 'uninstall', '-g', 'culvert-wrap').status, 0);
  const { status, stdout, stderr } = run('firecrawl', 'search', 'x');
  assert.deepEqual([status, stdout], [0, 'ran\n'], stderr);
});

test('npx runs it, but no shim names its cache', t => {
  const { home, run, program } = machine(t);
  const original = '#!/bin/sh\necho ran\n';
  program('firecrawl', original);
  const npx = (...words: string[]) => run('npx', '--yes', '--package', file('culvert-wrap'), 'culvert-wrap', ...words);
  assert.equal(npx('--version').stdout.trim(), `culvert-wrap ${version}`);
  const refused = npx('install', 'firecrawl');
  assert.equal(refused.status, 78, refused.stderr);
  assert.match(refused.stderr, /does not last[\s\S]*npm install -g culvert-wrap/);
  const client = npx('mcp', 'install', '--yes');
  assert.equal(client.status, 78, client.stderr);
  assert.match(client.stderr, /npm install -g culvert-wrap/);
  assert.equal(readFileSync(join(home, 'bin/firecrawl'), 'utf8'), original);
  assert.equal(statSync(join(home, 'bin/firecrawl')).mode & 0o777, 0o755);
});
