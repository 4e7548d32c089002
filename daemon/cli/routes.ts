// Pure: what a split-tunnel entry is (address, range or host), when two are the same, and lists of them as text.
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { ActionName, SplitTunnel } from '../api/schema.ts';

export type EntryKind = 'ip' | 'range' | 'host';
export interface Entry {
  kind: EntryKind;
  /**
   * Canonical, so that equal entries have equal values: IPv6 as RFC 5952 has it, a range as its network address, a
   * range of one address as that address, a host in lower-case ASCII.
   */
  value: string;
}

export const ADD = { ip: 'addSplitIp', range: 'addSplitRange', host: 'addSplitHost' } as const satisfies Record<
  EntryKind,
  ActionName
>;
export const REMOVE = {
  ip: 'removeSplitIp',
  range: 'removeSplitRange',
  host: 'removeSplitHost',
} as const satisfies Record<EntryKind, ActionName>;

/** An entry from a word, or a sentence that says why it is none. */
export function parseEntry(word: string): Entry | string {
  if (word.includes('%')) return `"${word}" has a zone, which no route can have`;
  if (isIP(word)) return { kind: 'ip', value: canonicalIp(word) };
  if (word.includes('/')) return parseRange(word);
  if (/^[\d.]+$/.test(word)) return `"${word}" is not an IPv4 address; it has four numbers from 0 to 255`;
  if (word.includes(':')) {
    return /^[\da-f:.]+$/i.test(word)
      ? `"${word}" is not an IPv6 address`
      : `"${word}" is not a host name; give it without scheme and port`;
  }
  return parseHost(word);
}

/** The canonical values of everything in the split tunnel; what can't be read counts as it is printed. */
export function valuesOf({ ips, hosts }: SplitTunnel): Set<string> {
  return new Set(
    [...ips, ...hosts].map(({ value }) => {
      const entry = parseEntry(value);
      return typeof entry === 'string' ? value : entry.value;
    }),
  );
}

export interface Line {
  /** Counted from 1. */
  number: number;
  text: string;
  /** A sentence where the line holds no entry. */
  entry: Entry | string;
}

/** The lines of a list that are neither empty nor a comment; `#` begins a comment. */
export function parseList(text: string): Line[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((line, i) => ({ number: i + 1, text: line.replace(/#.*$/s, '').trim() }))
    .filter(({ text }) => text !== '')
    .map(line => ({ ...line, entry: parseEntry(line.text) }));
}

/** A list that `parseList` reads back; descriptions become comments. */
export function formatList({ mode, ips, hosts }: SplitTunnel): string {
  const lines = [...ips, ...hosts].map(({ value, description }) =>
    description ? `${value}  # ${description.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ')}` : value,
  );
  return [`# Split tunnel of Culvert, mode ${mode ?? 'unknown'}`, ...lines, ''].join('\n');
}

function parseRange(word: string): Entry | string {
  const [address, bits, ...more] = word.split('/') as [string, string, ...string[]];
  const family = isIP(address);
  if (!family || more.length) return `"${word}" is not a range such as 10.0.0.0/8 or fd00::/8`;
  const size = family === 4 ? 32 : 128;
  if (!/^(0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > size)
    return `"${word}" has a prefix length outside 0 to ${size}`;
  // the tunnel CLI lists an address that was added as a range of one
  if (Number(bits) === size) return { kind: 'ip', value: canonicalIp(address) };
  return { kind: 'range', value: `${networkAddress(address, family, Number(bits))}/${bits}` };
}

function parseHost(word: string): Entry | string {
  const [, wildcard = '', name = ''] = /^(\*\.)?(.*?)\.?$/s.exec(word)!;
  const ascii = domainToASCII(name);
  const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
  if (ascii === '' || ascii.length > 253 || isIP(ascii) || !ascii.split('.').every(part => label.test(part))) {
    return `"${word}" is neither an address, nor a range, nor a host name`;
  }
  return { kind: 'host', value: wildcard + ascii };
}

function canonicalIp(address: string): string {
  if (isIP(address) === 4) return address;
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** The address with the bits beyond the prefix cleared: 10.1.2.3/8 is the range of 10.0.0.0. */
function networkAddress(address: string, family: number, bits: number): string {
  const [width, count, base] = family === 4 ? [8, 4, 10] : [16, 8, 16];
  const groups = family === 4 ? address.split('.') : expand(canonicalIp(address));
  const masked = Array.from({ length: count }, (_, i) => {
    const kept = Math.min(width, Math.max(0, bits - i * width));
    return (Number.parseInt(groups[i]!, base) & (((1 << kept) - 1) << (width - kept))).toString(base);
  });
  return family === 4 ? masked.join('.') : canonicalIp(masked.join(':'));
}

function expand(canonical: string): string[] {
  const [head = '', tail] = canonical.split('::');
  const left = head ? head.split(':') : [];
  if (tail === undefined) return left;
  const right = tail ? tail.split(':') : [];
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
}
