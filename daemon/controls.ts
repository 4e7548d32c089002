// Defines the interfaces between features, apart from their implementations, so that both sides import them.
import type { ActionRequest, TunnelSubject } from './api/actions.ts';
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
   * Ends the daemon after the replies in progress, and starts it again from its current installation.
   * @param unconfirmed keeps unconfirmed changes, or reverts them first
   */
  restart(unconfirmed: 'keep' | 'revert'): void;
}

export interface KillSwitchControl {
  /** Starts to follow the root service: its reports go into the state. Applies `warp.killSwitch`. */
  start(): void;
  /** Stops following. The rules stay as they are. */
  stop(): Promise<void>;
  /** Measures the current state. Never rejects: an unknown value is null, with the reason in `detail`. */
  read(): Promise<KillSwitch>;
  /** Measures the state after the root service was installed or removed, and applies `warp.killSwitch` as `start` does. */
  reapply(): Promise<void>;
  /** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
  set(request: KillSwitchRequest): Promise<KillSwitch>;
  /** Keeps an unconfirmed change, or reverts it. @throws Problem nothing-pending, and as `set` */
  decide(decision: 'confirm' | 'revert'): Promise<KillSwitch>;
  /** @param seconds 0 ends a pause. @throws Problem as `set` */
  pause(seconds: number): Promise<KillSwitch>;
  /** Returns this user's blocked traffic, which the root service records for the next minute. @throws Problem as `set` */
  blocked(): Promise<BlockedList>;
}

/** The part of a routes plan that is needed to restore the routes. */
export interface RoutesPlan {
  /** Canonical entries to restore; null if the list stays as it is. */
  previous: string[] | null;
}

/** A change of the routes, in two steps, without another change of the routes in between. */
export interface RoutesChange<P extends RoutesPlan, T> {
  confirmWithin: number | undefined;
  /** Reads the current list. */
  plan(): Promise<P>;
  /** Sets the new list. The previous list returns if the daemon is killed before the end. */
  work(plan: P): Promise<T>;
}

/** Changes that revert automatically. */
export interface ChangesControl {
  /** Reverts the unconfirmed changes that it can within `limitMs`. Never rejects. */
  revertUnconfirmed(limitMs: number): Promise<void>;
  /**
   * Calls `Tunnel.runAction`, with a limit if the request has one.
   * @param isAutomatic true if Culvert makes the change, not the user
   * @throws Problem previous-unknown, state-not-writable
   */
  runWithLimit(request: ActionRequest & ChangeOptions, isAutomatic?: boolean): Promise<CommandOutput | null>;
  /** @throws Problem as `runWithLimit`, and what the steps throw */
  setRoutes<P extends RoutesPlan, T>(change: RoutesChange<P, T>): Promise<T>;
  /** Without a subject, it also acknowledges lost changes. @throws Problem nothing-pending, state-not-writable */
  confirm(request: ChangeRequest): Promise<Changes>;
  /** @throws Problem nothing-pending, and what setting the previous value throws */
  revert(request: ChangeRequest): Promise<Changes>;
  /**
   * Returns a function that restores a subject's value and pending change as they are now; null if no change is pending, or
   * the value is unknown. The function throws what setting the value throws; the pending change is then restored anyway.
   */
  checkpoint(subject: TunnelSubject): Promise<(() => Promise<void>) | null>;
}

/** The split tunnel as a document. Each method throws Problem routes-failed if the list is not known. */
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
  /** Adds the current list to the history before an action changes it. Never rejects. */
  remember(): Promise<void>;
  /** Sets a list again when a change reverts. @param entries canonical */
  restore(entries: readonly string[]): Promise<void>;
}

/** The history: changes of the state, statistics of the tunnel, totals. */
export interface HistoryControl {
  /** @throws Problem invalid-query */
  read(query: HistoryQuery): Promise<History>;
  /** Records the effect of a rule for networks. */
  ruled(effect: RuleRecord): void;
  /** Records that Culvert reverted a change. */
  reverted(subject: TunnelSubject): void;
}

/** Controls that features use to reach each other. */
export interface Ports {
  changes: ChangesControl;
  routes(): Promise<RoutesControl>;
  killSwitch(): Promise<KillSwitchControl>;
  history: HistoryControl;
}
