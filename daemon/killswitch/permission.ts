// Pure: which of polkit's actions a change needs.

import { covers, isReported } from './rules/endpoint-allowlist.ts';
import { shippedEndpoints } from './rules/endpoints.ts';
import type { Wanted } from './rules/request.ts';
import type { Endpoint } from './rules/rules.ts';

export type Action =
  | 'org.culvert.killswitch.enable'
  | 'org.culvert.killswitch.disable'
  | 'org.culvert.killswitch.pause'
  | 'org.culvert.killswitch.tunnel-only'
  | 'org.culvert.killswitch.sign-in'
  | 'org.culvert.killswitch.detect-login'
  | 'org.culvert.killswitch.outside';

export const ALL_ACTIONS: readonly Action[] = [
  'org.culvert.killswitch.enable',
  'org.culvert.killswitch.disable',
  'org.culvert.killswitch.pause',
  'org.culvert.killswitch.tunnel-only',
  'org.culvert.killswitch.sign-in',
  'org.culvert.killswitch.detect-login',
  'org.culvert.killswitch.outside',
];

/** Addresses that warp-svc may switch between; a longer list is not believed. */
const MAX_REPORTED = 16;

/**
 * The action that turning on needs. Where it opens the local network, or changes endpoints of an administrator, it needs
 * what turning off needs. Some single addresses by the tunnel's ports are exempt: the tunnel CLI reports them, and
 * warp-svc switches between them.
 * @param now what is in force; null if nothing is
 */
export function requiredAction(now: Wanted | null, next: Wanted): Action {
  const opensLan = now !== null && next.allowLan && !now.allowLan;
  const shipped = shippedEndpoints();
  const present = now?.endpoints ?? shipped;
  const isMoving = (endpoint: Endpoint) => isReported(endpoint) && !isCovered(endpoint, shipped);
  const added = next.endpoints.filter(endpoint => !isCovered(endpoint, [...shipped, ...present]));
  // all of them, not those of this call alone: many calls must not lead to more than one may
  const reported = new Set(next.endpoints.filter(isMoving).map(({ cidr }) => cidr));
  const adds = added.some(endpoint => !isReported(endpoint)) || (added.length > 0 && reported.size > MAX_REPORTED);
  const narrows = present.some(endpoint => !isMoving(endpoint) && !isCovered(endpoint, next.endpoints));
  return opensLan || adds || narrows ? 'org.culvert.killswitch.disable' : 'org.culvert.killswitch.enable';
}

/** True if the others let through all that an endpoint does, each port by any of them. */
function isCovered(endpoint: Endpoint, others: readonly Endpoint[]): boolean {
  // nearly all endpoints are the shipped ones, and comparing text costs far less than reading ranges
  const same = others.filter(({ cidr }) => cidr === endpoint.cidr);
  return endpoint.ports.every(port =>
    [same, others].some(list => list.some(other => covers(other, { ...endpoint, ports: [port] }))),
  );
}
