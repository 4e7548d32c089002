// Defines the wire types: every JSON shape that crosses the API, as a zod schema and a type of the same name.
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

/** Other machines may use page and API: webui.allowRemote. */
export const RemoteAccess = z.object({
  /** webui.address: where a reverse proxy or a name leads to this daemon. */
  address: z.nullable(z.string()),
});
export type RemoteAccess = z.infer<typeof RemoteAccess>;

/** All that a client shows; one per revision. */
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
  /** Result of the last check for updates; null before one. */
  update: z.nullable(UpdateCheck),
  /** The most likely cause of a tunnel that fails, or is connected and carries nothing; null if no cause is likely. */
  diagnosis: z.nullable(Diagnosis),
  /** null while no other machine is let in. */
  remoteAccess: z.nullable(RemoteAccess),
  /** Changes that revert automatically: unconfirmed, or made for a while. */
  changes: z.array(Change),
  /**
   * The file of changes that were to revert can't be read, so they stay; null otherwise. It is null again after a
   * confirmation without a subject, and after the next change.
   */
  lostChanges: z.nullable(z.object({ file: z.string() })),
  /** The tunnel was up, and has been off for longer than `reminders.offMinutes`. */
  reminder: z.nullable(z.object({ offSince: Time })),
  /** The length of the user's last pause, which clients offer first; null before one. */
  lastPause: z.nullable(z.object({ seconds: ForSeconds })),
  /**
   * Clients offer the page of tool accounts where a shim of culvert-wrap is installed, or a tool of its catalog other than npm is on
   * the daemon's PATH.
   */
  toolAccounts: z.object({ offered: z.boolean() }),
  /** The networks of this machine; null while no client reads them and no rule needs them. Absent in older versions. */
  networks: z.optional(z.nullable(NetworksState)),
  /** The organization's certificate for tools. Absent in older versions. */
  trust: z.optional(TrustState),
  commands: Commands,
  /** Parts that could not be read again in time; such an answer has no ETag. */
  stale: z.optional(z.array(StalePart)),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** `demo`: the embedded emulator instead of the tunnel CLI. */
export const RestartRequest = z.strictObject({ demo: z.boolean() });
/** The daemon restarts after this reply. */
export const RestartResponse = z.object({ ok: z.literal(true) });
export const LogEntry = z.object({
  id: z.int(),
  at: Time,
  /** Origin of the command: `action`, `read`, or `watch`. */
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
  /** Pass as the next `since`: the id of the last entry, or of the newest one where `since` is beyond it. */
  next: z.int(),
  /** Id of the oldest entry that is kept, or null before the first. */
  oldest: z.nullable(z.int()),
  /** Entries after `since` that are no longer kept. */
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
  /** Other machines are let in: webui.allowRemote. */
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
