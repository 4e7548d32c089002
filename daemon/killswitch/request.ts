// Pure: what the root service takes from a caller. Everything else is refused before anybody is asked for permission.
import { parseCidr } from './cidr.ts';
import { type Endpoint, isEndpointPort } from './rules.ts';

/** As D-Bus carries it, `(ssaq)`: range, protocol, ports. */
export type EndpointTuple = readonly [cidr: string, protocol: string, ports: readonly number[]];

/** What is wanted, checked. */
export interface Wanted {
  allowLan: boolean;
  endpoints: readonly Endpoint[];
}

const MOST_ENDPOINTS = 128;
const MOST_PORTS = 16;
export const LONGEST_PAUSE = 3600;

/** Endpoints as a caller gave them. @returns a sentence that says what is wrong */
export function checkEndpoints(tuples: readonly EndpointTuple[]): Endpoint[] | string {
  if (tuples.length > MOST_ENDPOINTS)
    return `There are ${tuples.length} endpoints; at most ${MOST_ENDPOINTS} are taken.`;
  const endpoints = new Map<string, Endpoint>();
  for (const [word, protocol, ports] of tuples) {
    const cidr = parseCidr(word);
    if (typeof cidr === 'string') return `${cidr}.`;
    if (protocol !== 'udp' && protocol !== 'tcp') return 'The protocol of an endpoint is udp or tcp.';
    if (!ports.length || ports.length > MOST_PORTS) return `An endpoint has 1 to ${MOST_PORTS} ports.`;
    const wrong = ports.find(port => !isEndpointPort(port));
    if (wrong !== undefined)
      return `${wrong} is no port of an endpoint; DNS (53, 853) never leaves outside the tunnel.`;
    const endpoint = { cidr: cidr.text, protocol, ports: [...new Set(ports)].sort((a, b) => a - b) } as const;
    endpoints.set(JSON.stringify(endpoint), endpoint);
  }
  return [...endpoints.values()];
}

/** Seconds of a pause as a caller gave them, 0 to end it. @returns a sentence that says what is wrong */
export function checkSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 0 && seconds <= LONGEST_PAUSE;
  return fits ? seconds : `A pause has at most ${LONGEST_PAUSE} seconds.`;
}

/**
 * Whether `next` opens more than `now` does to others than root. Such a change asks for an administrator, as turning off
 * does; further endpoints don't, because only root can use them and the tunnel moves between them by itself.
 */
export function loosens(now: Wanted | null, next: Wanted): boolean {
  return now !== null && next.allowLan && !now.allowLan;
}
