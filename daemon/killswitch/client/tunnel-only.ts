// Keeps processes of this user in the tunnel: asks the root service to place them, and tests the place before a program starts.
import { createSocket } from 'node:dgram';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { readText } from '../../core/files.ts';
import { Problem } from '../../problem.ts';
import { ALL_HOSTS, cgroupOf, PROBE, THIS_NODE, TUNNEL_INTERFACES } from '../rules/place.ts';
import { type Message, message, N_ } from '../wording.ts';
import { requireService, SERVICE_PATHS } from './published-state.ts';
import { askPatiently } from './service-link.ts';

/**
 * Puts this process and its parent, which becomes the program, into the place of tunnel-only programs.
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed; the parent must not start a program then
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
  requireService(SERVICE_PATHS, 'tunnel-only');
  refuseConnections(process.ppid);
  // the children of a kept program are already in the place
  if (![process.ppid, process.pid].every(isInPlace)) await askPatiently('KeepInTunnel', SERVICE_PATHS);
  await testPlace();
}

/** Refuses a process with connections, because a connection stays outside the tunnel. @throws Problem killswitch-failed */
function refuseConnections(pid: number): void {
  const sockets = readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? [];
    return inode ? [{ fd, inode }] : [];
  });
  if (!sockets.length) return;
  // Unix sockets are not connections. A terminal's socket may belong to the machine's network namespace, so both lists count.
  const others = new Set(['self', '1'].flatMap(of => unixSockets(`/proc/${of}/net/unix`)));
  const connection = sockets.find(({ inode }) => !others.has(inode));
  if (connection)
    throw new Problem(
      'killswitch-failed',
      message('The program was not started: it would get a connection that was opened outside the tunnel.'),
      { hint: `Close it first: file descriptor ${connection.fd}` },
    );
}

/** Returns the inodes of the Unix sockets in a list of the kernel (proc_net(5)). */
function unixSockets(path: string): string[] {
  const lines = readText(path)?.split('\n') ?? [];
  return lines.flatMap(line => line.split(/\s+/)[6] ?? []);
}

/** Returns the target of a link; empty if the program has just closed the file. */
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
 * Proves with one packet that the rules know this process; they refuse every link but the tunnel's. Then tries a packet on each
 * link, to find a link that the rules leave open. A link that can't send such a packet proves nothing.
 * @throws Problem killswitch-failed unless packets outside the tunnel are refused here, and packets in the tunnel are not
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
    // WARP refuses sources in its tunnel other than the address that it assigned
    if (internal || (isTunnel && address.startsWith('fe80:'))) continue;
    const outcome =
      family === 'IPv4'
        ? await sent('udp4', { to: ALL_HOSTS, by: address })
        : await sent('udp6', { to: `${THIS_NODE}%${name}`, by: `::%${name}`, from: isTunnel ? address : undefined });
    if (!isTunnel && outcome === 'sent') throw fail(`A packet could leave by ${name}.`);
    if (isTunnel && outcome === 'refused') throw fail(`A packet could not leave by ${name}.`);
  }
}

/**
 * Sends a packet that reaches no host.
 * @param by address of the link to use
 * @param from source address; the kernel chooses one by default
 */
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
        return end('impossible'); // the link has just disappeared
      }
      socket.send('', PROBE.port, to, error => {
        const { code } = (error ?? {}) as NodeJS.ErrnoException;
        end(code === 'EPERM' ? 'refused' : error ? 'impossible' : 'sent');
      });
    });
  });
}

const ANY_NAME = N_('Names are looked up by %s, which is not kept in the tunnel.');
const LOCAL_NAMES = N_('Names that end in .local are looked up by %s, which is not kept in the tunnel.');

/** Resolvers, each with its module of nsswitch.conf; the C library asks nscd before any module. */
const RESOLVERS = [
  { name: 'nscd', module: null, socket: '/run/nscd/socket', says: ANY_NAME },
  { name: 'systemd-resolved', module: /^resolve$/, socket: '/run/systemd/resolve/io.systemd.Resolve', says: ANY_NAME },
  { name: 'SSSD', module: /^sss$/, socket: '/var/lib/sss/pipes/nss', says: ANY_NAME },
  { name: 'Avahi', module: /^mdns[46]?(_minimal)?$/, socket: '/run/avahi-daemon/socket', says: LOCAL_NAMES },
];

/** Limit in modes in which WARP leaves names to other resolvers, which a kept program can't reach on this machine. */
const NO_NAMES = N_(
  'WARP looks up no names now, as in the mode tunnel_only. Only name servers that the tunnel reaches can be asked.',
);
/** WARP's listener on 127.0.2.2, port 53, in either byte order of the machine. */
const WARP_LISTENS = /^\s*\d+: (?:0202007F|7F000202):0035 /m;

/** Returns a sentence about each limit of name lookups here. @param root root directory of the system */
export function limitsOfNames(root = ''): Message[] {
  return [...(isWithoutNames(root) ? [message(NO_NAMES)] : []), ...resolversElsewhere(root)];
}

function isWithoutNames(root: string): boolean {
  const devices = readText(`${root}/proc/net/dev`)?.split('\n') ?? [];
  const isUp = devices.some(line => TUNNEL_INTERFACES.includes(line.split(':')[0]!.trim()));
  return isUp && !WARP_LISTENS.test(readText(`${root}/proc/net/udp`) ?? '');
}

/** Returns a sentence about each running resolver. */
function resolversElsewhere(root: string): Message[] {
  const modules = modulesOf(`${root}/etc/nsswitch.conf`);
  return RESOLVERS.filter(
    ({ module, socket }) =>
      existsSync(`${root}${socket}`) && (module === null || modules.some(name => module.test(name))),
  ).map(({ name, says }) => message(says, name));
}

/** Returns the modules that look up the names of hosts; none without the file. */
function modulesOf(path: string): string[] {
  const [, hosts = ''] = /^\s*hosts:([^#\n]*)/m.exec(readText(path) ?? '') ?? [];
  return hosts.trim().split(/\s+/);
}
