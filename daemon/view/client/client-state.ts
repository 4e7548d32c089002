// Defines a client's state: the last snapshot, the reason if it is outdated, pending requests, and the last proof.
import type { ActionName, ConfigResponse, Problem, Snapshot, StalePart, UpdateCheck } from '../../api/schema.ts';
import type { State } from '../../api/states.ts';
import type { Proof } from '../../api/why.ts';

/** The reason why the state is not current. `detail` is the text of the daemon or the system. */
export interface OfflineReason {
  code: 'starting' | 'not-running' | 'stopped' | 'not-responding' | 'refused';
  detail: string;
}

export interface LastState {
  state: State;
  /** True if the emulator reported the state. */
  demo: boolean;
}

export interface ClientState {
  /** The last snapshot received. It is outdated while `offline` is set. */
  snapshot: Snapshot | null;
  /** Parts of the snapshot that the daemon could not read again. */
  old: readonly StalePart['part'][];
  /** The state that a daemon stored last. Clients show it until the first answer. */
  last: LastState | null;
  /** The reason why the state is not current; null while the stream is open. */
  offline: OfflineReason | null;
  config: ConfigResponse | null;
  /** The one action that waits for its effect, or null. */
  pending: ActionName | null;
  /** True if the pending action takes longer than usual, because the tunnel CLI may hang. */
  slow: boolean;
  /** True if the tunnel has been connecting for longer than usual. */
  isLong: boolean;
  /** True while a change of the kill switch waits for its effect, or for an administrator's password. */
  killSwitchPending: boolean;
  /** Result of the last check for updates, or null before the first check. */
  update: UpdateCheck | null;
  /** True after WARP refused an action because this user is not authorized, until another action succeeds. */
  isRefused: boolean;
  /** The problem of turning the local proxy on; null after another action is tried. */
  proxyProblem: Problem | null;
  /** Proof that requests use the tunnel, at the user's request; null after the connection changes. */
  proof: ProofState | null;
}

/** The error if another request is not finished yet. */
export class Busy extends Error {}

/**
 * Returns the state of a client that sends no requests.
 * @param snapshot null if no daemon answers
 * @param now in ms since the epoch
 */
export function shownState(snapshot: Snapshot | null, now = Date.now()): ClientState {
  return {
    snapshot,
    old: [],
    last: null,
    offline: snapshot ? null : { code: 'not-running', detail: '' },
    config: null,
    pending: null,
    slow: false,
    isLong: snapshot !== null && untilLong(snapshot.status, now) === 0,
    killSwitchPending: false,
    update: null,
    isRefused: false,
    proxyProblem: null,
    proof: null,
  };
}

/** Returns the snapshot if it is current, or null. */
export function current({ snapshot, offline }: ClientState): Snapshot | null {
  return offline ? null : snapshot;
}

/** Time after which connecting takes longer than usual, in ms. */
const LONG_MS = 15_000;

/** Returns the time until connecting takes longer than usual, in ms, at least 0; null while the tunnel is not connecting. */
export function untilLong({ state, blocked, since }: Snapshot['status'], now: number): number | null {
  if (state !== 'connecting' || blocked !== null) return null;
  // the clocks of two machines may differ
  return Math.min(LONG_MS, Math.max(0, Date.parse(since) + LONG_MS - now));
}

/**
 * Calls `again` when connecting takes longer than usual, because the daemon sends no event for it.
 * @param now the clock, in ms since the epoch
 */
export function createLongTimer(again: () => void, now: () => number = Date.now) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
  };
  return {
    /** Follows a new status. @returns the timer, if one is set */
    follow(status: Snapshot['status'] | null): typeof timer {
      stop();
      const left = status && untilLong(status, now());
      // a timer may fire slightly early
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
  /** The result, or null until the answer arrives. */
  result: Proof | null;
}

export function connectionOf({ status, settings, tunnel }: Snapshot): Connection {
  return { state: status.state, since: status.since, mode: settings.Mode, colo: tunnel.colo };
}

/** True if the connection is the same. The daemon reports the data center some seconds after the connection. */
export function isSameConnection(before: Connection, { state, since, mode, colo }: Connection): boolean {
  const moved = before.colo !== null && colo !== null && before.colo !== colo;
  return before.state === state && before.since === since && before.mode === mode && !moved;
}
