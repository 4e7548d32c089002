// With --full: the package repository of a release, as dnf reads it, over new keys, and from mirrors that lie.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { armored, certificate, detached } from '../../data/repository/openpgp.mjs';
import { createMachine, giveClock } from '../support/packages/apt.ts';
import { Releases, seconds, stranger, weakKey } from '../support/packages/repository.ts';
import { temporary } from '../support/temporary.ts';
import { FULL } from '../support/thoroughness.ts';

const missing = ['apt-ftparchive', 'dpkg-scanpackages', 'createrepo_c', 'rpmbuild', 'openssl'].find(
  program => spawnSync(program, ['--version']).error,
);

/** Parses signatures as librepo of Fedora does; prints 0 where that is one. */
const RPM_READS = `
import base64, ctypes, sys
rpm = ctypes.CDLL('librpmio.so.' + sys.argv[1])
body = open(sys.argv[2]).read().split('\\n\\n')[1].split('\\n=')[0]
packets, made = base64.b64decode(body), ctypes.c_void_p()
print(rpm.pgpPrtParams(packets, ctypes.c_size_t(len(packets)), 2, ctypes.byref(made)))
`;

const REPOMD = 'rpm/stable/repodata/repomd.xml';
const NAMES = ['culvert', 'culvert-archive-keyring', 'culvert-daemon'];
const LISTING = NAMES.flatMap(name => ['1.0.0', '1.0.1'].map(version => `${name} ${version}`)).join(', ');

const skip = FULL ? missing && `${missing} is not installed` : 'takes --full';

describe('the package repository for dnf', { skip }, () => {
  const releases = new Releases();
  const { published, at, publish, put, signing } = releases;
  const text = (packets: Buffer) => armored('SIGNATURE', packets);

  test('rpm, by which dnf verifies in Fedora, reads the signature of the index', t => {
    const [library] = ['10', '9'].filter(so => fs.existsSync(`/usr/lib/${os.machine()}-linux-gnu/librpmio.so.${so}`));
    if (!library || spawnSync('python3', ['--version']).error) return t.skip('no librpmio and python3');
    const read = (file: string) =>
      spawnSync('python3', ['-c', RPM_READS, library, file], { encoding: 'utf8' }).stdout.trim();
    assert.equal(read(join(at('1.0.1'), `${REPOMD}.asc`)), '0');
    const two = join(temporary(t, 'rpm'), 'two');
    fs.writeFileSync(two, text(detached(Buffer.from('x'), ['current', 'next'].map(signing), seconds())));
    assert.notEqual(read(two), '0', 'which is why there is one');
  });

  /** A program with its own directories, on this machine or in a fresh root; null if it can't be had. */
  function installed(t: TestContext, program: string, release?: string) {
    if (!release) return spawnSync(program, ['--version']).error ? null : { at: '', run: [program] };
    const made = createMachine(t, release);
    if (!made) return null;
    // as this machine installs, perhaps from a past day
    fs.cpSync('/etc/apt/apt.conf.d', join(made.at, 'etc/apt/apt.conf.d'), { recursive: true });
    made.run('apt-get', '-q', 'update');
    made.run('apt-get', '-qy', 'install', '--no-install-recommends', program);
    giveClock(made.at);
    return { at: made.at, run: ['chroot', made.at, program] };
  }

  /** dnf, subscribed to a release. */
  function subscribe(t: TestContext, { at, run }: { at: string; run: string[] }, version: string) {
    publish(version);
    const place = at ? '/srv/dnf' : temporary(t, 'dnf');
    fs.mkdirSync(at + place, { recursive: true });
    const keyring = join(place, 'RPM-GPG-KEY-culvert');
    const source = fs.readFileSync(join(published, 'culvert.repo'), 'utf8');
    assert.match(source, /^gpgkey=file:\/\/\/etc\/pki\/rpm-gpg\/RPM-GPG-KEY-culvert$/m);
    fs.writeFileSync(join(at + place, 'culvert.repo'), source.replace(/^gpgkey=.*$/m, `gpgkey=file://${keyring}`));
    fs.copyFileSync(join(published, 'culvert-archive-keyring.asc'), at + keyring);
    const directories = [
      `--installroot=${place}/root`,
      `--setopt=reposdir=${place}`,
      `--setopt=cachedir=${place}/cache`,
    ];
    // each call as on a machine that has read nothing yet
    const dnf = (...words: string[]) => {
      fs.rmSync(join(at + place, 'cache'), { recursive: true, force: true });
      const [program, ...before] = run;
      return spawnSync(program!, [...before, '-y', '-q', '--releasever=1', ...directories, ...words], {
        encoding: 'utf8',
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' },
      });
    };
    return {
      setKeys: (block: string) => fs.writeFileSync(at + keyring, block),
      /** Names and versions; empty if it refuses the repository, without which Debian's dnf 4 goes on. */
      query: () => (dnf('repoquery', '--qf', '%{name} %{version}\n').stdout.match(/.+/g) ?? []).sort().join(', '),
      fetch: () => dnf('install', '--downloadonly', '--setopt=strict=0', 'culvert'),
    };
  }

  const roots = process.getuid!() === 0 ? [{ program: 'dnf5', root: 'sid' }] : [];
  for (const { program, root } of [{ program: 'dnf', root: undefined }, ...roots]) {
    const where = root ? `${program} of ${root}` : `${program} of this machine`;
    const on = (title: string, run: (t: TestContext, made: ReturnType<typeof subscribe>) => void) =>
      test(`${where}: ${title}`, t => {
        const found = installed(t, program, root);
        if (!found) return t.skip(`${program} is not there`);
        return run(t, subscribe(t, found, '1.0.1'));
      });
    const sign = (key: Parameters<typeof detached>[1][number]) =>
      put(`${REPOMD}.asc`, text(detached(fs.readFileSync(join(published, REPOMD)), [key], seconds())));

    on('reads the repository, and refuses what a mirror changed', (_, { query, fetch, setKeys }) => {
      assert.equal(query(), LISTING);
      const fetched = fetch();
      assert.equal(fetched.status, 0, fetched.stderr);
      const file = 'rpm/stable/culvert-1.0.1-1.noarch.rpm';
      const rpm = fs.readFileSync(join(published, file));
      rpm[rpm.length - 1]! ^= 1;
      put(file, rpm);
      const swapped = fetch();
      assert.notEqual(swapped.status, 0, 'another package');
      assert.match(swapped.stderr, /culvert-1\.0\.1-1\.noarch.*download|download.*culvert-1\.0\.1-1\.noarch/i);
      publish('1.0.1');
      put(REPOMD, fs.readFileSync(join(published, REPOMD), 'utf8').replace(/<revision>/, '<revision>1'));
      assert.equal(query(), '', 'another index');
      // an upload that was interrupted between the two files
      publish('1.0.1');
      fs.copyFileSync(join(at('1.0.0'), REPOMD), join(published, REPOMD));
      assert.equal(query(), '', 'the index of one day, and the signature of another');
      fs.copyFileSync(join(at('1.0.0'), `${REPOMD}.asc`), join(published, `${REPOMD}.asc`));
      fs.cpSync(join(at('1.0.0'), 'rpm'), join(published, 'rpm'), { recursive: true });
      assert.equal(query(), NAMES.map(name => `${name} 1.0.0`).join(', '), 'an older index is not noticed');
      // a mirror that signs, and brings its key
      publish('1.0.1');
      const other = stranger();
      put('culvert-archive-keyring.asc', other.block);
      sign(other.signing);
      assert.equal(query(), '', 'a key that the machine does not have');
      setKeys(other.block);
      assert.equal(query(), LISTING, 'which would be enough');
    });

    on('follows the keys of a release', (t, { query, setKeys }) => {
      const block = (name: string) =>
        armored('PUBLIC KEY BLOCK', releases.pinned().find(each => each.name === name)!.certificate);
      sign(signing('next'));
      assert.equal(query(), LISTING, 'the next key signs alone');
      setKeys(block('next'));
      assert.equal(query(), LISTING);
      sign(signing('current'));
      assert.equal(query(), '', 'signed by a key that was removed');
      const old = signing('current');
      const expired = certificate(old, 'x <x@x.example>', old.created + 1, old.signer);
      setKeys(armored('PUBLIC KEY BLOCK', expired));
      assert.equal(query(), '', 'signed by an expired key');
      const gpg = weakKey(t);
      setKeys(gpg('', '--armor', '--export').toString());
      const index = fs.readFileSync(join(published, REPOMD), 'utf8');
      put(`${REPOMD}.asc`, gpg(index, '--digest-algo', 'SHA1', '--armor', '--detach-sign'));
      assert.equal(query(), LISTING, 'a digest of SHA-1, which apt refuses, and no release makes');
    });
  }
});
