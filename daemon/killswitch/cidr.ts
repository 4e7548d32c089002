// Pure: which address ranges may be an exception to the block, in one canonical spelling.

export interface Cidr {
  family: 4 | 6;
  /** Network address and prefix length: `162.159.193.0/24`, `2606:4700:100::/48`. */
  text: string;
  /** The prefix, one character for each bit. */
  bits: string;
}

/** Wider exceptions would be holes rather than endpoints. */
const WIDEST = { 4: 16, 6: 32 } as const;

/** Never an endpoint of a tunnel: IANA's special-purpose registries, and whatever is not global unicast. */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '2001::/32',
  '2002::/16',
].map(text => bitsOf(text)!);

/**
 * An address, or a range in CIDR notation, that may be an exception.
 * @returns a sentence that says why it may not.
 */
export function parseCidr(word: string): Cidr | string {
  const read = bitsOf(word);
  if (!read) return `"${printable(word)}" is neither an IP address nor a range such as 162.159.193.0/24`;
  const { family, bits } = read;
  if (bits.length < WIDEST[family])
    return `${word} is wider than /${WIDEST[family]}, the widest exception there may be for IPv${family}`;
  if (NOT_PUBLIC.some(other => overlap(read, other)) || (family === 6 && !bits.startsWith('001')))
    return `${word} is not on the internet: local, private, multicast and reserved ranges are no endpoints`;
  return { family, text: format(family, bits), bits };
}

interface Range {
  family: 4 | 6;
  /** The prefix, one character for each bit. */
  bits: string;
}

function overlap(a: Range, b: Range): boolean {
  return a.family === b.family && (a.bits.startsWith(b.bits) || b.bits.startsWith(a.bits));
}

function bitsOf(word: string): Range | null {
  const match = /^([\da-fA-F:.]{2,45})(?:\/(\d{1,3}))?$/.exec(word);
  if (!match) return null;
  const [, address = '', length] = match;
  const family = address.includes(':') ? 6 : 4;
  const bits = family === 4 ? ipv4(address) : ipv6(address);
  const kept = length === undefined ? bits?.length : Number(length);
  if (bits === null || kept === undefined || kept > bits.length || (length !== undefined && String(kept) !== length))
    return null;
  return { family, bits: bits.slice(0, kept) };
}

function ipv4(address: string): string | null {
  const bytes = address.split('.');
  if (bytes.length !== 4 || !bytes.every(byte => /^(0|[1-9]\d{0,2})$/.test(byte) && Number(byte) < 256)) return null;
  return bytes.map(byte => Number(byte).toString(2).padStart(8, '0')).join('');
}

function ipv6(address: string): string | null {
  const halves = address.split('::');
  if (halves.length > 2) return null;
  const [left, right] = halves.map(half => (half === '' ? [] : half.split(':')));
  const missing = 8 - left!.length - (right?.length ?? 0);
  if (right ? missing < 1 : missing !== 0) return null;
  const groups = [...left!, ...Array<string>(missing).fill('0'), ...(right ?? [])];
  if (!groups.every(group => /^[\da-fA-F]{1,4}$/.test(group))) return null; // the dotted form of the last 32 bits too
  return groups.map(group => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
}

function format(family: 4 | 6, bits: string): string {
  const [size, width, radix] = family === 4 ? [32, 8, 10] : [128, 16, 16];
  const padded = bits.padEnd(size, '0');
  const groups = Array.from({ length: size / width }, (_, i) =>
    Number.parseInt(padded.slice(i * width, (i + 1) * width), 2).toString(radix),
  );
  const address = family === 4 ? groups.join('.') : shorten(groups);
  return bits.length === size ? address : `${address}/${bits.length}`;
}

/** RFC 5952: the first longest run of at least two zero groups becomes `::`. */
function shorten(groups: string[]): string {
  const runs = [...groups.join(':').matchAll(/(?<=^|:)0(?::0)+(?=:|$)/g)];
  const longest = runs.reduce<RegExpMatchArray | null>(
    (best, run) => (run[0].length > (best?.[0].length ?? 0) ? run : best),
    null,
  );
  const text = groups.join(':');
  if (!longest) return text;
  const end = longest.index! + longest[0].length;
  return `${text.slice(0, longest.index).replace(/:$/, '')}::${text.slice(end).replace(/^:/, '')}`;
}

function printable(word: string): string {
  return word.slice(0, 60).replace(/[^\x20-\x7e]/g, '?');
}
