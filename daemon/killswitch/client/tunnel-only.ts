// Keeps processes of this user in the tunnel: asks the root service for their place, and proves it from inside before a program starts.
import { createSocket } from 'node:dgram';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { Problem } from '../../problem.ts';
import { ALL_HOSTS, cgroupOf, PROBE, THIS_NODE, TUNNEL_INTERFACES } from '../rules/place.ts';
import { message } from '../wording.ts';
import { askPatiently } from './ask-patiently.ts';
import { installHint, isInstalled, type Places, places } from './published-state.ts';

/**
 * Puts this process and its parent, which becomes the program, into the place of programs that use the tunnel only.
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed; the parent must start no program then
 */
export async function keepInTunnel(): Promise<void> {
  if (!existsSync('/run/systemd/system'))
    throw new Problem(
      'killswitch-failed',
      message('Keeping a program in the tunnel needs systemd, which does not run here.'),
    );
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers'))
    throw new Problem(
      'killswitch-failed',
      message('Keeping a program in the tunnel needs version 2 of control groups; this system uses version 1.'),
      { hint: 'Start Linux with: systemd.unified_cgroup_hierarchy=1' },
    );
  requireService(places);
  refuseConnections(process.ppid);
  // a program that is started by a kept one is in the place already
  if (![process.ppid, process.pid].every(isInPlace)) await askPatiently('KeepInTunnel', places);
  await testPlace();
}

/** @throws Problem killswitch-not-installed */
export function requireService(places: Places): void {
  if (!isInstalled(places))
    throw new Problem(
      'killswitch-not-installed',
      message('The root service of the kill switch, which keeps programs in the tunnel, is not installed.'),
      { hint: installHint(places) },
    );
}

/** A connection stays where it was opened, so a program must not get one from outside. @throws Problem killswitch-failed */
function refuseConnections(pid: number): void {
  const sockets = readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? [];
    return inode ? [{ fd, inode }] : [];
  });
  if (!sockets.length) return;
  // Unix sockets are not connections. A terminal may have one of the machine's network namespace, so both lists count.
  const others = new Set(['self', '1'].flatMap(of => unixSockets(`/proc/${of}/net/unix`)));
  const connection = sockets.find(({ inode }) => !others.has(inode));
  if (connection)
    throw new Problem(
      'killswitch-failed',
      message('The program was not started: it would get a connection that was opened outside the tunnel.'),
      { hint: `Close it first: file descriptor ${connection.fd}` },
    );
}

/** Their inodes. */
function unixSockets(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .flatMap(line => line.split(/\s+/)[6] ?? []);
  } catch {
    return [];
  }
}

/** Empty if the file has just been closed. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function isInPlace(pid: number): boolean {
  const [, path = ''] = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8')) ?? [];
  return path.startsWith(`/${cgroupOf(process.getuid!())}/`);
}

/**
 * The probe proves that the rules know this process, and they refuse every link but the tunnel's. The packets for each link look for one that
 * they leave open. Where the link itself takes no such packet, nothing is learned of it, and the rules hold as before.
 * @throws Problem killswitch-failed unless what leaves outside the tunnel is refused here, and what uses it is not
 */
async function testPlace(): Promise<void> {
  const fail = (hint: string) =>
    new Problem('killswitch-failed', message('The program was not started: the test inside its place failed.'), {
      hint,
    });
  if ((await sent('udp4', { to: PROBE.address })) !== 'refused')
    throw fail('The packet filter does not know it. See: journalctl -u culvert-killswitch');
  const links = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.map(({ family, address, internal }) => ({ name, family, address, internal })),
  );
  for (const { name, family, address, internal } of links) {
    const isTunnel = TUNNEL_INTERFACES.includes(name);
    // WARP refuses other sources in its tunnel than the address that it gave
    if (internal || (isTunnel && address.startsWith('fe80:'))) continue;
    const outcome =
      family === 'IPv4'
        ? await sent('udp4', { to: ALL_HOSTS, by: address })
        : await sent('udp6', { to: `${THIS_NODE}%${name}`, by: `::%${name}`, from: isTunnel ? address : undefined });
    if (!isTunnel && outcome === 'sent') throw fail(`A packet could leave by ${name}.`);
    if (isTunnel && outcome === 'refused') throw fail(`A packet could not leave by ${name}.`);
  }
}

/** Sends a packet that reaches no host. @param by address of the link that it leaves by; @param from its own, otherwise the kernel's choice */
function sent(
  type: 'udp4' | 'udp6',
  { to, by, from }: { to: string; by?: string; from?: string | undefined },
): Promise<'sent' | 'refused' | 'impossible'> {
  return new Promise(resolve => {
    const socket = createSocket(type);
    const end = (outcome: 'sent' | 'refused' | 'impossible') => {
      socket.removeAllListeners('error').on('error', () => {});
      socket.close();
      resolve(outcome);
    };
    socket.once('error', () => end('impossible'));
    socket.bind(0, from, () => {
      try {
        if (by !== undefined) {
          socket.setMulticastTTL(0);
          socket.setMulticastInterface(by);
        }
      } catch {
        return end('impossible'); // the link has just gone
      }
      socket.send('', PROBE.port, to, error => {
        const { code } = (error ?? {}) as NodeJS.ErrnoException;
        end(code === 'EPERM' ? 'refused' : error ? 'impossible' : 'sent');
      });
    });
  });
}
