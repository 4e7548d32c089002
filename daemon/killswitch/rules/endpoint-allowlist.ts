// Pure: the endpoints that root may reach outside the tunnel: shipped, reported by the tunnel CLI, and the user's own.
import { contains, parseCidr } from './cidr.ts';
import { shippedEndpoints } from './endpoints.ts';
import type { Endpoint } from './rules.ts';
import { isEndpointPort } from './rules.ts';

/** Cloudflare's ports of both protocols: for an address of which nothing else is known. */
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
  /** A sentence for each that may be no exception. */
  refused: string[];
  /** True if the shipped data does not cover all of them. */
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

/** One entry of `warp.endpoints`. @returns a sentence that says what is wrong */
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

/** An address of a shipped range belongs to the tunnel by its documented ports. */
function inShipped(shipped: readonly Endpoint[], cidr: string): boolean {
  return shipped.some(endpoint => within(cidr, endpoint.cidr));
}

/** True if one endpoint lets through everything that another one does. */
export function covers(outer: Endpoint, inner: Endpoint): boolean {
  return (
    outer.protocol === inner.protocol &&
    within(inner.cidr, outer.cidr) &&
    inner.ports.every(port => outer.ports.includes(port))
  );
}

/** True for one address by the tunnel's own ports, the form of endpoints that the tunnel CLI reports. */
export function isReported({ cidr, protocol, ports }: Endpoint): boolean {
  return !cidr.includes('/') && ports.every(port => (TUNNEL_PORTS[protocol] as readonly number[]).includes(port));
}

function within(inner: string, outer: string): boolean {
  if (inner === outer) return true;
  const [a, b] = [parseCidr(inner), parseCidr(outer)];
  return typeof a === 'object' && typeof b === 'object' && contains(b, a);
}
