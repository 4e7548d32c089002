// Collects the wire types: a zod schema, and a type of the same name, for every JSON shape of the API.
import * as z from 'zod/mini';
import { Change, ForSeconds } from './changes.ts';
import { Diagnosis } from './doctor.ts';
import { KillSwitch } from './killswitch.ts';
import { NetworksState } from './networks.ts';
import { TrustState } from './trust.ts';
import {
  AccountSummary,
  Commands,
  Options,
  Settings,
  SplitTunnel,
  StalePart,
  Status,
  Tunnel,
  TunnelCli,
} from './tunnel.ts';
import { UpdateCheck } from './update.ts';
import { Count, Time } from './values.ts';

export * from './accounts.ts';
export * from './apps.ts';
export * from './changes.ts';
export * from './config.ts';
export { Empty } from './endpoint.ts';
export * from './history.ts';
export * from './killswitch.ts';
export * from './networks.ts';
export * from './routes.ts';
export * from './settings-file.ts';
export * from './trust.ts';
export * from './tunnel.ts';
export * from './update.ts';
export { Blocked, PROBLEM_CODES, Problem, ProblemCode } from './values.ts';
export * from './why.ts';

/** Access of other machines to page and API (webui.allowRemote). */
export const RemoteAccess = z.object({
  /** webui.address: a reverse proxy's address, or this daemon's name. */
  address: z.nullable(z.string()),
});
export type RemoteAccess = z.infer<typeof RemoteAccess>;

/** The complete state that clients show, at one revision. */
export const Snapshot = z.object({
  ok: z.literal(true),
  revision: z.int(),
  generatedAt: Time,
  tunnelCli: TunnelCli,
  status: Status,
  settings: Settings,
  options: Options,
  tunnel: Tunnel,
  splitTunnel: SplitTunnel,
  account: AccountSummary,
  killSwitch: KillSwitch,
  /** Result of the last update check; null before the first. */
  update: z.nullable(UpdateCheck),
  /** The most likely cause of a tunnel that fails, or is connected and carries nothing; null if no cause is likely. */
  diagnosis: z.nullable(Diagnosis),
  /** null while other machines have no access. */
  remoteAccess: z.nullable(RemoteAccess),
  /** Changes that revert automatically: unconfirmed or timed changes. */
  changes: z.array(Change),
  /**
   * The unreadable file of pending changes, which therefore do not revert; null otherwise, and again after a confirmation
   * without a subject or the next change.
   */
  lostChanges: z.nullable(z.object({ file: z.string() })),
  /** Set if the tunnel was up and has been off for longer than `reminders.offMinutes`. */
  reminder: z.nullable(z.object({ offSince: Time })),
  /** Length of the user's last pause, which clients offer first; null before the first pause. */
  lastPause: z.nullable(z.object({ seconds: ForSeconds })),
  /**
   * Clients offer the page of tool accounts if a shim of culvert-wrap is installed, or a tool of its catalog other than
   * npm is on the daemon's PATH.
   */
  toolAccounts: z.object({ offered: z.boolean() }),
  /** This machine's networks; null while no client and no rule needs them. Absent in older versions. */
  networks: z.optional(z.nullable(NetworksState)),
  /** The organization's certificate for tools. Absent in older versions. */
  trust: z.optional(TrustState),
  /** True if the settings or the split tunnel are old, because they could not be read again. Absent in older versions. */
  hasOldParts: z.optional(z.boolean()),
  commands: Commands,
  /** Parts that could not be updated in time; an answer with stale parts has no ETag. */
  stale: z.optional(z.array(StalePart)),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** `demo` selects the embedded emulator instead of the tunnel CLI. */
export const RestartRequest = z.strictObject({ demo: z.boolean() });
/** Reply before the daemon restarts. */
export const RestartResponse = z.object({ ok: z.literal(true) });
export const LogEntry = z.object({
  id: z.int(),
  at: Time,
  source: z.enum(['action', 'read', 'watch']),
  argv: z.array(z.string()),
  ok: z.boolean(),
  exitCode: z.nullable(z.int()),
  durationMs: Count,
  stdout: z.string(),
  stderr: z.string(),
});
export type LogEntry = z.infer<typeof LogEntry>;
export const Logs = z.object({
  ok: z.literal(true),
  /** Oldest first, `id` greater than `since`. */
  entries: z.array(LogEntry),
  /** Value for the next `since`: the id of the last entry, or of the newest kept entry if `since` is greater. */
  next: z.int(),
  /** Id of the oldest kept entry; null before the first entry. */
  oldest: z.nullable(z.int()),
  /** Number of entries after `since` that are no longer kept. */
  lost: z.int(),
  capacity: z.int(),
});
export type Logs = z.infer<typeof Logs>;

export const Health = z.object({
  ok: z.literal(true),
  app: z.literal('culvert'),
  version: z.string(),
  apiVersion: z.int(),
  pid: z.int(),
  port: z.nullable(z.int()),
  startedAt: Time,
  /** True if other machines have access (webui.allowRemote). */
  remoteAccess: z.boolean(),
  tunnelCli: TunnelCli,
});
export type Health = z.infer<typeof Health>;

export const Version = z.object({
  ok: z.literal(true),
  version: z.string(),
  commit: z.nullable(z.string()),
  node: z.string(),
  apiVersion: z.int(),
  installFormat: z.enum(['source', 'user', 'system', 'appimage', 'deb', 'rpm', 'arch']),
  tunnelCli: z.object({ version: z.nullable(z.string()) }),
});
export type Version = z.infer<typeof Version>;
