// A release by RELEASING.md: keys, address, signing, and the directory on a web server and on release pages of a forge.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { ownerAt, releasesAt, withOwner } from '../../data/release/project.mjs';
import type { VerifyKey } from '../../manifest/keys.ts';
import { minisignKeyText } from '../../manifest/minisign.ts';
import { buildManifest } from '../support/manifest/bundle.ts';
import { clone, makeKeys, PASSPHRASE } from '../support/packages/release.ts';
import { temporary } from '../support/temporary.ts';
import { createUpdater, script } from '../support/update/source.ts';
import { files, pages } from './proof/serve.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const missing = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

test('keys are encrypted, pinned in the order of their rank, and never made in a repository or over others', {
  skip: missing,
}, t => {
  const work = clone(t, '1.0.0');
  const { keys, pinned } = makeKeys(t, work);
  assert.deepEqual(
    pinned.map(({ name }) => name),
    ['current', 'next'],
  );
  for (const name of ['current', 'next']) {
    const file = path.join(keys, `${name}.key`);
    assert.match(fs.readFileSync(file, 'utf8'), /^-----BEGIN ENCRYPTED PRIVATE KEY-----/);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  }
  const again = work.run('data/release/key.sh', keys, '--passphrase-file', path.join(keys, 'passphrase'));
  assert.match(again.stderr, /already exists/);
  const inside = work.run(
    'data/release/key.sh',
    path.join(work.at, 'keys'),
    '--passphrase-file',
    path.join(keys, 'passphrase'),
  );
  assert.match(inside.stderr, /is in a repository/);
  assert.equal(inside.status, 1);
});

test('a key on a token signs package repositories once it is pinned with its command, which the first pin says', {
  skip: missing,
}, t => {
  const work = clone(t, '1.0.0');
  const [key, pub] = ['token.key', 'token.pub'].map(name => path.join(temporary(t), name)) as [string, string];
  execFileSync('openssl', ['genpkey', '-algorithm', 'ED25519', '-out', key]);
  execFileSync('openssl', ['pkey', '-in', key, '-pubout', '-out', pub]);
  const pin = (...words: string[]) => work.run('data/release/key.sh', '--public', 'current', pub, ...words);
  const certificates = () =>
    JSON.parse(fs.readFileSync(path.join(work.at, 'data/project.json'), 'utf8')).releaseKeys.pinned.map(
      (each: { certificate?: string }) => each.certificate !== undefined,
    );
  assert.match(pin().stdout, /is pinned; it signs no package repository until it is pinned with --signer COMMAND\n$/);
  assert.deepEqual(certificates(), [false]);
  // openssl of Debian 12 reads no Ed25519 message from a pipe
  const signer = `f=$(mktemp) && cat >$f && openssl pkeyutl -sign -rawin -inkey '${key}' -in $f; rm -f $f`;
  assert.match(pin('--signer', signer).stdout, /is pinned\n$/);
  assert.deepEqual(certificates(), [true]);
});

test('a key is revoked only by enough keys that are pinned behind it', { skip: missing }, t => {
  const work = clone(t, '1.0.0');
  makeKeys(t, work);
  const revoke = (name: string) => work.run('data/release/key.sh', '--revoke', name);
  const project = () => fs.readFileSync(path.join(work.at, 'data/project.json'), 'utf8');
  const before = project();
  assert.match(revoke('next').stderr, /takes 1 key\(s\) that are pinned behind it, and there are 0/);
  assert.match(revoke('other').stderr, /No key other is pinned\. Pinned: current \([0-9a-f]{16}\), next/);
  assert.equal(project(), before);
  assert.equal(revoke('current').status, 0);
  assert.deepEqual(
    JSON.parse(project()).releaseKeys.pinned.map((pin: { revoked?: boolean }) => pin.revoked),
    [true, undefined],
  );
});

test('a release needs a lock file of its version, and the passphrase of its key', { skip: missing }, t => {
  const work = clone(t, '1.0.0');
  const { keys } = makeKeys(t, work);
  work.put('package-lock.json', JSON.stringify({ version: '0.9.0', packages: { '': { version: '0.9.0' } } }));
  work.git('commit', '-qam', 'x');
  assert.match(work.run('data/release/release.sh', '1.0.0').stderr, /package-lock\.json says 0\.9\.0, not 1\.0\.0/);
  work.put('package-lock.json', JSON.stringify({ version: '1.0.0', packages: { '': { version: '1.0.0' } } }));
  work.git('commit', '-qam', 'x');
  fs.writeFileSync(path.join(keys, 'wrong'), 'wrong\n');
  const key = path.join(keys, 'current.key');
  const wrong = work.run(
    'data/release/release.sh',
    '1.0.0',
    '--key',
    key,
    '--passphrase-file',
    path.join(keys, 'wrong'),
  );
  assert.notEqual(wrong.status, 0);
  assert.equal(fs.existsSync(path.join(work.at, 'dist')), false, 'nothing is left that looks like a release');
});

test('sources that a mirror lacks cost no release', t => {
  const work = clone(t, '1.0.0');
  work.put('data/appimage/sources.sh', '#!/bin/sh\necho lacking >&2; exit 1\n');
  work.git('add', '.');
  work.git('commit', '-qm', 'x');
  const made = work.run('data/release/release.sh', '1.0.0', '--sources');
  assert.equal(made.status, 1, 'whoever publishes notices');
  assert.match(made.stderr, /lacking.*release is whole.*culvert-tool build sources/s);
  assert.ok(fs.existsSync(path.join(work.at, 'dist/1.0.0/release-manifest.v1.json')));
});

const terminal = missing || (spawnSync('script', ['--version']).error ? 'script is not installed' : false);

test('a mistyped passphrase is asked for again, without building again', { skip: terminal }, async t => {
  const work = clone(t, '1.0.0');
  const { keys } = makeKeys(t, work);
  work.git('commit', '-qam', 'pin');
  const command = `data/release/release.sh 1.0.0 --key ${path.join(keys, 'current.key')}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: work.at, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = ['wrong', PASSPHRASE];
  let seen = '';
  let asked = 0;
  child.stdout.on('data', (piece: Buffer) => {
    seen += piece.toString();
    const questions = seen.match(/Enter pass ?phrase/gi)?.length ?? 0;
    while (asked < questions) child.stdin.write(`${answers[asked++] ?? ''}\n`);
  });
  const [status] = await once(child, 'close');
  assert.equal(status, 0, seen);
  assert.equal(asked, 2, seen);
  assert.equal(seen.match(/release: source/g)?.length, 1, 'built once');
  assert.ok(fs.existsSync(path.join(work.at, 'dist/1.0.0/release-manifest.v1.json.sig')));
});

/** Serves a directory as a plain web server does, and as the release pages of a forge with its redirects. */
async function serve(t: Pick<TestContext, 'after'>, directory: string) {
  const listen = async (answer: RequestListener) => {
    const server = createServer(answer);
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const storage = await listen(files(directory));
  const forge = await listen(pages(`http://${storage}`));
  return {
    plain: { source: `http://${storage}/releases`, redirectHosts: [] },
    forge: { source: `http://${forge}/you/culvert/releases/latest/download/{name}`, redirectHosts: [forge, storage] },
  };
}

/** Verifies a release by the tools that people have, and fails for a changed file. */
function verifyByHand(dist: string, signed: readonly string[], key: VerifyKey) {
  const sums = () => spawnSync('sha256sum', ['-c', '--strict', 'SHA256SUMS'], { cwd: dist, encoding: 'utf8' });
  const checked = sums();
  assert.equal(checked.status, 0, checked.stderr);
  for (const name of [...signed.slice(1), 'release-manifest.v1.json'])
    assert.ok(checked.stdout.includes(`${name}: OK\n`), name);
  const minisign = (name: string) =>
    spawnSync('minisign', ['-Vm', name, '-P', minisignKeyText(key)], { cwd: dist, encoding: 'utf8' });
  const isInstalled = minisign('SHA256SUMS').error === undefined;
  if (isInstalled) for (const name of signed) assert.equal(minisign(name).status, 0, name);
  const changed = path.join(dist, signed[1]!);
  const before = fs.readFileSync(changed);
  fs.appendFileSync(changed, 'x');
  assert.equal(sums().status, 1);
  if (isInstalled) assert.equal(minisign(signed[1]!).status, 1);
  fs.writeFileSync(changed, before);
}

test('the first release by RELEASING.md updates an installation from a web server and from release pages', {
  skip: missing,
}, async t => {
  const work = clone(t, '2.0.0');
  const { keys, pinned, options } = makeKeys(t, work);
  assert.equal(work.git('commit', '-qam', 'pin').status, 0);
  const before = Math.floor(Date.now() / 1000);
  const made = work.run('data/release/release.sh', '2.0.0', '--key', path.join(keys, 'current.key'), ...options);
  assert.equal(made.status, 0, made.stderr);
  const dist = path.join(work.at, 'dist/2.0.0');
  const release = `culvert-2.0.0`;
  const artifacts = [
    `${release}-archive-keyring.deb`,
    `${release}-archive-keyring.rpm`,
    `${release}-daemon.deb`,
    `${release}-daemon.rpm`,
    `${release}-recipes.tar.gz`,
    `${release}-source.tar.gz`,
    `${release}-user.tar.gz`,
    `${release}-${os.machine()}.AppImage`,
    `${release}.builder.txt`,
    `${release}.cdx.json`,
    `${release}.deb`,
    `${release}.rpm`,
    'culvert-manifest-2.0.0.tgz',
    'culvert-wrap-2.0.0.tgz',
  ];
  const signed = ['SHA256SUMS', ...artifacts];
  assert.deepEqual(
    fs.readdirSync(dist).sort(),
    [
      ...signed.flatMap(name => [name, `${name}.minisig`]),
      `${release}-source.tar.gz.asc`,
      'release-manifest.v1.json',
      'release-manifest.v1.json.sig',
    ].sort(),
  );
  verifyByHand(dist, signed, pinned[0]!);
  const builder = fs.readFileSync(path.join(dist, `${release}.builder.txt`), 'utf8');
  assert.match(
    builder,
    new RegExp(`^node\\.js ${process.version}\\n(.*\\n)*base-files 13\\.8\\n(.*\\n)*meson 1\\.7\\.0-1$`, 'm'),
  );
  assert.doesNotMatch(builder, /X=/, 'nothing of the environment');
  // the image is for any machine here, so that the test runs on all of them
  const served = await serve(t, dist);
  for (const [how, { source, redirectHosts }] of Object.entries(served)) {
    const home = temporary(t);
    const file = path.join(home, 'Culvert.AppImage');
    fs.writeFileSync(file, script('1.0.0'), { mode: 0o755 });
    const config = { APPIMAGE: file, CULVERT_UPDATES_SOURCE: source };
    const { updates, state } = await createUpdater(
      t,
      { url: source, files: new Map(), asked: [] },
      { format: 'appimage', trust: () => ({ keys: pinned }), redirectHosts },
      { home, env: config },
    );
    const found = await updates.check(true);
    assert.deepEqual([found.problem, found.latest, found.manifest?.signer], [null, '2.0.0', 'current'], how);
    const { serials } = JSON.parse(fs.readFileSync(path.join(state, 'update.json'), 'utf8'));
    assert.ok(serials.stable >= before && serials.stable <= before + 600, 'the serial is the time of signing');
    assert.deepEqual(await updates.apply(), { ok: true, from: '1.0.0', to: '2.0.0' }, how);
    assert.equal(execFileSync(file, ['--version'], { encoding: 'utf8' }), 'culvert 2.0.0\n');
  }
  // the locked key revokes the stolen key
  const unmarked = work.run('data/release/release.sh', '2.0.1', '--revoke', pinned[0]!.id);
  assert.match(unmarked.stderr, /Revoke the key first: \.\/culvert-tool release-key --revoke NAME/);
  assert.equal(work.run('data/release/key.sh', '--revoke', pinned[0]!.id).status, 0);
  const later = (version: string) => {
    work.put('package.json', JSON.stringify({ version }));
    work.put('package-lock.json', JSON.stringify({ version, packages: { '': { version } } }));
    work.put('CHANGELOG.md', `## ${version}\n`);
    work.git('commit', '-qam', 'next');
    const next = work.run('data/release/release.sh', version, '--key', path.join(keys, 'next.key'), ...options);
    assert.equal(next.status, 0, next.stderr);
  };
  later('2.0.1');
  // for installations that never see the release before
  later('2.0.2');
  const { plain } = await serve(t, path.join(work.at, 'dist/2.0.2'));
  const home = temporary(t);
  const { updates } = await createUpdater(
    t,
    { url: plain.source, files: new Map(), asked: [] },
    { format: 'deb', trust: () => ({ keys: pinned }) },
    { home },
  );
  assert.equal((await updates.check(true)).latest, '2.0.2');
  const { plain: stolen } = await serve(t, dist);
  const second = await createUpdater(
    t,
    { url: stolen.source, files: new Map(), asked: [] },
    { format: 'deb', trust: () => ({ keys: pinned }) },
    { home },
  );
  assert.equal((await second.updates.check(true)).problem?.code, 'key-revoked');
});

const module = ['/usr/lib/softhsm/libsofthsm2.so', `/usr/lib/${os.machine()}-linux-gnu/softhsm/libsofthsm2.so`].find(
  file => fs.existsSync(file),
);
const token =
  module && spawnSync('pkcs11-tool', ['--version']).error === undefined
    ? false
    : 'softhsm2 and opensc are not installed';

test('a key on a PKCS #11 token signs a release', { skip: token }, t => {
  const at = temporary(t);
  fs.mkdirSync(path.join(at, 'tokens'));
  fs.writeFileSync(path.join(at, 'softhsm.conf'), `directories.tokendir = ${at}/tokens\n`);
  const env = { PATH: process.env.PATH, HOME: at, SOFTHSM2_CONF: path.join(at, 'softhsm.conf') };
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: at, env, encoding: 'utf8', stdio: 'pipe' });
  run('softhsm2-util', '--init-token', '--free', '--label', 'release', '--so-pin', '1234', '--pin', '1234');
  const tool = ['pkcs11-tool', '--module', module!, '--login', '--pin', '1234'] as const;
  run(tool[0], ...tool.slice(1), '--keypairgen', '--key-type', 'EC:edwards25519', '--id', '01', '--label', 'release');
  run(tool[0], ...tool.slice(1), '--read-object', '--type', 'pubkey', '--id', '01', '--output-file', 'token.pub');
  fs.writeFileSync(path.join(at, 'culvert-1.0.0.deb'), 'a package');
  const manifest = (...args: string[]) => run(process.execPath, buildManifest(), ...args);
  manifest('create', '--out', 'release-manifest.v1.json', '--tag', 'v1.0.0', 'culvert-1.0.0.deb');
  const sign = `cat >b && ${tool.join(' ')} --sign --mechanism EDDSA --id 01 --input-file b --output-file s >&2 && cat s`;
  manifest('sign', 'release-manifest.v1.json', '--key', 'token.pub', '--signer', sign);
  assert.match(manifest('verify', 'release-manifest.v1.json', '--key', 'token.pub'), /1 of 1 artifacts are as/);
});

test('the address of a project decides where updates come from', () => {
  const at = (address: string) => releasesAt(new URL(address));
  assert.equal(
    at('https://github.com/you/culvert.git').source,
    'https://github.com/you/culvert/releases/latest/download/{name}',
  );
  assert.ok(at('https://github.com/you/culvert').redirectHosts.includes('release-assets.githubusercontent.com'));
  assert.match(
    at('https://gitlab.gnome.org/you/culvert').source,
    /\/-\/releases\/permalink\/latest\/downloads\/\{name\}$/,
  );
  assert.match(at('https://codeberg.org/you/culvert').source, /\/releases\/download\/\{channel\}\/\{name\}$/);
  assert.deepEqual(at('https://culvert.example/'), { source: 'https://culvert.example/releases', redirectHosts: [] });
});

test('the address of a project sets the code owner, which the template leaves out', () => {
  const shipped = fs.readFileSync(path.join(root, 'CODEOWNERS'), 'utf8');
  const template = shipped.replace(/^([*/]\S*) @\S+$/gm, '# $1 @OWNER');
  assert.doesNotMatch(template, /^[^#\n]/m, 'a forge reads comments alone');
  const owner = (address: string) => ownerAt(new URL(address));
  assert.equal(owner('https://github.com/you/culvert'), '@you');
  assert.equal(owner('https://gitlab.com/group/sub/culvert/'), '@group/sub');
  for (const none of ['https://culvert.example/', 'https://culvert.example/a/b', 'https://github.com/you'])
    assert.equal(owner(none), null, none);
  const mine = withOwner(template, '@you');
  assert.match(mine, /^\* @you$/m);
  assert.match(mine, /^\/daemon\/killswitch\/ @you$/m);
  assert.doesNotMatch(mine, /^\S+ @OWNER$/m);
  assert.equal(withOwner(mine, '@other'), mine, 'what has an owner keeps it');
});
