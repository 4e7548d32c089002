// Package repositories, as apt reads them: from the first release on, over new keys, and from mirrors that lie.
// With --full also in fresh roots of three Debian releases, as root.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { armored, certificate, clearsigned, detached } from '../../data/repository/openpgp.mjs';
import { createMachine, giveClock, type Machine } from '../support/packages/apt.ts';
import { Releases, seconds, stranger, weakKey } from '../support/packages/repository.ts';
import { temporary } from '../support/temporary.ts';
import { FULL } from '../support/thoroughness.ts';

const missing = ['apt-ftparchive', 'dpkg-scanpackages', 'createrepo_c', 'rpmbuild', 'gpg', 'openssl'].find(
  program => spawnSync(program, ['--version']).error,
);

const onlyFull = FULL ? test : test.skip;

describe('the package repositories of a release', { skip: missing && `${missing} is not installed` }, () => {
  const releases = new Releases(made => {
    if (!FULL) return;
    made.release('1.1.0-beta.1', '--channel', 'beta');
    made.release('1.1.0');
  });
  const { published, at, publish, put, pem, signing, index, resign } = releases;

  const versions = (version: string, suite: string) =>
    fs
      .readFileSync(join(at(version), `dists/${suite}/main/binary-all/Packages`), 'utf8')
      .match(/(?<=^Package: culvert\nVersion: ).*/gm);

  test('a suite has the present and the last release, and a beta has another suite', () => {
    assert.deepEqual(versions('1.0.0', 'stable'), ['1.0.0']);
    assert.deepEqual(versions('1.0.1', 'beta'), ['1.0.1', '1.0.0']);
    if (!FULL) return;
    assert.deepEqual(versions('1.1.0-beta.1', 'stable'), ['1.0.1', '1.0.0']);
    assert.deepEqual(versions('1.1.0-beta.1', 'beta'), ['1.1.0~beta.1', '1.0.1']);
    assert.deepEqual(versions('1.1.0', 'stable'), ['1.1.0', '1.0.1']);
    assert.deepEqual(versions('1.1.0', 'beta'), ['1.1.0', '1.1.0~beta.1']);
  });

  const source = 'culvert-1.0.1-source.tar.gz';
  /** @returns a directory with the recipe for Arch, and the source that it names */
  const recipe = (t: Parameters<typeof temporary>[0]) => {
    const place = temporary(t, 'makepkg');
    const dist = join(releases.work.at, 'dist/1.0.1');
    execFileSync('tar', ['-xzf', join(dist, 'culvert-1.0.1-recipes.tar.gz'), '-C', place, '--strip-components=1']);
    for (const name of ['', '.asc', '.minisig'].map(end => source + end))
      fs.copyFileSync(join(dist, name), join(place, name));
    return place;
  };

  test('the recipe for Arch refuses a source that minisign refuses', {
    skip: spawnSync('minisign', ['-v']).error && 'minisign is not installed',
  }, t => {
    const place = recipe(t);
    const prepare = () => spawnSync('bash', ['-c', '. ./PKGBUILD; prepare'], { cwd: place }).status;
    assert.equal(prepare(), 0);
    fs.appendFileSync(join(place, source), 'x');
    assert.equal(prepare(), 1);
  });

  const noMakepkg = spawnSync('makepkg', ['--version']).error ? 'makepkg is not installed' : false;
  onlyFull(
    'makepkg takes the source of the recipe with a signature by a key of the release alone',
    {
      skip: noMakepkg,
    },
    t => {
      const place = recipe(t);
      const conf = ['INTEGRITY_CHECK=(sha256)', 'CARCH=x86_64', "PKGEXT='.pkg.tar'", "SRCEXT='.src.tar'"];
      fs.writeFileSync(join(place, 'makepkg.conf'), [...conf, 'DLAGENTS=()', 'VCSCLIENTS=()', ''].join('\n'));
      // makepkg refuses to run as root
      const asUser = process.getuid!() === 0 ? ['setpriv', '--reuid=nobody', '--clear-groups', 'env'] : ['env'];
      if (process.getuid!() === 0) execFileSync('chown', ['-R', 'nobody', place]);
      const run = (...words: string[]) =>
        spawnSync(asUser[0]!, [...asUser.slice(1), `HOME=${place}`, `GNUPGHOME=${place}/gnupg`, ...words], {
          cwd: place,
          encoding: 'utf8',
        });
      const verify = () => run('makepkg', '--config', join(place, 'makepkg.conf'), '--verifysource', '--nodeps');
      run('mkdir', '-m', '700', join(place, 'gnupg'));
      const unknown = verify();
      assert.notEqual(unknown.status, 0, 'a key that gpg does not know');
      assert.equal(run('gpg', '--batch', '--import', 'culvert-archive-keyring.asc').status, 0);
      const verified = verify();
      assert.equal(verified.status, 0, verified.stderr);
      assert.match(verified.stdout + verified.stderr, /source\.tar\.gz \.\.\. Passed/);
      // the same file by another key
      const { signing, block } = stranger();
      const signed = detached(fs.readFileSync(join(place, source)), [signing], seconds());
      fs.writeFileSync(join(place, `${source}.asc`), armored('SIGNATURE', signed));
      fs.writeFileSync(join(place, 'stranger.asc'), block);
      assert.equal(run('gpg', '--batch', '--import', 'stranger.asc').status, 0);
      assert.notEqual(verify().status, 0, 'a key that the recipe does not name');
      run('gpgconf', '--kill', 'all');
    },
  );

  test('the pages of a forge are one commit, with the repository as it is', t => {
    const place = temporary(t, 'pages');
    const origin = join(place, 'origin.git');
    const git = (...words: string[]) =>
      execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    git('init', '-q', '--bare', origin);
    releases.work.git('remote', 'add', 'origin', origin);
    for (const name of ['user.name', 'user.email']) releases.work.git('config', name, 't@t.example');
    for (const version of ['1.0.0', '1.0.1']) {
      const { status, stderr } = releases.work.run('data/repository/pages.sh', version);
      assert.equal(status, 0, stderr);
    }
    const pages = join(place, 'pages');
    git('clone', '-q', '--branch', 'pages', origin, pages);
    assert.equal(git('-C', pages, 'rev-list', '--count', 'HEAD').trim(), '1');
    execFileSync('diff', ['-r', '--exclude=.git', at('1.0.1'), pages]);
    assert.equal(releases.work.git('status', '--porcelain').stdout, '', 'the clone is as it was');
    assert.notEqual(releases.work.run('data/repository/pages.sh', '9.9.9').status, 0);
  });

  onlyFull('the same release a day later differs in dates and signatures alone', t => {
    const listed = () => {
      const files = fs.readdirSync(at('1.0.0'), { recursive: true, withFileTypes: true }).filter(file => file.isFile());
      return files
        .map(({ parentPath, name }) => join(parentPath, name))
        .sort()
        .map(file => {
          const text = fs
            .readFileSync(file, 'latin1')
            .replace(/^(Date|Valid-Until): .*$|^-----BEGIN PGP SIGNATURE[\s\S]*/gm, '');
          return `${file} ${createHash('sha256').update(text).digest('hex')}`;
        });
    };
    const first = listed();
    // without what later releases left, as it was then
    const aside = temporary(t, 'aside');
    const dist = join(releases.work.at, 'dist');
    const later = ['1.0.1', '1.1.0-beta.1', '1.1.0'];
    fs.cpSync(at('1.0.0'), join(aside, 'first'), { recursive: true });
    for (const name of later) fs.renameSync(join(dist, name), join(aside, name));
    const repository = join(releases.work.at, 'data/repository/repository.sh');
    const make = () =>
      spawnSync('faketime', ['-f', '+1d', repository, join(dist, '1.0.0')], {
        encoding: 'utf8',
        input: pem('current') + pem('next'),
        env: { PATH: process.env.PATH, NO_FAKE_STAT: '1' },
      });
    let made = make();
    // a killed faketime leaves a semaphore that is named after its process id
    for (let more = 5; more > 0 && /sem_open: File exists/.test(made.stderr); more--) made = make();
    const second = listed();
    for (const name of later) fs.renameSync(join(aside, name), join(dist, name));
    fs.rmSync(at('1.0.0'), { recursive: true });
    fs.renameSync(join(aside, 'first'), at('1.0.0'));
    if (made.error) return t.skip('faketime is not installed');
    assert.equal(made.status, 0, made.stderr);
    assert.deepEqual(second, first);
  });

  const roots = FULL && process.getuid!() === 0 ? ['bookworm', 'trixie', 'sid'] : [];
  for (const root of [undefined, ...roots]) {
    const where = root ?? 'apt of this machine';
    const on = (title: string, run: (t: TestContext, made: Machine) => void, define = test) =>
      define(`${where}: ${title}`, t => {
        const made = createMachine(t, root);
        if (!made) return t.skip(`a root of ${root} can't be made here`);
        if (root) giveClock(made.at);
        return run(t, made);
      });
    const inFull = (title: string, run: (t: TestContext, made: Machine) => void) =>
      on(title, run, onlyFull as typeof test);
    const subscribe = (made: Machine, version: string) => {
      publish(version);
      made.subscribe(published);
      assert.equal(made.update(), null);
    };

    on('subscribes, installs, upgrades, and is as before after a purge', (_, made) => {
      const list = () =>
        made.isRoot
          ? made
              .run(
                'find',
                '/usr',
                '/etc',
                '/var/lib',
                '-path',
                '/var/lib/apt/lists/*',
                '-prune',
                '-o',
                '-path',
                '/var/lib/dpkg/*',
                '-prune',
                '-o',
                '-print',
              )
              .split('\n')
              .sort()
          : [];
      if (made.isRoot) made.run('rm', '-f', '/etc/apt/sources.list');
      const before = list();
      subscribe(made, '1.0.0');
      assert.equal(made.candidate('culvert'), '1.0.0');
      const { status, said } = made.install('culvert');
      assert.equal(status, 0, said);
      for (const name of ['culvert', 'culvert-daemon', 'culvert-archive-keyring']) assert.match(said, new RegExp(name));
      publish('1.0.1');
      assert.equal(made.update(), null);
      assert.equal(made.candidate('culvert-daemon'), '1.0.1');
      if (!made.isRoot) return;
      made.run('apt', '-qy', '-o', 'Acquire::http::Proxy=false', 'upgrade');
      for (const name of ['culvert', 'culvert-daemon', 'culvert-archive-keyring'])
        assert.equal(made.run('cat', `/usr/share/${name}/version`), '1.0.1\n');
      made.run('apt-get', '-qy', 'purge', 'culvert', 'culvert-daemon', 'culvert-archive-keyring');
      assert.deepEqual(
        list().filter(path => !path.startsWith('/var/lib/apt/extended')),
        before,
      );
    });

    inFull('keys are replaced without a gap', (t, made) => {
      subscribe(made, '1.0.1');
      const fresh = fs.readFileSync(join(published, 'culvert-archive-keyring.pgp'));
      const [current, next] = releases.pinned().map(each => each.certificate);
      made.setKeyring(current!);
      assert.equal(made.update(), null, 'both keys signed, and one is known');
      made.setKeyring(next!);
      assert.equal(made.update(), null);
      const refused = (why: string) => {
        const said = made.update();
        assert.ok(said, why);
        return said;
      };
      resign(['current']);
      refused('signed by a key that was removed');
      made.setKeyring(fresh);
      assert.equal(made.update(), null);
      resign(['next']);
      assert.equal(made.update(), null, 'the next key signs alone after the first was lost');
      const old = signing('next');
      const expired = certificate(old, 'x <x@x.example>', old.created + 1, old.signer);
      made.setKeyring(expired);
      assert.match(refused('signed by an expired key'), /expired|EXPKEYSIG/i);
      // weak digests: of signatures everywhere, and of the certificate itself by the policy of Sequoia from 2026 on
      const gpg = weakKey(t);
      made.setKeyring(gpg('', '--export'));
      put('dists/stable/InRelease', gpg(index(), '--digest-algo', 'SHA1', '--clearsign'));
      refused('a digest of SHA-1');
      publish('1.0.1');
      put('dists/stable/InRelease', gpg(index(), '--digest-algo', 'SHA512', '--clearsign'));
      if (made.sequoia) refused('a certificate with a digest of SHA-1');
    });

    inFull('a repository that has expired is refused until it is renewed', (t, made) => {
      subscribe(made, '1.0.1');
      const until = Date.parse(/^Valid-Until: (.*)$/m.exec(index())![1]!) - Date.now();
      assert.ok(until > 89 * 86_400_000 && until < 90 * 86_400_000, 'as long as the manifest');
      resign(
        ['current', 'next'],
        index(text => text.replace(/^Valid-Until: .*$/m, 'Valid-Until: Sun, 01 Nov 2020 00:00:00 UTC')),
      );
      assert.match(made.update() ?? '', /expired/i);
      const aside = join(temporary(t, 'aside'), 'release');
      fs.cpSync(join(releases.work.at, 'dist/1.0.1'), aside, { recursive: true });
      const renewed = releases.work.run(
        'data/repository/sign.sh',
        '--renew',
        join(releases.work.at, 'dist/1.0.1'),
        releases.work.manifest,
        '--key',
        join(releases.keys, 'current.key'),
        '--passphrase-file',
        join(releases.keys, 'passphrase'),
      );
      assert.equal(renewed.status, 0, renewed.stderr);
      publish('1.0.1');
      fs.rmSync(join(releases.work.at, 'dist/1.0.1'), { recursive: true });
      fs.renameSync(aside, join(releases.work.at, 'dist/1.0.1'));
      assert.equal(made.update(), null);
    });

    on("a mirror can't swap, mix or take back packages", (_, made) => {
      subscribe(made, '1.0.0');
      publish('1.0.1');
      const indexes = 'dists/stable/main/binary-all/by-hash/SHA256';
      const before = fs.readFileSync(join(at('1.0.0'), 'dists/stable/main/binary-all/Packages.gz'));
      for (const name of fs.readdirSync(join(published, indexes))) put(`${indexes}/${name}`, before);
      assert.ok(made.update(), 'indexes of two days');
      assert.equal(made.candidate('culvert'), '1.0.0');
      subscribe(made, '1.0.1');
      assert.equal(made.candidate('culvert'), '1.0.1');
      const deb = 'pool/1.0.1/culvert_1.0.1_all.deb';
      const bytes = fs.readFileSync(join(published, deb));
      bytes[bytes.length - 1]! ^= 1;
      put(deb, bytes);
      const swapped = made.install('culvert');
      assert.notEqual(swapped.status, 0);
      assert.match(swapped.said, /hash sum mismatch|hashsumme/i);
      publish('1.0.0');
      made.update();
      assert.equal(made.candidate('culvert'), '1.0.1', 'an older index changes nothing');
    });

    // release-keys.md, "What packages can't promise"
    on('takes one signature of any key, and asks for its suite', (_, made) => {
      subscribe(made, '1.0.1');
      resign(['next']);
      assert.equal(made.update(), null, 'the threshold of the manifest is unknown to apt');
      const beta = fs.readFileSync(join(at('1.0.1'), 'dists/beta/InRelease'));
      put('dists/stable/InRelease', beta);
      assert.match(made.update() ?? '', /changed its '(Suite|Codename)' value from 'stable' to 'beta'/);
      const past = 'Valid-Until: Sun, 01 Nov 2020 00:00:00 UTC';
      publish('1.0.1');
      resign(
        ['current', 'next'],
        index(text => text.replace(/^Valid-Until: .*$/m, past)),
      );
      assert.match(made.update() ?? '', /expired/i);
    });

    inFull('during an upload everyone sees the repository before or the one after it', (_, made) => {
      subscribe(made, '1.0.1');
      const to = at('1.1.0');
      const files = fs.readdirSync(to, { recursive: true, withFileTypes: true }).filter(file => file.isFile());
      const isIndex = (path: string) =>
        /^(dists\/.*\/(InRelease|Packages(\.gz)?)|rpm\/.*\/repomd\.xml(\.asc)?)$/.test(path) &&
        !path.includes('by-hash');
      const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(to.length + 1)).sort();
      const order = [...paths.filter(path => !isIndex(path)), ...paths.filter(isIndex)];
      const seen = new Set<string | undefined>();
      for (const path of order) {
        fs.mkdirSync(join(published, path, '..'), { recursive: true });
        fs.copyFileSync(join(to, path), join(published, path));
        // other files change nothing that apt sees
        if (!path.startsWith('dists/stable')) continue;
        assert.equal(made.update(), null, path);
        const candidate = made.candidate('culvert');
        seen.add(candidate);
        const { status, said } = root ? { status: 0, said: '' } : made.install('culvert');
        assert.equal(status, 0, `${path}: ${said}`);
      }
      assert.deepEqual([...seen], ['1.0.1', '1.1.0']);
    });
  }

  // the last one, since it revokes a key of the clone
  test('a key that a release revokes is in none of its packages, and signs none', t => {
    const thief = signing('current');
    const [current, next] = releases.pinned().map(each => each.fingerprint);
    const { work, keys } = releases;
    assert.equal(work.run('data/release/key.sh', '--revoke', 'current').status, 0);
    releases.release('1.2.0', '--key', join(keys, 'next.key'));
    const dist = join(work.at, 'dist/1.2.0');
    const place = temporary(t, 'revoked');
    const unpack = (script: string) =>
      execFileSync('sh', ['-euc', script], { cwd: place, env: { ...process.env, dist } });
    unpack('dpkg-deb -x "$dist"/culvert-1.2.0-archive-keyring.deb deb');
    unpack('mkdir recipes; tar -xzf "$dist"/culvert-1.2.0-recipes.tar.gz -C recipes --strip-components=1');
    const rpm = join(dist, 'culvert-1.2.0-archive-keyring.rpm');
    unpack(`mkdir rpm; cd rpm; rpm2cpio '${rpm}' | cpio -idm --quiet`);
    const keyrings = {
      'Debian package': 'deb/usr/share/keyrings/culvert-archive-keyring.pgp',
      rpm: 'rpm/etc/pki/rpm-gpg/RPM-GPG-KEY-culvert',
      recipes: 'recipes/culvert-archive-keyring.asc',
      'repository for apt': join(at('1.2.0'), 'culvert-archive-keyring.pgp'),
      'repository for dnf': join(at('1.2.0'), 'culvert-archive-keyring.asc'),
    };
    publish('1.2.0');
    const own = fs.readFileSync(join(published, 'dists/stable/InRelease'));
    const stolen = clearsigned(index(), [thief], seconds());
    for (const [where, file] of Object.entries(keyrings)) {
      const bytes = fs.readFileSync(resolve(place, file));
      const binary = join(place, 'keyring.pgp');
      fs.writeFileSync(binary, bytes[0]! & 0x80 ? bytes : execFileSync('gpg', ['--dearmor'], { input: bytes }));
      const verify = (signed: string | Buffer) => {
        fs.writeFileSync(join(place, 'InRelease'), signed);
        return spawnSync('gpgv', ['--keyring', binary, join(place, 'InRelease')], { encoding: 'utf8' });
      };
      assert.equal(verify(own).status, 0, where);
      assert.match(verify(stolen).stderr, /No public key/, where);
    }
    const recipe = fs.readFileSync(join(place, 'recipes/PKGBUILD'), 'utf8');
    assert.match(recipe, new RegExp(`^validpgpkeys=\\('${next}'\\)$`, 'im'));
    assert.ok(!recipe.includes(current!));
    const made = createMachine(t)!;
    made.subscribe(published);
    assert.equal(made.update(), null);
    put('dists/stable/InRelease', stolen);
    assert.match(made.update() ?? '', /NO_PUBKEY|public key is not available|isn't signed/i);
    const again = releases.work.run(
      'data/repository/sign.sh',
      '--renew',
      dist,
      work.manifest,
      '--key',
      join(keys, 'current.key'),
      '--passphrase-file',
      join(keys, 'passphrase'),
    );
    assert.match(again.stderr, /it was revoked|do not outrank/);
  });
});
