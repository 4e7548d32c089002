// The Debian packages of this tree: built with a quick compression, unpacked and run; as root also installed and purged.
// With --full also the rpms, which have the same parts.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SHELL_EXTENSION } from '../../data/build/bundle.mjs';
import { testServer } from '../support/packages/container.ts';
import { build, testPrograms, version } from '../support/packages/packages.ts';
import { temporary } from '../support/temporary.ts';
import { FULL } from '../support/thoroughness.ts';

const missing = ['dh', 'dpkg-buildpackage', 'gjs', 'meson', 'rsvg-convert'].find(
  program => spawnSync(program, ['--version']).error,
);

describe('the Debian package', { skip: missing && `${missing} is not installed` }, () => {
  const at = temporary({ after }, 'deb');
  const deb = join(at, 'culvert.deb');
  const PARTS = [deb, deb.replace('.deb', '-daemon.deb'), deb.replace('.deb', '-archive-keyring.deb')];
  const bundles = () => join(at, `source/unpacked/culvert-${version}/prebuilt/system`);
  const installed = (path: string) => join(at, 'root', path);

  before(async () => {
    const source = join(at, `culvert-${version}-source.tar.gz`);
    await build('data/release/source.sh', [source, join(at, 'source')]);
    await build('data/deb/build.sh', [source, deb, join(at, 'deb')], { DPKG_DEB_COMPRESSOR_LEVEL: '1' });
    for (const part of PARTS) execFileSync('dpkg-deb', ['-x', part, join(at, 'root')]);
  });

  test('the installed root service is its bundle, byte for byte', () => {
    const program = installed('usr/lib/culvert-killswitch/killswitch.js');
    assert.deepEqual(readFileSync(program), readFileSync(join(bundles(), 'killswitch.js')));
    const rules = execFileSync('gjs', ['-m', program, '--fallback'], { encoding: 'utf8' });
    assert.match(rules, /^table inet culvert /m);
    assert.equal(readFileSync(installed('usr/lib/culvert-killswitch/fallback.nft'), 'utf8'), rules);
  });

  test('the daemon alone has nothing of GTK, and the two packages share no file', () => {
    const files = (part: string) => execFileSync('dpkg-deb', ['--fsys-tarfile', part], { maxBuffer: 2 ** 28 });
    const listed = (part: string) =>
      execFileSync('tar', ['-t'], { input: files(part), encoding: 'utf8' })
        .split('\n')
        .filter(name => !name.endsWith('/'));
    const [panel, daemon] = [listed(PARTS[0]!), listed(PARTS[1]!)];
    assert.deepEqual(
      daemon.filter(name => name && panel.includes(name)),
      [],
    );
    assert.deepEqual(
      daemon.filter(name => /\/(panel|tray|bridge)|gresource|\/icons\/|\.desktop$/.test(name)),
      [],
    );
    const depends = execFileSync('dpkg-deb', ['-f', PARTS[1]!, 'Depends'], { encoding: 'utf8' });
    // gjs of Debian 12 and 13 depends on GTK 3
    assert.doesNotMatch(depends, /gtk|adw|gjs/i);
    assert.match(depends, /\bculvert-archive-keyring\b/);
    for (const name of ['./usr/share/culvert/panel.js', './usr/share/culvert/tray.js'])
      assert.ok(panel.includes(name), name);
  });

  test('every other bundle is installed under its name', () => {
    const files = readdirSync(bundles(), { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
    assert.ok(files.length > 20);
    for (const { parentPath, name } of files) {
      const file = join(parentPath, name);
      const path = relative(bundles(), file);
      const copy = installed(
        join('usr/share', path.startsWith(SHELL_EXTENSION) ? 'gnome-shell/extensions' : 'culvert', path),
      );
      assert.deepEqual(readFileSync(copy), readFileSync(file), copy);
    }
    assert.equal(readFileSync(installed('usr/share/culvert/install-format'), 'utf8').trim(), 'deb');
  });

  testPrograms(program => [installed(`usr/bin/${program}`)]);
  testServer(() => PARTS.slice(1));

  const noRpm = !FULL || spawnSync('rpmbuild', ['--version']).error ? 'takes --full and rpmbuild' : false;
  test('each rpm has what its Debian package has, and is installed and erased whole', { skip: noRpm }, async () => {
    const rpm = join(at, 'culvert.rpm');
    await build('data/rpm/build.sh', [join(at, `culvert-${version}-source.tar.gz`), rpm, join(at, 'rpm')]);
    const rpms = PARTS.map(part => part.replace(/deb$/, 'rpm'));
    const lines = (program: string, ...args: string[]) =>
      execFileSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28 })
        .split('\n')
        .filter(line => line !== '' && !line.endsWith('/'));
    const own = /\/(doc|licenses|lintian|system-preset|keyrings|rpm-gpg|sysinit\.target\.wants)\//;
    const plain = (files: string[]) =>
      files
        .map(file => file.replace(/^\./, '').replace(/\.gz$/, ''))
        .filter(file => !own.test(file))
        .sort();
    const root = join(at, 'rpm-root');
    for (const [number, part] of PARTS.entries()) {
      const debian = plain(lines('sh', '-c', 'dpkg-deb --fsys-tarfile "$1" | tar -t', '-', part));
      const listed = lines('rpm', '-qp', '--qf', '[%{FILEMODES:perms} %{FILENAMES}\n]', rpms[number]!);
      assert.deepEqual(plain(listed.filter(line => !line.startsWith('d')).map(line => line.slice(11))), debian, part);
    }
    const requires = lines('rpm', '-qpR', rpms[1]!);
    assert.ok(requires.includes('culvert-archive-keyring'));
    assert.deepEqual(
      requires.filter(name => /gtk|adw|gjs|rsvg/.test(name)),
      [],
    );
    // the scriptlets are run in the roots of `culvert-tool packages`
    execFileSync('rpm', ['--root', root, '-i', '--nodeps', '--noscripts', ...rpms]);
    assert.ok(existsSync(join(root, 'usr/bin/culvert')) && existsSync(join(root, 'usr/share/culvert/panel.js')));
    execFileSync('rpm', ['--root', root, '-e', '--noscripts', 'culvert', 'culvert-daemon', 'culvert-archive-keyring']);
    assert.deepEqual(lines('find', root, '-iname', '*culvert*'), []);
  });

  test('it is installed, runs, and leaves nothing when it is purged', t => {
    if (process.getuid!() !== 0) return t.skip('installing a package takes root');
    // this machine with a layer above it, which takes what is written and ends with the process
    const layer = `
      mount -t tmpfs layer "$1" || exit 77
      mkdir "$1/written" "$1/work" "$1/root"
      mount -t overlay layer -o "lowerdir=/,upperdir=$1/written,workdir=$1/work" "$1/root" || exit 77
      for deb in $2; do cp "$deb" "$1/root/"; done
      mount -t proc proc "$1/root/proc"
      mount --rbind /dev "$1/root/dev"
      for place in run tmp; do mount -t tmpfs "$place" "$1/root/$place"; done
      exec chroot "$1/root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:"$3" sh -euc "$4"`;
    // X servers of other tests and apt write below these directories of this machine at the same time
    const inside = `
      list() { find /usr /etc /var/lib -xdev ! -path '/var/lib/dpkg/*' ! -path '/var/lib/xkb/*' ! -path '/var/lib/apt/*' ! -path '/var/lib/swcatalog/*' ! -path '/usr/share/icons/hicolor/icon-theme.cache' | LC_ALL=C sort; }
      dpkg --purge --force-all culvert culvert-daemon culvert-archive-keyring >/dev/null 2>&1 || true
      list >/tmp/before
      dpkg --force-depends -i /culvert*.deb >&2
      culvert --version
      culvert-wrap --version
      culvert-manifest --version
      gjs -m /usr/lib/culvert-killswitch/killswitch.js --fallback | cmp - /usr/lib/culvert-killswitch/fallback.nft
      dpkg --purge culvert culvert-daemon culvert-archive-keyring >&2
      list | diff /tmp/before - >&2`;
    const place = temporary(t, 'layer');
    const node = join(process.execPath, '..');
    const args = [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-uc',
      layer,
      '-',
      place,
      PARTS.join(' '),
      node,
      inside,
    ];
    const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
    if (status === 77 || /unshare failed/.test(stderr)) return t.skip('no mounts here');
    assert.equal(status, 0, stderr);
    assert.equal(stdout.split('\n').length, 4, stdout);
    assert.ok(!existsSync('/culvert.deb'), 'this machine is as it was');
  });
});
