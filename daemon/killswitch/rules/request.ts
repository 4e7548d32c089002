// Pure: checks the arguments of a call to the root service, which comes before asking polkit.
import { parseCidr } from './cidr.ts';
import { type Endpoint, isEndpointPort } from './rules.ts';

/** As D-Bus carries it, `(ssaq)`: range, protocol, ports. */
export type EndpointTuple = readonly [cidr: string, protocol: string, ports: readonly number[]];

/** A checked value of the kill switch. */
export interface Wanted {
  allowLan: boolean;
  endpoints: readonly Endpoint[];
}

export const MAX_ENDPOINTS = 128;
const MAX_PORTS = 16;
export const MAX_PAUSE_SECONDS = 3600;
/** A login page takes minutes at most; an open window lets one program out. */
export const MAX_SIGN_IN_SECONDS = 900;
/** A person who still has a connection confirms a change within seconds. */
export const MAX_CONFIRM_SECONDS = 600;

/** Endpoints as a caller gave them. @returns a sentence that says what is wrong */
export function checkEndpoints(tuples: readonly EndpointTuple[]): Endpoint[] | string {
  if (tuples.length > MAX_ENDPOINTS) return tooManyEndpoints(tuples.length);
  const endpoints = new Map<string, Endpoint>();
  for (const [word, protocol, ports] of tuples) {
    const cidr = parseCidr(word);
    if (typeof cidr === 'string') return `${cidr}.`;
    if (protocol !== 'udp' && protocol !== 'tcp') return 'The protocol of an endpoint is udp or tcp.';
    if (!ports.length || ports.length > MAX_PORTS) return `An endpoint has 1 to ${MAX_PORTS} ports.`;
    const wrong = ports.find(port => !isEndpointPort(port));
    if (wrong !== undefined)
      return `${wrong} can't be the port of an endpoint; DNS (53, 853) never leaves outside the tunnel.`;
    const endpoint = { cidr: cidr.text, protocol, ports: [...new Set(ports)].sort((a, b) => a - b) } as const;
    endpoints.set(JSON.stringify(endpoint), endpoint);
  }
  return [...endpoints.values()];
}

export function tooManyEndpoints(count: number): string {
  return `There are ${count} endpoints, but at most ${MAX_ENDPOINTS} are allowed.`;
}

/** Seconds of a pause as a caller gave them, 0 to end it. @returns a sentence that says what is wrong */
export function checkSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_PAUSE_SECONDS;
  return fits ? seconds : `A pause has at most ${MAX_PAUSE_SECONDS} seconds.`;
}

/** Seconds of a sign-in as a caller gave them, 0 to end it. @returns a sentence that says what is wrong */
export function checkSignInSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_SIGN_IN_SECONDS;
  return fits ? seconds : `A sign-in has at most ${MAX_SIGN_IN_SECONDS} seconds.`;
}

/** Seconds within which a change has to be confirmed. @returns a sentence that says what is wrong */
export function checkConfirmSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_CONFIRM_SECONDS;
  return fits ? seconds : `A change is confirmed within 1 to ${MAX_CONFIRM_SECONDS} seconds.`;
}
