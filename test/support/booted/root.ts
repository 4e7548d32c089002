// Roots of Debian releases with a systemd that can be booted: made once, kept packed.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { packedRoot, ROOTS } from '../packages/apt.ts';

export const ROOT_PROGRAM = join(import.meta.dirname, 'root.sh');

const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'libpam-systemd',
  'dbus',
  'dbus-user-session',
  'polkitd',
  'nftables',
  'gjs',
  'iproute2',
  'procps',
  'python3-minimal',
];
/** Units that ask for hardware. */
const MASKED = [
  'console-getty.service',
  'getty@tty1.service',
  'systemd-modules-load.service',
  'systemd-pstore.service',
];
/** The Node of Debian 12 is too old. */
const WITHOUT_NODE = ['bookworm'];

/** Packages of a server without systemd: the dependencies of the daemon's package, and a bus. */
const OF_SERVER = ['nodejs', 'nftables', 'dbus'];

/** A packed root of the release; null if none can be made. Remove the file after a change of the packages. */
function packed(release: string, kind: 'systemd' | 'server' = 'systemd'): string | null {
  const tar = join(ROOTS, `${release}-${kind}.tar`);
  if (fs.existsSync(tar)) return tar;
  const base = packedRoot(release);
  if (!base) return null;
  const made = fs.mkdtempSync(join(ROOTS, 'new-'));
  try {
    const root = unpacked(base, made);
    const node = WITHOUT_NODE.includes(release) ? [] : ['nodejs'];
    const packages = kind === 'server' ? OF_SERVER : [...PACKAGES, ...node];
    const { status } = spawnSync(ROOT_PROGRAM, ['install', root, ...packages], { stdio: 'inherit' });
    if (status !== 0 || spawnSync('tar', ['-C', root, '-cf', join(made, 'tar'), '.']).status !== 0) return null;
    fs.renameSync(join(made, 'tar'), tar);
    return tar;
  } finally {
    fs.rmSync(made, { recursive: true });
  }
}

function unpacked(tar: string, place: string): string {
  const root = join(place, 'root');
  fs.mkdirSync(root);
  const { status, stderr } = spawnSync('tar', ['-xf', tar, '-C', root], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return root;
}

/** A fresh root of a server in an empty directory, without systemd and desktop; null if none can be made. */
export function serverRoot(release: string, place: string): string | null {
  const tar = packed(release, 'server');
  return tar && unpacked(tar, place);
}

/** A fresh root in an empty directory, with a Node that the packages can use; null if none can be made. */
export function bootableRoot(release: string, place: string): string | null {
  const tar = packed(release);
  if (!tar) return null;
  const root = unpacked(tar, place);
  for (const unit of MASKED) fs.symlinkSync('/dev/null', join(root, 'etc/systemd/system', unit));
  if (!WITHOUT_NODE.includes(release)) return root;
  fs.copyFileSync(process.execPath, join(root, 'usr/bin/node'));
  return spawnSync('chroot', [root, 'node', '--version']).status === 0 ? root : null;
}
