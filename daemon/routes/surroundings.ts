// Reads what this machine is connected to, for warnings about a change of routes: from files, without rights or processes.

import { readText } from '../system/files.ts';
import type { Surroundings } from './preview.ts';
import { formatAddress } from './ranges.ts';

/**
 * @param env SSH_CONNECTION of an SSH session: client address and port, server address and port (ssh(1)).
 * @param root where `/proc` and `/etc` are looked for.
 */
export function readSurroundings(
  env: NodeJS.ProcessEnv,
  { endpoints, clientMode }: Pick<Surroundings, 'endpoints' | 'clientMode'>,
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
  };
}

/** Ports of printers: LPD, IPP and JetDirect (IANA's registry of service names). */
const PRINTER_PORTS = new Set([515, 631, 9100]);
const ESTABLISHED = '01';

/** Printers with an open connection, of /proc/net/tcp and tcp6: each group of four bytes is in the machine's byte order. */
function printers(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [, , remote = '', state] = line.trim().split(/\s+/);
    const [, hex, port] = /^((?:[\dA-F]{8}|[\dA-F]{32})):([\dA-F]{4})$/i.exec(remote) ?? [];
    if (!hex || state !== ESTABLISHED || !PRINTER_PORTS.has(Number.parseInt(port!, 16))) return [];
    const bytes = hex.match(/.{8}/g)!.flatMap(word => [...Buffer.from(word, 'hex').reverse()]);
    const isMapped = bytes.length === 16 && Buffer.from(bytes.slice(0, 12)).toString('hex') === IPV4_MAPPED;
    const own = isMapped ? bytes.slice(12) : bytes;
    const address =
      own.length === 4 ? own.join('.') : formatAddress(6, BigInt(`0x${Buffer.from(own).toString('hex')}`));
    return /^127\.|^::1$/.test(address) ? [] : [address]; // CUPS on this machine
  });
}
/** ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
const IPV4_MAPPED = '00000000000000000000ffff';

/** Gateways of IPv4 default routes. In /proc/net/route an address is the hexadecimal number in the machine's byte order. */
function gateways4(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [, destination, gateway] = line.split(/\s+/);
    if (destination !== '00000000' || !/^[\da-f]{8}$/i.test(gateway ?? '') || gateway === '00000000') return [];
    return [Buffer.from(gateway!, 'hex').reverse().join('.')];
  });
}

/** Gateways of IPv6 default routes: destination, its prefix length, source, its prefix length, next hop … */
function gateways6(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [destination = '', prefix, , , gateway = ''] = line.split(/\s+/);
    if (!/^0{32}$/.test(destination) || prefix !== '00' || !/^[\da-f]{32}$/.test(gateway) || /^0+$/.test(gateway))
      return [];
    return [formatAddress(6, BigInt(`0x${gateway}`))];
  });
}

/** Name servers of resolv.conf(5), those on this machine left out: they are reached by no route. */
function resolvers(text: string): string[] {
  return [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)]
    .map(([, address]) => address!)
    .filter(address => !/^127\.|^::1$/.test(address));
}

/** `162.159.198.2:443` and `[2606:4700:103::2]:443` without the port. */
function withoutPort(endpoint: string): string {
  return endpoint.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}
