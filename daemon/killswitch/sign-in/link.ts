// Pure: the physical link that leads to the internet, from the kernel's tables, and the addresses of its name servers.
import ipaddr from 'ipaddr.js';

export interface Link {
  device: string;
  /** Number of the interface; another one of the same name has another number. */
  index: string;
  /** IPv4 address. */
  gateway: string;
  /** Hardware address of the gateway; null if it was not asked for lately. */
  hardware: string | null;
}

/** RTF_UP | RTF_GATEWAY (linux/route.h). */
const UP_TO_GATEWAY = 3;
/** A network names two or three. */
const MAX_SERVERS = 3;

/**
 * The default route with the lowest metric.
 * @param routes text of /proc/net/route
 * @param isPhysical whether a device is one by which a login page can be reached
 */
export function defaultRoute(
  routes: string,
  isPhysical: (device: string) => boolean,
): { device: string; gateway: string } | null {
  const best = routes
    .split('\n')
    .map(row => row.split(/\s+/))
    .filter(([device, destination, , flags, , , , mask]) => {
      const isDefault = destination === '00000000' && mask === '00000000';
      return isDefault && (Number.parseInt(flags!, 16) & UP_TO_GATEWAY) === UP_TO_GATEWAY && isPhysical(device!);
    })
    .sort((a, b) => Number(a[6]) - Number(b[6]))[0];
  return best ? { device: best[0]!, gateway: addressOf(best[2]!) } : null;
}

/** True for a way to the internet over IPv6. @param routes text of /proc/net/ipv6_route */
export function hasIpv6Route(routes: string, isPhysical: (device: string) => boolean): boolean {
  return routes.split('\n').some(row => {
    const [destination, length, , , , , , , flags = '', device = ''] = row.trim().split(/\s+/);
    const isDefault = /^0{32}$/.test(destination!) && length === '00';
    return isDefault && (Number.parseInt(flags, 16) & UP_TO_GATEWAY) === UP_TO_GATEWAY && isPhysical(device);
  });
}

/** A word of the kernel's, least significant byte first: `0102A8C0` is 192.168.2.1. */
function addressOf(word: string): string {
  return (word.match(/../g) ?? [])
    .map(byte => Number.parseInt(byte, 16))
    .reverse()
    .join('.');
}

/** The hardware address of a neighbor; null if it is not known. @param table text of /proc/net/arp */
export function hardwareOf(table: string, { device, gateway }: { device: string; gateway: string }): string | null {
  const row = table.split('\n').find(line => {
    const fields = line.split(/\s+/);
    return fields[0] === gateway && fields[5] === device;
  });
  const hardware = row?.split(/\s+/)[3] ?? null;
  return hardware === '00:00:00:00:00:00' ? null : hardware;
}

/** True where the link has gone, or leads to another network. */
export function hasChanged(before: Link, now: Link | null): boolean {
  if (now === null || now.device !== before.device || now.index !== before.index || now.gateway !== before.gateway)
    return true;
  return before.hardware !== null && now.hardware !== null && before.hardware !== now.hardware;
}

/** Name servers outside this machine, in words of a network service. @param words anything */
export function serversIn(words: readonly string[]): string[] {
  const addresses = words.filter(word => {
    if (!ipaddr.IPv4.isValidFourPartDecimal(word)) return false;
    return ['unicast', 'private', 'carrierGradeNat', 'reserved'].includes(ipaddr.IPv4.parse(word).range());
  });
  return [...new Set(addresses)].slice(0, MAX_SERVERS);
}
