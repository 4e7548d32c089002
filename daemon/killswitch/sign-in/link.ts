// Finds the physical link to the internet in the kernel's tables, and formats questions to the link's name servers and parses
// their answers (RFC 1035). Pure.
import ipaddr from 'ipaddr.js';

export interface Link {
  device: string;
  /** Number of the interface. A later interface with the same name has a different number. */
  index: string;
  /** IPv4 address. */
  gateway: string;
  /** Hardware address of the gateway; null if the kernel does not know it. */
  hardware: string | null;
}

/** Flags RTF_UP and RTF_GATEWAY (linux/route.h). */
const UP_TO_GATEWAY = 3;
/** Maximum number of name servers: a network names two or three. */
const MAX_SERVERS = 3;

/**
 * Returns the default route with the lowest metric.
 * @param routes text of /proc/net/route
 * @param isPhysical returns true for a device that can lead to a login page
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

/** True if a physical device has a default route for IPv6. @param routes text of /proc/net/ipv6_route */
export function hasIpv6Route(routes: string, isPhysical: (device: string) => boolean): boolean {
  return routes.split('\n').some(row => {
    const [destination, length, , , , , , , flags = '', device = ''] = row.trim().split(/\s+/);
    const isDefault = /^0{32}$/.test(destination!) && length === '00';
    return isDefault && (Number.parseInt(flags, 16) & UP_TO_GATEWAY) === UP_TO_GATEWAY && isPhysical(device);
  });
}

/** Parses an address word of the kernel, least significant byte first: `0102A8C0` is 192.168.2.1. */
function addressOf(word: string): string {
  return (word.match(/../g) ?? [])
    .map(byte => Number.parseInt(byte, 16))
    .reverse()
    .join('.');
}

/** Returns the hardware address of a neighbor; null if it is not known. @param table text of /proc/net/arp */
export function hardwareOf(table: string, { device, gateway }: { device: string; gateway: string }): string | null {
  const row = table.split('\n').find(line => {
    const fields = line.split(/\s+/);
    return fields[0] === gateway && fields[5] === device;
  });
  const hardware = row?.split(/\s+/)[3] ?? null;
  return hardware === '00:00:00:00:00:00' ? null : hardware;
}

/** True if the link is gone, or leads to another network. */
export function hasChanged(before: Link, now: Link | null): boolean {
  if (now === null || now.device !== before.device || now.index !== before.index || now.gateway !== before.gateway)
    return true;
  return before.hardware !== null && now.hardware !== null && before.hardware !== now.hardware;
}

/** Returns addresses that can be name servers outside this machine. @param words any words from a network service */
export function serversIn(words: readonly string[]): string[] {
  const addresses = words.filter(word => {
    if (!ipaddr.IPv4.isValidFourPartDecimal(word)) return false;
    return ['unicast', 'private', 'carrierGradeNat', 'reserved'].includes(ipaddr.IPv4.parse(word).range());
  });
  return [...new Set(addresses)].slice(0, MAX_SERVERS);
}

const HEADER_BYTES = 12;
const [TYPE_A, CLASS_IN] = [1, 1];
/** The QR flag, and the mask of RCODE. */
const [IS_ANSWER, CODE] = [0x8000, 0x000f];
const RECURSION_WANTED = 0x0100;

/** True for a name that a DNS question can contain. */
export function isName(name: string): boolean {
  return name.length <= 253 && /^(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?$/.test(name);
}

/** Formats a question for the IPv4 addresses of a name. @param id number that the answer repeats */
export function formatQuestion(id: number, name: string): Uint8Array {
  const labels = name.replace(/\.$/, '').split('.');
  const bytes = [id >> 8, id & 255, RECURSION_WANTED >> 8, 0, 0, 1, 0, 0, 0, 0, 0, 0];
  for (const label of labels) bytes.push(label.length, ...[...label].map(letter => letter.charCodeAt(0)));
  bytes.push(0, 0, TYPE_A, 0, CLASS_IN);
  return Uint8Array.from(bytes);
}

/**
 * Parses an answer.
 * @returns the addresses, or an empty list if the server reports an error, such as an unknown name; null for anything but the
 *   answer to this question
 */
export function parseAnswer(bytes: Uint8Array, question: Uint8Array): string[] | null {
  if (bytes.length < question.length) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint16(2);
  if (view.getUint16(0) !== ((question[0]! << 8) | question[1]!) || !(flags & IS_ANSWER)) return null;
  if (view.getUint16(4) !== 1 || !isSame(bytes, question)) return null;
  if ((flags & CODE) !== 0) return [];
  const addresses: string[] = [];
  let at = question.length;
  try {
    for (let left = view.getUint16(6); left > 0; left--) {
      at = endOfName(view, at);
      const length = view.getUint16(at + 8);
      if (view.getUint16(at) === TYPE_A && view.getUint16(at + 2) === CLASS_IN && length === 4)
        addresses.push([0, 1, 2, 3].map(i => view.getUint8(at + 10 + i)).join('.'));
      at += 10 + length;
    }
  } catch {
    // the answer was cut off
  }
  return addresses;
}

/** True if the answer repeats the question. Ignores the case of letters, which a server may change. */
function isSame(bytes: Uint8Array, question: Uint8Array): boolean {
  const lower = (byte: number) => (byte >= 65 && byte <= 90 ? byte + 32 : byte);
  return question.every((byte, i) => i < HEADER_BYTES || lower(byte) === lower(bytes[i]!));
}

/** @throws RangeError if the bytes end too early */
function endOfName(view: DataView, start: number): number {
  for (let at = start; ; ) {
    const length = view.getUint8(at);
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2; // a pointer to the rest of the name
    at += length + 1;
  }
}
