// Pure: which address ranges may be an exception to the block, in one canonical spelling.
import ipaddr from 'ipaddr.js';
import { printable } from '../../system/printable.ts';

export interface Cidr {
  family: 4 | 6;
  /** Network address and prefix length: `162.159.193.0/24`, `2606:4700:100::/48`. */
  text: string;
  network: ipaddr.IPv4 | ipaddr.IPv6;
  /** Bits of the prefix. */
  prefix: number;
}

/** Wider exceptions would be holes rather than endpoints. */
const WIDEST = { 4: 16, 6: 32 } as const;
const BITS = { 4: 32, 6: 128 } as const;
/** RFC 4291, 2.4: the addresses that IANA gives out. */
const GLOBAL_UNICAST = range('2000::/3')!;

/** Never an endpoint of a tunnel: what IANA's special-purpose registries keep from the internet, and documentation. */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map(text => range(text)!);

/**
 * Reads an address, or a range in CIDR notation, that may be an exception.
 * @returns a sentence that says why it may not
 */
export function parseCidr(word: string): Cidr | string {
  const cidr = range(word);
  if (!cidr) return `"${printable(word.slice(0, 60))}" is neither an IP address nor a range such as 162.159.193.0/24`;
  const { family, prefix } = cidr;
  if (prefix < WIDEST[family])
    return `${word} is wider than /${WIDEST[family]}, the widest exception allowed for IPv${family}`;
  const isPublic = family === 4 || contains(GLOBAL_UNICAST, cidr);
  if (!isPublic || NOT_PUBLIC.some(other => contains(other, cidr) || contains(cidr, other)))
    return `${word} is not on the internet: local, private, multicast and reserved ranges can't be endpoints`;
  return cidr;
}

/** True if one range lies within another. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  return (
    outer.family === inner.family && outer.prefix <= inner.prefix && inner.network.match(outer.network, outer.prefix)
  );
}

function range(word: string): Cidr | null {
  const [, address = '', length] = /^([\da-fA-F:.]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/.exec(word) ?? [];
  const family = address.includes(':') ? 6 : 4;
  // the library also knows shorter and octal IPv4, and IPv4 in the last bits of IPv6, which nft would not take
  if (
    family === 4 ? !ipaddr.IPv4.isValidFourPartDecimal(address) : address.includes('.') || !ipaddr.IPv6.isValid(address)
  )
    return null;
  const prefix = length === undefined ? BITS[family] : Number(length);
  if (prefix > BITS[family]) return null;
  const text = `${address}/${prefix}`;
  const network = family === 4 ? ipaddr.IPv4.networkAddressFromCIDR(text) : ipaddr.IPv6.networkAddressFromCIDR(text);
  const canonical = network instanceof ipaddr.IPv6 ? network.toRFC5952String() : network.toString();
  return { family, network, prefix, text: prefix === BITS[family] ? canonical : `${canonical}/${prefix}` };
}
