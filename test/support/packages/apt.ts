// A machine with apt: this machine with separate directories, or a fresh root of a Debian release, made once and kept packed.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporary } from '../temporary.ts';

const KEYRING = '/usr/share/keyrings/culvert-archive-keyring.pgp';

export interface Machine {
  /** Takes the keys and the source of a repository, as the documented lines do. */
  subscribe(repository: string): void;
  setKeyring(bytes: Buffer): void;
  /** Reads the indexes; what apt complains of, or null. */
  update(): string | null;
  candidate(name: string): string | undefined;
  /** Fetches and, in a root, installs. */
  install(...names: string[]): { status: number | null; said: string };
  /** Runs a program in the root. */
  run(...words: string[]): string;
  readonly isRoot: boolean;
  /** Its directory. */
  readonly at: string;
  /** True if apt verifies by Sequoia, with its policy of digests. */
  readonly sequoia: boolean;
}

const top = join(import.meta.dirname, '../../..');

/** Directory of packed roots, with the downloads of tests. */
export const ROOTS = join(process.env.CULVERT_TEST_CACHE ?? '/var/cache/culvert-test', 'roots');

/** A packed root of a Debian release; null if none can be made. */
export function packedRoot(release: string): string | null {
  const tar = join(ROOTS, `${release}.tar`);
  if (fs.existsSync(tar)) return tar;
  fs.mkdirSync(ROOTS, { recursive: true });
  const made = fs.mkdtempSync(join(ROOTS, 'new-'));
  const script = `debootstrap --variant=minbase --include=ca-certificates "$1" "$2/root" "$(data/release/mirror.sh)" >&2 &&
    tar -C "$2/root" -cf "$2/tar" . && mv "$2/tar" "$3"`;
  // in its own mount namespace, so that nothing stays mounted in what is removed next, even after a failure
  const words = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, '-', release, made, tar];
  const { status } = spawnSync('unshare', words, { cwd: top, stdio: 'ignore' });
  fs.rmSync(made, { recursive: true });
  return status === 0 ? tar : null;
}

/**
 * Gives a root the clock of a run at another time (test/runner/setting.sh), by which packages are signed. Debian's own packages
 * have to be installed before: its mirrors are signed for a week.
 */
export function giveClock(root: string): void {
  if (!fs.existsSync('/etc/culvert-test-clock')) return;
  for (const name of ['culvert-test-clock', 'culvert-test-clock.so', 'ld.so.preload'])
    fs.copyFileSync(join('/etc', name), join(root, 'etc', name));
}

/** @param release of Debian, in a fresh root; without one it is this machine. Null if that root can't be made. */
export function createMachine(t: Pick<TestContext, 'after'>, release?: string): Machine | null {
  const tar = release && packedRoot(release);
  if (tar === null) return null;
  const root = temporary(t, 'apt');
  if (tar) execFileSync('tar', ['-xf', tar, '-C', root]);
  else {
    for (const path of [
      'etc/apt/sources.list.d',
      'etc/apt/preferences.d',
      'usr/share/keyrings',
      'lists/partial',
      'cache/archives/partial',
    ])
      fs.mkdirSync(join(root, path), { recursive: true });
    fs.writeFileSync(join(root, 'status'), '');
  }
  const own = [
    `Dir::Etc=${root}/etc/apt`,
    `Dir::State=${root}`,
    `Dir::State::lists=${root}/lists`,
    `Dir::State::status=${root}/status`,
    `Dir::Cache=${root}/cache`,
    'Debug::NoLocking=true',
  ];
  const shared = [
    'APT::Sandbox::User=root',
    'Acquire::http::Proxy=false',
    'Acquire::Languages=none',
    // turned off on machines that install from a past day
    'Acquire::Check-Date=true',
    'Acquire::Check-Valid-Until=true',
    'Acquire::Retries=0',
  ];
  const words = [...(tar ? [] : own), ...shared].flatMap(option => ['-o', option]);
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' };
  const run = (program: string, ...args: string[]) =>
    tar
      ? spawnSync('chroot', [root, program, ...args], { encoding: 'utf8', env })
      : spawnSync(program, args, { encoding: 'utf8', env });
  const keyring = join(root, KEYRING);
  return {
    isRoot: tar !== undefined,
    at: root,
    sequoia: fs.existsSync(join(tar ? root : '/', 'usr/bin/sqv')),
    subscribe(repository) {
      fs.copyFileSync(join(repository, 'culvert-archive-keyring.pgp'), keyring);
      const source = fs.readFileSync(join(repository, 'culvert.sources'), 'utf8');
      fs.writeFileSync(
        join(root, 'etc/apt/sources.list.d/culvert.sources'),
        tar ? source : source.replace(KEYRING, keyring),
      );
      if (tar) fs.rmSync(join(root, 'etc/apt/sources.list'), { force: true });
    },
    setKeyring: bytes => fs.writeFileSync(keyring, bytes),
    update() {
      const { status, stdout, stderr } = run('apt-get', ...words, 'update');
      return status === 0 && !/^[EW]:/m.test(stderr) ? null : `${stdout}${stderr}`;
    },
    candidate: name => /Candidate: (.*)/.exec(run('apt-cache', ...words, 'policy', name).stdout)?.[1],
    install(...names) {
      const only = tar ? [] : ['--download-only'];
      const { status, stdout, stderr } = run('apt-get', ...words, '-qy', ...only, 'install', ...names);
      return { status, said: `${stdout}${stderr}` };
    },
    run(...[program, ...args]) {
      const { status, stdout, stderr } = run(program!, ...args);
      assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`);
      return stdout;
    },
  };
}
