// Defines how features reach each other; below their implementations, so that both sides import it.
import type { ActionRequest } from './api/actions.ts';
import type { ChangeOptions, ChangeRequest, Changes } from './api/changes.ts';
import type { History, HistoryQuery } from './api/history.ts';
import type { RuleRecord } from './api/networks.ts';
import type {
  Routes,
  RoutesHistory,
  RoutesPresets,
  RoutesPreview,
  RoutesPreviewRequest,
  RoutesRequest,
  RoutesResponse,
  RoutesUndoRequest,
} from './api/routes.ts';
import type { BlockedList, CommandOutput, KillSwitch, KillSwitchRequest } from './api/schema.ts';
import type { Settings } from './config/layers.ts';
import type { State } from './state/store.ts';
import type { Paths } from './system/paths.ts';
import type { Tunnel } from './warp/tunnel.ts';

/** Dependencies passed to each feature. */
export interface FeatureContext {
  env: NodeJS.ProcessEnv;
  paths: Paths;
  state: State;
  settings: Settings;
  tunnel: Tunnel;
  /** Prints one line on stderr. */
  say(line: string): void;
  /**
   * Ends the daemon after the replies in progress, and starts it again from where it is then installed.
   * @param unconfirmed whether changes that are not confirmed are reverted before
   */
  restart(unconfirmed: 'keep' | 'revert'): void;
}

export interface KillSwitchControl {
  /** Follows the root service from now on: its reports go into the state. Applies `warp.killSwitch`. */
  start(): void;
  /** Stops following. The rules stay as they are. */
  stop(): Promise<void>;
  /** The state measured now. Never rejects: an unknown value is null, with the reason in `detail`. */
  read(): Promise<KillSwitch>;
  /** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
  set(request: KillSwitchRequest): Promise<KillSwitch>;
  /** Keeps an unconfirmed change, or reverts it. @throws Problem nothing-pending, and as `set` */
  decide(decision: 'confirm' | 'revert'): Promise<KillSwitch>;
  /** @param seconds 0 ends a pause. @throws Problem as `set` */
  pause(seconds: number): Promise<KillSwitch>;
  /** Blocked traffic of this user. The root service records it for a minute from now on. @throws Problem as `set` */
  blocked(): Promise<BlockedList>;
}

/** The part of a plan of routes that the return of the routes needs. */
export interface RoutesPlan {
  /** Canonical entries to restore; null if the list stays as it is. */
  previous: string[] | null;
}

/** A change of the routes, in two steps between which no other change of the routes is made. */
export interface RoutesChange<P extends RoutesPlan, T> {
  confirmWithin: number | undefined;
  /** Reads the current list. */
  plan(): Promise<P>;
  /** Sets the new list. The previous one returns where the daemon is killed before the end. */
  work(plan: P): Promise<T>;
}

/** Changes that revert automatically. */
export interface ChangesControl {
  /** Reverts unconfirmed changes, as far as that succeeds within `limitMs`. Never rejects. */
  revertUnconfirmed(limitMs: number): Promise<void>;
  /** `Tunnel.runAction`, with a limit where the request has one. @throws Problem previous-unknown, state-not-writable */
  runWithLimit(request: ActionRequest & ChangeOptions): Promise<CommandOutput | null>;
  /** @throws Problem as `runWithLimit`, and what the steps throw */
  setRoutes<P extends RoutesPlan, T>(change: RoutesChange<P, T>): Promise<T>;
  /** Without a subject, it also acknowledges lost changes. @throws Problem nothing-pending, state-not-writable */
  confirm(request: ChangeRequest): Promise<Changes>;
  /** @throws Problem nothing-pending, and what setting the previous value throws */
  revert(request: ChangeRequest): Promise<Changes>;
}

/** The split tunnel as a document. Each method throws Problem routes-failed where the list is not known. */
export interface RoutesControl {
  read(): Promise<Routes>;
  preview(request: RoutesPreviewRequest): Promise<RoutesPreview>;
  /** @throws Problem document-invalid, precondition-failed, not-authorized, and what the tunnel CLI answers */
  apply(request: RoutesRequest): Promise<RoutesResponse>;
  /** @throws Problem nothing-to-undo, and as `apply` */
  undo(request: RoutesUndoRequest): Promise<RoutesResponse>;
  /** @param id selects one document, which is returned with its text */
  history(id?: number): RoutesHistory;
  presets(): RoutesPresets;
  /** Adds the present list to the history before an action changes it. Never rejects. */
  remember(): Promise<void>;
  /** Sets a list again when a change reverts. @param entries canonical */
  restore(entries: readonly string[]): Promise<void>;
}

/** The history: changes of the state, figures of the tunnel, totals. */
export interface HistoryControl {
  /** @throws Problem invalid-query */
  read(query: HistoryQuery): Promise<History>;
  /** Records what a rule for networks has set. */
  ruled(effect: RuleRecord): void;
}

/** Controls by which features reach each other. */
export interface Ports {
  changes: ChangesControl;
  routes(): Promise<RoutesControl>;
  killSwitch(): Promise<KillSwitchControl>;
  history: HistoryControl;
}
