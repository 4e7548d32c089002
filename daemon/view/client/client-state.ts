// Defines what a client of the daemon holds: the last snapshot, why nothing newer came, what is pending, and the last proof.
import type { ActionName, ConfigResponse, Problem, Snapshot, UpdateCheck } from '../../api/schema.ts';
import type { State } from '../../api/states.ts';
import type { Proof } from '../../api/why.ts';

/** Why the state is not current. `detail` is the text of the daemon or the system. */
export interface OfflineReason {
  code: 'starting' | 'not-running' | 'stopped' | 'not-responding' | 'refused';
  detail: string;
}

/** A request that WARP refused because this user is not authorized; shown until another one succeeds. */
interface Refusal {
  action: ActionName;
  detail: string;
}

export interface LastState {
  state: State;
  /** The emulator reports it. */
  demo: boolean;
}

export interface ClientState {
  /** The last one received; out of date while `offline` is set. */
  snapshot: Snapshot | null;
  /** The state that a daemon last wrote down; shown until the first answer. */
  last: LastState | null;
  /** null while the stream is open. */
  offline: OfflineReason | null;
  config: ConfigResponse | null;
  /** The action whose effect is awaited; one at a time. */
  pending: ActionName | null;
  /** The pending action takes longer than usual: the tunnel CLI may hang. */
  slow: boolean;
  /** The tunnel has been connecting for longer than usual. */
  isLong: boolean;
  /** A change of the kill switch whose effect is awaited; it may wait for an administrator's password. */
  killSwitchPending: boolean;
  /** Result of the last check for updates, or null before one. */
  update: UpdateCheck | null;
  /** The last action that WARP did not allow this user; null once one succeeded. */
  refusal: Refusal | null;
  /** Why the local proxy could not be turned on; null once another action was tried. */
  proxyProblem: Problem | null;
  /** Proof that requests come through the tunnel, which the user asked for; null again once the connection changed. */
  proof: ProofState | null;
}

/** One request at a time: another one is not finished yet. */
export class Busy extends Error {}

/**
 * The state of a client that sends no requests.
 * @param snapshot null while no daemon can be asked
 * @param now in ms since the epoch
 */
export function shownState(snapshot: Snapshot | null, now = Date.now()): ClientState {
  return {
    snapshot,
    last: null,
    offline: snapshot ? null : { code: 'not-running', detail: '' },
    config: null,
    pending: null,
    slow: false,
    isLong: snapshot !== null && untilLong(snapshot.status, now) === 0,
    killSwitchPending: false,
    update: null,
    refusal: null,
    proxyProblem: null,
    proof: null,
  };
}

/** The snapshot while it is current. */
export function current({ snapshot, offline }: ClientState): Snapshot | null {
  return offline ? null : snapshot;
}

/** Time after which connecting takes longer than usual, in ms. */
const LONG_MS = 15_000;

/** Time until connecting takes longer than usual, in ms: 0 from then on; null while the tunnel is not connecting. */
export function untilLong({ state, blocked, since }: Snapshot['status'], now: number): number | null {
  if (state !== 'connecting' || blocked !== null) return null;
  // clocks of two machines differ
  return Math.min(LONG_MS, Math.max(0, Date.parse(since) + LONG_MS - now));
}

/**
 * Calls `again` when connecting takes longer than usual: nothing comes from the daemon then.
 * @param now the clock, in ms since the epoch
 */
export function createLongTimer(again: () => void, now: () => number = Date.now) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
  };
  return {
    /** Follows this status instead of the previous one. @returns the timer, if one is set */
    follow(status: Snapshot['status'] | null): typeof timer {
      stop();
      const left = status && untilLong(status, now());
      // a timer may be early by a little
      if (left) timer = setTimeout(again, left + 50);
      return timer;
    },
    stop,
  };
}

/** The parts of the state that make up one connection. */
interface Connection {
  state: string;
  since: string;
  mode: string | undefined;
  colo: string | null;
}

export interface ProofState {
  connection: Connection;
  /** null while the page is being asked. */
  result: Proof | null;
}

export function connectionOf({ status, settings, tunnel }: Snapshot): Connection {
  return { state: status.state, since: status.since, mode: settings.Mode, colo: tunnel.colo };
}

/** False once the connection changed. The data center is reported some seconds after the connection. */
export function isSameConnection(before: Connection, { state, since, mode, colo }: Connection): boolean {
  const moved = before.colo !== null && colo !== null && before.colo !== colo;
  return before.state === state && before.since === since && before.mode === mode && !moved;
}
