// The Debian packages of the AppImage: always those of the lock file, also when the mirror has newer ones.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../../..');
const architecture = os.machine() === 'aarch64' ? 'arm64' : 'amd64';
const POOL = 'pool/main/t/tiny/tiny_1.0_all.deb';
const missing = fs.existsSync('/usr/lib/apt/apt-helper') ? false : 'apt is not installed';

function temporary(t: Pick<TestContext, 'after'>): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-sysroot-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  fs.chmodSync(directory, 0o755);
  return directory;
}

/** A package with one file. */
function makePackage(at: string, version: string): Buffer {
  const tree = path.join(at, `tree-${version}`);
  fs.mkdirSync(path.join(tree, 'DEBIAN'), { recursive: true });
  fs.mkdirSync(path.join(tree, 'usr/share/tiny'), { recursive: true });
  const control = {
    Package: 'tiny',
    Version: version,
    Architecture: 'all',
    Maintainer: 'T <t@t.example>',
    Description: 'x',
  };
  const lines = Object.entries(control).map(([name, value]) => `${name}: ${value}\n`);
  fs.writeFileSync(path.join(tree, 'DEBIAN/control'), lines.join(''));
  fs.writeFileSync(path.join(tree, 'usr/share/tiny/version'), version);
  const out = path.join(at, `${version}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-b', tree, out], { stdio: 'ignore' });
  return fs.readFileSync(out);
}

function setUp(t: Pick<TestContext, 'after'>) {
  const at = temporary(t);
  const locked = makePackage(at, '1.0');
  for (const file of ['appimage/sysroot.sh', 'appimage/machine.sh', 'release/mirror.sh']) {
    fs.mkdirSync(path.dirname(path.join(at, 'data', file)), { recursive: true });
    fs.copyFileSync(path.join(root, 'data', file), path.join(at, 'data', file));
  }
  const digest = createHash('sha256').update(locked).digest('hex');
  fs.writeFileSync(
    path.join(at, `data/appimage/packages.${architecture}.lock`),
    `# comment\nsuite trixie\ntime 20261121T000000Z\n${digest} debian ${POOL}\n`,
  );
  const put = (place: string, content: Buffer) => {
    const file = path.join(at, place, POOL);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  };
  const env = {
    PATH: process.env.PATH,
    CULVERT_MIRROR: `file://${at}/mirror/debian`,
    CULVERT_SNAPSHOT: `file://${at}/snapshot`,
  };
  const build = (further: Record<string, string> = {}) =>
    spawnSync(path.join(at, 'data/appimage/sysroot.sh'), [path.join(at, 'out')], {
      env: { ...env, ...further },
      encoding: 'utf8',
    });
  const installed = () => fs.readFileSync(path.join(at, 'out/root/usr/share/tiny/version'), 'utf8');
  return { at, locked, put, build, installed };
}

test('a build takes the locked package from the mirror, and from its cache on another day', { skip: missing }, t => {
  const { at, locked, put, build, installed } = setUp(t);
  put('mirror/debian', locked);
  const first = build();
  assert.equal(first.status, 0, first.stderr);
  assert.equal(installed(), '1.0');
  assert.equal(fs.readFileSync(path.join(at, 'out/packages'), 'utf8'), 'tiny 1.0 tiny 1.0\n');
  assert.equal(fs.readFileSync(path.join(at, 'out/distribution'), 'utf8'), 'trixie\n');
  fs.rmSync(path.join(at, 'mirror'), { recursive: true });
  assert.equal(build().status, 0);
  assert.equal(installed(), '1.0');
});

test('a package that the mirror has replaced comes from the snapshot of its day', { skip: missing }, t => {
  const { at, locked, put, build, installed } = setUp(t);
  put('mirror/debian', makePackage(at, '1.1'));
  const refused = build();
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /tiny_1\.0_all\.deb can't be fetched.*lock\.sh/s);
  put('snapshot/debian/20261121T000000Z', locked);
  const { status, stderr } = build();
  assert.equal(status, 0, stderr);
  assert.equal(installed(), '1.0');
});

test('builds share their downloads, and the next one needs no server', { skip: missing }, t => {
  const { at, locked, put, build, installed } = setUp(t);
  const offline = {
    CULVERT_MIRROR: 'http://127.0.0.1:9/debian',
    CULVERT_SNAPSHOT: 'http://127.0.0.1:9',
    http_proxy: '',
  };
  const shared = { CULVERT_DOWNLOADS: path.join(at, 'downloads') };
  const first = build({ ...offline, ...shared });
  assert.equal(first.status, 69, first.stderr);
  assert.match(first.stderr, /tiny_1\.0_all\.deb can't be fetched: no server can be reached/);
  put('mirror/debian', locked);
  assert.equal(build(shared).status, 0);
  assert.deepEqual(fs.readdirSync(path.join(at, 'downloads')), ['tiny_1.0_all.deb']);
  fs.rmSync(path.join(at, 'out'), { recursive: true });
  const next = build({ ...offline, ...shared });
  assert.equal(next.status, 0, next.stderr);
  assert.equal(installed(), '1.0');
});

test('unpacked packages are kept where that is asked for, until their list changes', { skip: missing }, t => {
  const { at, locked, put, build, installed } = setUp(t);
  put('mirror/debian', locked);
  const kept = { CULVERT_SYSROOTS: path.join(at, 'kept') };
  const lists = () =>
    ['packages', 'files', 'distribution'].map(name => fs.readFileSync(path.join(at, 'out', name), 'utf8'));
  assert.equal(build(kept).status, 0);
  const first = lists();
  fs.rmSync(path.join(at, 'out'), { recursive: true });
  fs.rmSync(path.join(at, 'mirror'), { recursive: true });
  const second = build(kept);
  assert.equal(second.status, 0, second.stderr);
  assert.equal(installed(), '1.0');
  assert.deepEqual(lists(), first);
  assert.equal(fs.readdirSync(kept.CULVERT_SYSROOTS).length, 1);
  fs.rmSync(path.join(at, 'out'), { recursive: true });
  fs.appendFileSync(path.join(at, `data/appimage/packages.${architecture}.lock`), '# another\n');
  assert.notEqual(build(kept).status, 0, 'another list is unpacked again, for which there is no mirror');
});

test('the mirror is CULVERT_MIRROR, or the one of the machine', () => {
  const mirror = (env: Record<string, string>) =>
    execFileSync(path.join(root, 'data/release/mirror.sh'), {
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    });
  assert.equal(mirror({ CULVERT_MIRROR: 'http://mirror.example/debian/' }), 'http://mirror.example/debian\n');
  assert.match(mirror({}), /^https?:\/\/\S+\n$/);
});
