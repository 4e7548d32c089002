// Lists what the leak test needs and this machine lacks.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PATH } from './machine.ts';

/** True for a program in a directory of Debian's packages. */
export const has = (program: string) => PATH.split(':').some(directory => existsSync(join(directory, program)));

/** Why the leak test can't run here, or false: the form of `skip` of `node:test`. */
export const missing: string | false = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root, for network namespaces';
  const programs = ['nft', 'ip', 'sysctl', 'wg', 'wireguard-go', 'python3', 'unshare', 'nsenter', 'setpriv'];
  const lacking = programs.filter(program => !has(program));
  if (lacking.length)
    return `needs ${lacking.join(', ')} (Debian: nftables iproute2 procps wireguard-go wireguard-tools)`;
  if (!existsSync('/dev/net/tun')) return 'needs /dev/net/tun';
  try {
    // in its own namespace: the kernel needs the features that the rules and the rig use
    const probe =
      'ip link add name a0 type veth peer name b0; ip link add name c0 type bridge; nft add table inet probe; mount -t tmpfs run /run';
    execFileSync('unshare', ['--net', '--mount', 'sh', '-euc', probe], { stdio: 'pipe', env: { PATH } });
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    return `needs the right to make networks: ${String(stderr ?? error).trim()}`;
  }
  return false;
})();
