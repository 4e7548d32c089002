// Defines the interfaces of the lazily loaded features; below their implementations, so that both sides import it.
import type { ServerResponse } from 'node:http';
import type { ActionRequest } from './api/actions.ts';
import type { ToolAccounts, ToolAccountsChange } from './api/schema/accounts.ts';
import type { ChangeOptions, ChangeRequest, Changes, ExtendRequest } from './api/schema/changes.ts';
import type {
  DoctorBundle,
  DoctorFixRequest,
  DoctorFixResponse,
  DoctorReport,
  DoctorRequest,
} from './api/schema/doctor.ts';
import type { History, HistoryQuery } from './api/schema/history.ts';
import type { SettingsApplyRequest, SettingsDiff, SettingsExport } from './api/schema/settings-file.ts';
import type {
  Networks,
  NetworksAnswer,
  NetworksRequest,
  NetworksTried,
  NetworksWhatIf,
  RuleRecord,
} from './api/schema/traffic/networks.ts';
import type {
  Routes,
  RoutesHistory,
  RoutesPresets,
  RoutesPreview,
  RoutesPreviewRequest,
  RoutesRequest,
  RoutesResponse,
  RoutesUndoRequest,
} from './api/schema/traffic/routes.ts';
import type { HistorySignIn } from './api/schema/traffic/sign-in.ts';
import type {
  App,
  BlockedList,
  CommandOutput,
  KillSwitch,
  KillSwitchRequest,
  LaunchRequest,
  LaunchResponse,
  LogEntry,
  PlacedWay,
  PlaceRequest,
  PlaceResponse,
  ShortcutRequest,
  ShortcutResponse,
  TrustReport,
  TrustReportRequest,
  TrustRequest,
  TrustResponse,
  UpdateCheck,
  UpdateResponse,
} from './api/schema.ts';
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
  /** Hosts of the last sign-in to a network, with their bytes; null if none ended since the start. @throws Problem as `set` */
  lastSignIn(): Promise<HistorySignIn | null>;
  /** List of what was blocked of this user, which is recorded for a minute from now on. @throws Problem as `set` */
  blocked(): Promise<BlockedList>;
}

export interface AppsControl {
  /** Renews or removes shortcuts whose original changed. */
  start(): void;
  stop(): Promise<void>;
  list(): Promise<App[]>;
  /**
   * @throws Problem app-not-found, app-not-launchable, app-launch-failed, proxy-not-enabled, proxy-not-answering,
   * proxy-not-verified
   */
  launch(request: LaunchRequest): Promise<LaunchResponse>;
  /**
   * Starts an app only through the tunnel, or outside it.
   * @throws Problem app-not-found, app-launch-failed, killswitch-not-installed, killswitch-denied, killswitch-failed
   */
  place(request: PlaceRequest, way: PlacedWay): Promise<PlaceResponse>;
  /** @throws Problem app-not-found, app-not-launchable, config-not-writable */
  setShortcut(request: ShortcutRequest): Promise<ShortcutResponse>;
}

export interface UpdatesControl {
  /** With `updates.checkOnStartup`: checks once, later. The result is published as `update`. */
  start(): void;
  stop(): Promise<void>;
  /**
   * Never rejects: the reason for a missing answer is in `problem`.
   * @param fresh checks now, instead of repeating a result of the last minutes.
   */
  check(fresh?: boolean): Promise<UpdateCheck>;
  /** @throws Problem update-refused (with `reason`), update-not-applicable, update-failed, busy */
  apply(): Promise<UpdateResponse>;
  /** @throws Problem as `apply` */
  rollback(): Promise<UpdateResponse>;
}

export interface DoctorControl {
  /**
   * When the tunnel fails, or is connected and carries nothing: runs the cheap checks once, and publishes the cause.
   */
  start(): void;
  stop(): Promise<void>;
  /** Each result is published as `doctor` when it is there. @throws Problem not-found */
  run(request: DoctorRequest): Promise<DoctorReport>;
  /** @throws Problem not-found, precondition-failed, fix-needs-administrator, fix-failed */
  fix(request: DoctorFixRequest): Promise<DoctorFixResponse>;
  /** @throws Problem fix-failed */
  undo(): Promise<DoctorFixResponse>;
  /** @param entries of the command log @param read a page of the history */
  bundle(entries: readonly LogEntry[], read: HistoryControl['read']): Promise<DoctorBundle>;
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
  /** Reverts changes that an earlier run left under way. */
  start(): void;
  stop(): Promise<void>;
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
  /** @throws Problem nothing-pending, state-not-writable */
  extend(request: ExtendRequest): Promise<Changes>;
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
  /** Records, while `history.enabled`. */
  start(): void;
  stop(): Promise<void>;
  /** @throws Problem invalid-query */
  read(query: HistoryQuery): Promise<History>;
  /** Records a sign-in to a network. */
  signedIn(signIn: HistorySignIn): void;
  /** Records what a rule for networks has set. */
  ruled(effect: RuleRecord): void;
  /** Deletes everything. @throws Problem state-not-writable */
  clear(): Promise<{ ok: true }>;
}

/** Metrics for Prometheus. They count while `metrics.enabled`, from the first request on. */
export interface MetricsControl {
  /** The text if it is less than a second old and nothing in it was published since; otherwise null. */
  ready(): Buffer | null;
  /** @throws Problem not-found while they are off */
  text(): Promise<string>;
  /** Counts the request of a response, while they count. */
  count(response: ServerResponse): void;
  stop(): void;
}

/** Settings as a file. */
export interface SettingsFileControl {
  export(): Promise<SettingsExport>;
  diff(toml: string): Promise<SettingsDiff>;
  /** @throws Problem document-invalid, state-not-writable, and what the tunnel CLI answers; nothing is changed then */
  apply(request: SettingsApplyRequest): Promise<SettingsDiff>;
  /** @throws Problem nothing-to-undo, and as `apply` */
  undo(confirmWithin?: number): Promise<SettingsDiff>;
}

/** The organization's certificate for tools. Each method throws Problem trust-refused and busy. */
export interface TrustControl {
  /** @param request `host` is one that the tools connect to as well */
  report(request: TrustReportRequest): Promise<TrustReport>;
  apply(request: TrustRequest): Promise<TrustResponse>;
  undo(request: TrustRequest): Promise<TrustResponse>;
  stop(): void;
}

/** The accounts that culvert-wrap holds for command-line tools. */
export interface ToolAccountsControl {
  /** Reads the stored accounts, and publishes their changes for two minutes from now. */
  read(): ToolAccounts;
  /** @throws Problem wrapper-refused, wrapper-failed */
  change(request: ToolAccountsChange): Promise<ToolAccounts>;
  /** Publishes the stored accounts, and their changes until the returned function is called. */
  follow(): () => void;
  stop(): void;
}

/** The networks that this machine is on, and the rules for them. */
export interface NetworksControl {
  /** Has the rules hold from now on, if there are any. */
  start(): void;
  /** Ends it; changes by rules stay. */
  stop(): void;
  /** Reads the links, and publishes their changes for two minutes from now. */
  read(): Promise<Networks>;
  /** Replaces the rules, which hold immediately. @throws Problem document-invalid, precondition-failed, config-not-writable */
  set(request: NetworksRequest): Promise<Networks>;
  /** Tries the rules. Nothing is changed. */
  whatIf(request: NetworksWhatIf): Promise<NetworksTried>;
  /** Allows or refuses that a rule lowers the protection. @throws Problem not-found */
  answer(request: NetworksAnswer): Promise<Networks>;
  /** Reverts what rules changed, until the network is another one. */
  revert(): Promise<Networks>;
}

export interface Features {
  /** Publishes whether clients offer tool accounts, unless that was read a moment ago. */
  offerToolAccounts(): void;
  toolAccounts(): Promise<ToolAccountsControl>;
  settingsFile(): Promise<SettingsFileControl>;
  trust(): Promise<TrustControl>;
  changes: ChangesControl;
  metrics: MetricsControl;
  history(): Promise<HistoryControl>;
  routes(): Promise<RoutesControl>;
  networks(): Promise<NetworksControl>;
  doctor(): Promise<DoctorControl>;
  killSwitch(): Promise<KillSwitchControl>;
  apps(): Promise<AppsControl>;
  updates(): Promise<UpdatesControl>;
  /** Starts the features that run without a request. */
  start(): void;
  stop(): Promise<void>;
}
