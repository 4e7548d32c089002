// Computes unions and differences of IP address sets, and the fewest CIDR prefixes that cover a range exactly.
import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Message } from '../api/values.ts';
import { message } from '../view/message.ts';
import { N_ } from '../view/translator.ts';

type Family = 4 | 6;

/** The addresses from `first` to `last`, both included, as integers. */
export interface Range {
  family: Family;
  first: bigint;
  last: bigint;
  /** Length in bits, if the range was written as a prefix or an address. */
  prefix?: number;
}

const MAPPED = N_('"%s" is an IPv4 address written as IPv6. Write %s');

const BITS = { 4: 32n, 6: 128n } as const;

/**
 * Reads an address (`10.0.0.1`), a prefix (`10.0.0.0/8`, bits beyond the prefix are cleared), or the two ends of a range
 * (`10.0.0.1-10.0.0.9`).
 * @returns the range, or a catalog sentence about the error; `faultOf` fills in its values
 */
export function parseRange(text: string): Range | string {
  if (text.includes('-')) {
    const ends = text.split('-');
    return ends.length > 2 ? N_('"%s" has more than two ends') : between(ends[0]!.trim(), ends[1]!.trim());
  }
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  if (isIPv4(address) && /^([12]?\d|3[0-2])?$/.test(slash < 0 ? '' : text.slice(slash + 1) || ' '))
    return prefix4(octets(address), slash < 0 ? 32 : Number(text.slice(slash + 1)));
  const parsed = parseAddress(address);
  if (typeof parsed === 'string' || slash < 0) return parsed;
  const prefix = text.slice(slash + 1);
  const bits = BITS[parsed.family];
  if (!/^(0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > Number(bits))
    return bits === 32n
      ? N_('"%s" has a prefix length outside 0 to 32')
      : N_('"%s" has a prefix length outside 0 to 128');
  const hosts = (1n << (bits - BigInt(prefix))) - 1n;
  return { family: parsed.family, first: parsed.first & ~hosts, last: parsed.first | hosts, prefix: Number(prefix) };
}

/**
 * Returns a message about the fault of a text.
 * @param fault the sentence that `parseRange` returned
 * @param shown the text, shortened for people
 */
export function faultOf(text: string, fault: string, shown: string): Message {
  if (fault !== MAPPED) return message(fault, shown);
  const addresses = text.split(/[-/]/).map(part => mappedAddress(part.trim()));
  return message(fault, shown, addresses.find(address => address !== null) ?? text);
}

/** Returns the IPv4 address that an IPv6 address maps, or null. */
function mappedAddress(text: string): string | null {
  if (isIP(text) !== 6) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : null;
}

function between(from: string, to: string): Range | string {
  const [first, last] = [parseAddress(from), parseAddress(to)];
  if (typeof first === 'string') return first;
  if (typeof last === 'string') return last;
  if (first.family !== last.family) return N_('"%s" mixes IPv4 and IPv6');
  if (first.first > last.first) return N_('"%s" ends before it begins');
  return { family: first.family, first: first.first, last: last.first };
}

function parseAddress(text: string): Range | string {
  if (text.includes('%')) return N_('"%s" has a zone, which a route cannot have');
  // node:net, because ipaddr.js also accepts 10.1 and 0x0a000001, like inet_aton
  const family = isIP(text);
  if (family === 4) return single(4, BigInt(octets(text)));
  if (family === 0)
    return text.includes(':')
      ? N_('"%s" is not an IPv6 address')
      : N_('"%s" is not an IPv4 address: four numbers from 0 to 255');
  const address = ipaddr.IPv6.parse(text);
  if (address.isIPv4MappedAddress()) return MAPPED;
  return single(6, BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`));
}

/** Computes with numbers, which are several times faster than bigints. */
function prefix4(address: number, prefix: number): Range {
  const size = 2 ** (32 - prefix);
  const first = address - (address % size);
  return { family: 4, first: BigInt(first), last: BigInt(first + size - 1), prefix };
}

/** Returns an IPv4 address as a number. It allocates no arrays: a document has thousands of addresses. */
function octets(text: string): number {
  let [whole, part] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 46) [whole, part] = [whole * 256 + part, 0];
    else part = part * 10 + code - 48;
  }
  return whole * 256 + part;
}

function single(family: Family, value: bigint): Range {
  return { family, first: value, last: value, prefix: Number(BITS[family]) };
}

/** Merges overlapping and adjacent ranges. The result is sorted, with IPv4 first. */
export function union(ranges: readonly Range[]): Range[] {
  const merged: Range[] = [];
  for (const range of [...ranges].sort(byPosition)) {
    const before = merged.at(-1);
    if (before?.family === range.family && range.first <= before.last + 1n) {
      if (range.last > before.last) before.last = range.last;
    } else merged.push({ family: range.family, first: range.first, last: range.last });
  }
  return merged;
}

/** Returns the addresses in `ranges` but not in `without`, as the fewest ranges. */
export function difference(ranges: readonly Range[], without: readonly Range[]): Range[] {
  const holes = union(without);
  return union(ranges).flatMap(range => {
    const left: Range[] = [];
    let { first } = range;
    for (const hole of holes) {
      if (hole.family !== range.family || hole.last < first || hole.first > range.last) continue;
      if (hole.first > first) left.push({ ...range, first, last: hole.first - 1n });
      first = hole.last + 1n;
    }
    if (first <= range.last) left.push({ ...range, first });
    return left;
  });
}

/** Returns the fewest prefixes that cover a range exactly; a single address has no prefix length. */
export function prefixes({ family, first, last, prefix }: Range): string[] {
  const bits = BITS[family];
  if (prefix !== undefined)
    return [first === last ? formatAddress(family, first) : `${formatAddress(family, first)}/${prefix}`];
  const cidrs: string[] = [];
  let from = first;
  while (from <= last) {
    let host = 0n;
    // grow while the prefix stays aligned and inside
    while (host < bits && (from & ((2n << host) - 1n)) === 0n && from + (2n << host) - 1n <= last) host++;
    cidrs.push(host === 0n ? formatAddress(family, from) : `${formatAddress(family, from)}/${bits - host}`);
    from += 1n << host;
  }
  return cidrs;
}

/** True if `outer` contains every address of `inner`. */
export function contains(outer: Range, inner: Range): boolean {
  return outer.family === inner.family && outer.first <= inner.first && outer.last >= inner.last;
}

/** Formats an address in its canonical form (RFC 5952 for IPv6). */
export function formatAddress(family: Family, value: bigint): string {
  if (family === 4) {
    const number = Number(value);
    return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
  }
  return new ipaddr.IPv6([...Buffer.from(value.toString(16).padStart(32, '0'), 'hex')]).toRFC5952String();
}

export function byPosition(a: Range, b: Range): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  return a.last === b.last ? 0 : a.last > b.last ? -1 : 1; // the wider range first
}
