// Reads this machine's networks for warnings and presets, from /proc and configuration files, without privileges or processes.
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { RoutesPresets } from '../api/routes.ts';
import { namesIn, readText } from '../core/files.ts';
import { parseJson } from '../core/shape.ts';
import type { Surroundings } from './preview.ts';
import { formatAddress, parseRange, prefixes } from './ranges.ts';

/**
 * @param env SSH_CONNECTION of an SSH session: client address and port, server address and port (ssh(1)).
 * @param root the directory that contains `proc` and `etc`.
 */
export function readSurroundings(
  env: NodeJS.ProcessEnv,
  { endpoints, clientMode, connected }: Pick<Surroundings, 'endpoints' | 'clientMode' | 'connected'>,
  root = '',
): Surroundings {
  return {
    sshPeer: env.SSH_CONNECTION?.split(' ')[0] || null,
    gateways: [
      ...gateways4(readText(`${root}/proc/net/route`) ?? ''),
      ...gateways6(readText(`${root}/proc/net/ipv6_route`) ?? ''),
    ],
    resolvers: resolvers(readText(`${root}/etc/resolv.conf`) ?? ''),
    printers: ['tcp', 'tcp6'].flatMap(table => printers(readText(`${root}/proc/net/${table}`) ?? '')),
    endpoints: endpoints.map(withoutPort),
    clientMode,
    connected,
  };
}

/** Ports of printers: LPD, IPP and JetDirect (IANA's registry of service names). */
const PRINTER_PORTS = new Set([515, 631, 9100]);
const ESTABLISHED = '01';

/** Returns the printers of a connection table, /proc/net/tcp or tcp6. A printer of this machine would be CUPS. */
function printers(text: string): string[] {
  return connections(text).flatMap(({ remote }) => (PRINTER_PORTS.has(remote.port) ? [remote.address] : []));
}

interface End {
  address: string;
  port: number;
}

/** Returns the open connections to other machines. */
function connections(table: string): { local: End; remote: End }[] {
  return table.split('\n').flatMap(line => {
    const [, ...ends] = line.trim().split(/\s+/, 4);
    const [local, remote] = ends.slice(0, 2).map(endOf);
    if (!local || !remote || ends[2] !== ESTABLISHED || /^127\.|^::1$/.test(remote.address)) return [];
    return [{ local, remote }];
  });
}

/** Reads an end of a connection. Each four bytes are in the machine's byte order (proc(5)). */
function endOf(text: string): End | null {
  const [, hex, port] = /^((?:[\dA-F]{8}|[\dA-F]{32})):([\dA-F]{4})$/i.exec(text) ?? [];
  if (!hex) return null;
  const bytes = hex.match(/.{8}/g)!.flatMap(word => [...Buffer.from(word, 'hex').reverse()]);
  const isMapped = bytes.length === 16 && Buffer.from(bytes.slice(0, 12)).toString('hex') === IPV4_MAPPED;
  const own = isMapped ? bytes.slice(12) : bytes;
  const address = own.length === 4 ? own.join('.') : formatAddress(6, BigInt(`0x${Buffer.from(own).toString('hex')}`));
  return { address, port: Number.parseInt(port!, 16) };
}
/** ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
const IPV4_MAPPED = '00000000000000000000ffff';

/** Returns the gateways of IPv4 default routes. /proc/net/route has addresses in hexadecimal, in the machine's byte order. */
function gateways4(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [, destination, gateway] = line.split(/\s+/);
    if (destination !== '00000000' || !/^[\da-f]{8}$/i.test(gateway ?? '') || gateway === '00000000') return [];
    return [Buffer.from(gateway!, 'hex').reverse().join('.')];
  });
}

/** Returns the gateways of IPv6 default routes. Columns: destination, prefix length, source, prefix length, next hop … */
function gateways6(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [destination = '', prefix, , , gateway = ''] = line.split(/\s+/);
    if (!/^0{32}$/.test(destination) || prefix !== '00' || !/^[\da-f]{32}$/.test(gateway) || /^0+$/.test(gateway))
      return [];
    return [formatAddress(6, BigInt(`0x${gateway}`))];
  });
}

/** Returns the name servers of resolv.conf(5), except servers on this machine, which need no route. */
function resolvers(text: string): string[] {
  return [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)]
    .map(([, address]) => address!)
    .filter(address => !/^127\.|^::1$/.test(address));
}

/** Removes the port from `162.159.198.2:443` or `[2606:4700:103::2]:443`. */
function withoutPort(endpoint: string): string {
  return endpoint.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}

type Preset = RoutesPresets['presets'][number];
type Found = Preset['entries'][number];

/** Device names of container, virtual machine and Tailscale networks. */
const DEVICES: readonly [Preset['id'], RegExp][] = [
  ['docker', /^(docker\d+|docker_gwbridge|br-[\da-f]{12})$/],
  ['podman', /^(podman\d+|cni-podman\d+)$/],
  ['libvirt', /^virbr\d+$/],
  ['kubernetes', /^(cni0|flannel\.\d+|cilium_\w+|cali\w+|kube-bridge|vxlan\.calico|tunl\d+|weave)$/],
  ['tailscale', /^tailscale\d+$/],
];
/** Devices without a local network, such as tunnels; `*` is a route without a device, such as a blackhole. */
const NOT_LAN = /^(\*|lo|CloudflareWARP|tun\d*|tap\d*|wg\d*|veth\w+|ppp\d+|nebula\d*|zt\w+)$/;
/** Tailscale's addresses (tailscale.com/kb/1015/100.x-addresses, kb/1033/ip-and-dns-addresses). */
export const TAILSCALE = ['100.64.0.0/10', 'fd7a:115c:a1e0::/48'];

/** @param root the directory that contains `proc` and `etc` */
export function readPresets(root = ''): Preset[] {
  const networks = [
    ...networks4(readText(`${root}/proc/net/route`) ?? ''),
    ...networks6(readText(`${root}/proc/net/ipv6_route`) ?? ''),
  ];
  const presetOf = (device: string) => DEVICES.find(([, name]) => name.test(device))?.[0] ?? null;
  const of = (id: Preset['id']) => networks.filter(({ source }) => presetOf(source) === id);
  const present = of('tailscale').length > 0 || readText(`${root}/proc/net/dev`)?.includes('tailscale0:');
  return [
    { id: 'lan', entries: unique(networks.filter(({ source }) => !presetOf(source) && !NOT_LAN.test(source))) },
    { id: 'docker', entries: unique([...of('docker'), ...dockerPools(root)]) },
    { id: 'podman', entries: unique([...of('podman'), ...subnetsIn(join(root, '/etc/containers/networks'))]) },
    { id: 'libvirt', entries: unique(of('libvirt')) },
    { id: 'kubernetes', entries: unique([...of('kubernetes'), ...subnetsIn(join(root, '/etc/cni/net.d'))]) },
    { id: 'tailscale', entries: present ? TAILSCALE.map(value => ({ value, source: 'tailscale0' })) : [] },
    { id: 'ssh', entries: sshPeers(root).flatMap(address => entry(address, 'sshd')) },
  ];
}

const SSH_PORT = 22;
const SSHD_CONFIG = '/etc/ssh/sshd_config';

/** Returns the open SSH sessions: the address of the other machine, and the address of this one. */
export function sshSessions(root = ''): { peer: string; local: string }[] {
  const ports = sshPorts(root);
  const tables = ['tcp', 'tcp6'].map(table => readText(`${root}/proc/net/${table}`) ?? '');
  const own = tables.flatMap(connections).filter(({ local }) => ports.has(local.port));
  return own.map(({ local, remote }) => ({ peer: remote.address, local: local.address }));
}

/** Addresses of other devices in the tunnel (vendor documentation, WARP-to-WARP), and link-local addresses. */
const NEVER_EXCLUDED = /^100\.(9[6-9]|10\d|11[01])\.|^fe[89ab][\da-f]:/;

/** Returns the addresses that the preset excludes. */
function sshPeers(root: string): string[] {
  const peers = sshSessions(root).map(({ peer }) => peer);
  return [...new Set(peers)].filter(address => !NEVER_EXCLUDED.test(address));
}

/** Returns the ports of the SSH server: the usual one, and `Port` in sshd_config(5) where this user may read it. */
export function sshPorts(root = ''): Set<number> {
  const drops = `${SSHD_CONFIG}.d`;
  const files = [SSHD_CONFIG, ...namesIn(`${root}${drops}`).map(name => `${drops}/${name}`)];
  const texts = files.map(file => readText(`${root}${file}`) ?? '').join('\n');
  const named = [...texts.matchAll(/^[ \t]*Port[ \t=]+(\d{1,5})/gim)].map(([, port]) => Number(port));
  return new Set([SSH_PORT, ...named]);
}

/** Reads networks without a gateway from /proc/net/route. Numbers are hexadecimal, in the machine's byte order. */
function networks4(text: string): Found[] {
  return text.split('\n').flatMap(line => {
    const [source = '', destination = '', gateway = '', , , , , mask = ''] = line.split(/\s+/);
    if (gateway !== '00000000' || !/^[\da-f]{8}$/i.test(destination) || !/^[\da-f]{8}$/i.test(mask)) return [];
    const bits = Buffer.from(mask, 'hex').reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0);
    if (bits === 0) return [];
    return entry(`${Buffer.from(destination, 'hex').reverse().join('.')}/${bits}`, source);
  });
}

/** Reads /proc/net/ipv6_route. Columns: destination, prefix length, …, next hop, four numbers, device. */
function networks6(text: string): Found[] {
  return text.split('\n').flatMap(line => {
    const [destination = '', prefix = '', , , gateway = '', , , , , source = ''] = line.trim().split(/\s+/);
    const bits = Number.parseInt(prefix, 16);
    // single addresses, multicast and link-local networks (fe80::/64) are not networks of this machine
    if (!/^[\da-f]{32}$/.test(destination) || !/^0+$/.test(gateway) || bits === 0 || bits > 126) return [];
    if (/^(ff|fe[89ab])/.test(destination)) return [];
    return entry(`${formatAddress(6, BigInt(`0x${destination}`))}/${bits}`, source);
  });
}

/** Returns Docker's address pools for networks (dockerd(8), `default-address-pools` and `bip`). */
function dockerPools(root: string): Found[] {
  const config = z.safeParse(DockerDaemon, parseJson(readText(`${root}/etc/docker/daemon.json`)));
  if (!config.success) return [];
  const { bip, 'default-address-pools': pools = [] } = config.data;
  return [...(bip ? [bip] : []), ...pools.map(({ base }) => base)].flatMap(value => entry(value, 'daemon.json'));
}
const DockerDaemon = z.object({
  bip: z.optional(z.string()),
  'default-address-pools': z.optional(z.array(z.object({ base: z.string() }))),
});

/** Returns every value of a key `subnet` or `cidr` in a directory's JSON files, for networks of podman and CNI. */
function subnetsIn(directory: string): Found[] {
  const names = namesIn(directory).filter(name => /\.(json|conf|conflist)$/.test(name));
  return names.flatMap(name => {
    const ranges: Found[] = [];
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inner] of Object.entries(value))
        if ((key === 'subnet' || key === 'cidr') && typeof inner === 'string') ranges.push(...entry(inner, name));
        else walk(inner);
    };
    walk(parseJson(readText(join(directory, name))));
    return ranges;
  });
}

function entry(text: string, source: string): Found[] {
  const range = parseRange(text);
  return typeof range === 'string' ? [] : prefixes(range).map(value => ({ value, source }));
}

function unique(ranges: readonly Found[]): Found[] {
  return [...new Map(ranges.map(each => [each.value, each])).values()];
}
