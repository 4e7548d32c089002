// Decides which of polkit's actions a call needs in the present mode. Pure.
import { inForce, type Mode } from './machine.ts';
import { covers, type Endpoint, isReported, shippedEndpoints } from './rules/endpoints.ts';
import { isPause, type Trial, type Wanted } from './rules/wanted.ts';

export type Action =
  | 'org.culvert.killswitch.enable'
  | 'org.culvert.killswitch.disable'
  | 'org.culvert.killswitch.pause'
  | 'org.culvert.killswitch.tunnel-only'
  | 'org.culvert.killswitch.sign-in'
  | 'org.culvert.killswitch.outside';

export const ALL_ACTIONS: readonly Action[] = [
  'org.culvert.killswitch.enable',
  'org.culvert.killswitch.disable',
  'org.culvert.killswitch.pause',
  'org.culvert.killswitch.tunnel-only',
  'org.culvert.killswitch.sign-in',
  'org.culvert.killswitch.outside',
];

/** Addresses that warp-svc may switch between. A longer list is suspicious. */
const MAX_REPORTED = 16;

/**
 * Returns the action that turning on needs. If it opens the local network, or changes an administrator's endpoints, it needs
 * the same permission as turning off. Some single addresses with the tunnel's ports are exempt: the tunnel CLI reports them,
 * and warp-svc switches between them.
 * @param now the value in force; null if nothing is in force
 */
function requiredAction(now: Wanted | null, next: Wanted): Action {
  const opensLan = now !== null && next.allowLan && !now.allowLan;
  const shipped = shippedEndpoints();
  const present = now?.endpoints ?? shipped;
  const isMoving = (endpoint: Endpoint) => isReported(endpoint) && !isCovered(endpoint, shipped);
  const added = next.endpoints.filter(endpoint => !isCovered(endpoint, [...shipped, ...present]));
  // counts all addresses, not only those of this call: many calls must not achieve more than one call may
  const reported = new Set(next.endpoints.filter(isMoving).map(({ cidr }) => cidr));
  const adds = added.some(endpoint => !isReported(endpoint)) || (added.length > 0 && reported.size > MAX_REPORTED);
  const narrows = present.some(endpoint => !isMoving(endpoint) && !isCovered(endpoint, next.endpoints));
  return opensLan || adds || narrows ? 'org.culvert.killswitch.disable' : 'org.culvert.killswitch.enable';
}

/** True if other endpoints together let through all that an endpoint does; each port needs only one of them. */
function isCovered(endpoint: Endpoint, others: readonly Endpoint[]): boolean {
  // nearly all endpoints are shipped, and comparing text costs far less than parsing ranges
  const same = others.filter(({ cidr }) => cidr === endpoint.cidr);
  return endpoint.ports.every(port =>
    [same, others].some(list => list.some(other => covers(other, { ...endpoint, ports: [port] }))),
  );
}

export type Permissions = ReturnType<typeof createPermissions>;

/** @param fallback the value in force while the stored settings can't be read */
export function createPermissions(modeNow: () => Mode, fallback: Wanted) {
  const toEnable = (wanted: Wanted): Action => permissionToEnable(modeNow(), fallback, wanted);
  return {
    toEnable,
    /** Returns the action for a trial. Replacing another user's trial overrules that user, and moves the deadline. */
    toTry(wanted: Wanted | null, uid: number): Action {
      const isAnothers = (unconfirmedOf(modeNow())?.by ?? uid) !== uid;
      return wanted === null || isAnothers ? 'org.culvert.killswitch.disable' : toEnable(wanted);
    },
    /** Returns the action for a decision: none for the user who made the change, while an administrator decides for others. */
    toDecide(uid: number): Action | null {
      const trial = unconfirmedOf(modeNow());
      return !trial || trial.by === uid ? null : 'org.culvert.killswitch.disable';
    },
    toSetEndpoints(endpoints: readonly Endpoint[]): Action {
      const now = inForce(modeNow());
      return requiredAction(now, { allowLan: now?.allowLan ?? false, endpoints });
    },
  };
}

/** Returns the change that waits for a confirmation; a pause waits for no confirmation. */
export function unconfirmedOf(mode: Mode): Trial | null {
  return mode.kind === 'trying' && !isPause(mode.trial) ? mode.trial : null;
}

/** @param fallback the value in force while the stored settings can't be read */
function permissionToEnable(mode: Mode, fallback: Wanted, next: Wanted): Action {
  if (mode.kind !== 'trying')
    return requiredAction(mode.kind === 'off' ? null : mode.kind === 'fail-closed' ? fallback : mode.wanted, next);
  // a change must not confirm or undo another user's change with fewer permissions than that would need
  const values = mode.trial.wanted ? [mode.trial.wanted, mode.previous] : [mode.previous];
  const needed = values.map(value => requiredAction(value, next));
  return needed.find(action => action !== 'org.culvert.killswitch.enable') ?? 'org.culvert.killswitch.enable';
}
