// Determines the endpoints that root may reach outside the tunnel: shipped, reported by the tunnel CLI, or configured by the
// user. Parsing is strict, since each endpoint is an exception to the block. Pure.
import ipaddr from 'ipaddr.js';
import data from '../../../data/killswitch/endpoints.json' with { type: 'json' };
import { printable } from '../../core/printable.ts';

/** Cloudflare's ports by protocol, for an address with unknown ports. */
const TUNNEL_PORTS = { udp: [443, 500, 1701, 2408, 4443, 4500, 8095, 8443], tcp: [443] } as const;

/**
 * @param reported addresses as the tunnel CLI prints them, with or without a port
 * @param own `warp.endpoints`: comma-separated `CIDR` or `CIDR udp|tcp PORT`
 */
export function wantedEndpoints(
  reported: readonly string[],
  own: string,
): {
  endpoints: Endpoint[];
  /** A sentence for each endpoint that must not be an exception. */
  refused: string[];
  /** True if the shipped data does not cover all endpoints. */
  beyondShipped: boolean;
} {
  const shipped = shippedEndpoints();
  const refused: string[] = [];
  const further: Endpoint[] = [];
  const take = (parsed: Endpoint[] | string) => {
    if (typeof parsed === 'string') refused.push(parsed);
    else further.push(...parsed.filter(endpoint => !shipped.some(other => covers(other, endpoint))));
  };
  for (const word of reported) {
    const address = /^\[(.*)\](?::\d+)?$/.exec(word)?.[1] ?? word.replace(/^([\d.]+):\d+$/, '$1');
    const cidr = parseCidr(address);
    if (typeof cidr === 'string') take(`an endpoint that the tunnel CLI reports is left out: ${cidr}`);
    else if (!inShipped(shipped, cidr.text)) take(withPorts(cidr.text));
  }
  for (const entry of own.split(',').map(entry => entry.trim())) if (entry) take(parseOwn(entry));
  return { endpoints: [...shipped, ...further], refused, beyondShipped: further.length > 0 };
}

/** Parses an entry of `warp.endpoints`. @returns the endpoint, or a sentence about the error */
export function parseOwn(entry: string): Endpoint[] | string {
  const [word = '', protocol, port, ...more] = entry.split(/\s+/);
  const cidr = parseCidr(word);
  if (typeof cidr === 'string') return `warp.endpoints: ${cidr}`;
  if (protocol === undefined) return withPorts(cidr.text);
  const right = (protocol === 'udp' || protocol === 'tcp') && /^\d{1,5}$/.test(port ?? '') && !more.length;
  if (!right || !isEndpointPort(Number(port)))
    return `warp.endpoints: "${entry}" is not a range, or a range with udp or tcp and a port other than 53 and 853`;
  return [{ cidr: cidr.text, protocol, ports: [Number(port)] }];
}

function withPorts(cidr: string): Endpoint[] {
  return [
    { cidr, protocol: 'udp', ports: TUNNEL_PORTS.udp },
    { cidr, protocol: 'tcp', ports: TUNNEL_PORTS.tcp },
  ];
}

/** True if a shipped range contains the address; the documented ports of that range then apply. */
function inShipped(shipped: readonly Endpoint[], cidr: string): boolean {
  return shipped.some(endpoint => within(cidr, endpoint.cidr));
}

/** True if `outer` allows everything that `inner` allows. */
export function covers(outer: Endpoint, inner: Endpoint): boolean {
  return (
    outer.protocol === inner.protocol &&
    within(inner.cidr, outer.cidr) &&
    inner.ports.every(port => outer.ports.includes(port))
  );
}

/** True for a single address with the tunnel's own ports, as in endpoints that the tunnel CLI reports. */
export function isReported({ cidr, protocol, ports }: Endpoint): boolean {
  return !cidr.includes('/') && ports.every(port => (TUNNEL_PORTS[protocol] as readonly number[]).includes(port));
}

function within(inner: string, outer: string): boolean {
  if (inner === outer) return true;
  const [a, b] = [parseCidr(inner), parseCidr(outer)];
  return typeof a === 'object' && typeof b === 'object' && contains(b, a);
}

/** Returns Cloudflare's endpoints, from data/killswitch/endpoints.json. */
export function shippedEndpoints(): Endpoint[] {
  return parseEndpoints(data);
}

/**
 * Parses endpoints in the form of data/killswitch/endpoints.json: groups of ranges with their ports.
 * @throws TypeError for any other form, and for a range or port that must not be an exception.
 */
export function parseEndpoints(json: unknown): Endpoint[] {
  const { version, groups } = record(json, 'the data', ['version', 'date', 'groups']);
  if (!Number.isInteger(version)) throw new TypeError('version: expected a whole number');
  return list(groups, 'groups').flatMap((group, i) => {
    const where = `groups[${i}]`;
    const { name, cidrs, udp = [], tcp = [] } = record(group, where, ['name', 'source', 'cidrs', 'udp', 'tcp']);
    if (typeof name !== 'string' || name === '') throw new TypeError(`${where}.name: expected a text`);
    const ports = { udp: list(udp, `${where}.udp`), tcp: list(tcp, `${where}.tcp`) };
    for (const port of [...ports.udp, ...ports.tcp])
      if (!isEndpointPort(port as number))
        throw new TypeError(`${where}: ${String(port)} is not a port of an endpoint`);
    return list(cidrs, `${where}.cidrs`).flatMap(word => {
      const cidr = parseCidr(String(word));
      if (typeof cidr === 'string') throw new TypeError(`${where}: ${cidr}`);
      return (['udp', 'tcp'] as const)
        .filter(protocol => ports[protocol].length > 0)
        .map(protocol => ({ cidr: cidr.text, protocol, ports: ports[protocol] as number[] }));
    });
  });
}

function record(value: unknown, where: string, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`${where}: expected an object`);
  const unknown = Object.keys(value).find(key => !keys.includes(key));
  if (unknown !== undefined) throw new TypeError(`${where}: unknown key ${unknown}`);
  return value as Record<string, unknown>;
}

function list(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${where}: expected a list`);
  return value;
}

export interface Endpoint {
  /** An address or a range on the internet, no wider than /16 or /32: `162.159.193.0/24`. */
  cidr: string;
  protocol: 'udp' | 'tcp';
  /** 1 to 65535, but not the ports of DNS (53, 853): those never leave outside the tunnel. */
  ports: readonly number[];
}

/** True for a port that an exception may have. DNS is never an exception, whatever its destination. */
export function isEndpointPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65535 && port !== 53 && port !== 853;
}

export interface Cidr {
  family: 4 | 6;
  /** Network address and prefix length: `162.159.193.0/24`, `2606:4700:100::/48`. */
  text: string;
  network: ipaddr.IPv4 | ipaddr.IPv6;
  /** Length of the prefix, in bits. */
  prefix: number;
}

/** Shortest prefixes of exceptions: wider exceptions would be holes rather than endpoints. */
const WIDEST = { 4: 16, 6: 32 } as const;
const BITS = { 4: 32, 6: 128 } as const;
/** Addresses that IANA allocates (RFC 4291, 2.4). */
const GLOBAL_UNICAST = range('2000::/3')!;

/**
 * Ranges that are never endpoints of a tunnel: IANA's special-purpose registries keep them off the internet, or
 * reserve them for documentation.
 */
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
 * Parses an address, or a range in CIDR notation, that may be an exception.
 * @returns the range, or a sentence that says why it must not be an exception
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

/** True if `inner` lies within `outer`. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  return (
    outer.family === inner.family && outer.prefix <= inner.prefix && inner.network.match(outer.network, outer.prefix)
  );
}

function range(word: string): Cidr | null {
  const [, address = '', length] = /^([\da-fA-F:.]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/.exec(word) ?? [];
  const family = address.includes(':') ? 6 : 4;
  // ipaddr.js also accepts shortened and octal IPv4, and IPv6 that ends in dotted IPv4, but nft rejects these
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
