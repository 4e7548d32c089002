// Defines the wire types: every JSON shape that crosses the API, as a zod schema and a type of the same name.
import * as z from 'zod/mini';
import * as actions from './actions.ts';
import { Change, type ChangeOptions, ConfirmWithin, ForSeconds } from './schema/changes.ts';
import { Diagnosis } from './schema/doctor.ts';
import { KillSwitch } from './schema/traffic/killswitch.ts';
import { NetworksState } from './schema/traffic/networks.ts';
import {
  AccountSummary,
  CommandOutput,
  Commands,
  Options,
  Settings,
  SplitTunnel,
  StalePart,
  Status,
  Tunnel,
  TunnelCli,
} from './schema/traffic/tunnel.ts';
import { TrustState } from './schema/trust.ts';
import { UpdateCheck } from './schema/update.ts';
import { Time } from './schema/values.ts';

export * from './schema/account.ts';
export * from './schema/accounts.ts';
export * from './schema/changes.ts';
export * from './schema/config.ts';
export * from './schema/history.ts';
export * from './schema/log.ts';
export * from './schema/problem.ts';
export * from './schema/settings-file.ts';
export * from './schema/traffic/apps.ts';
export * from './schema/traffic/blocked.ts';
export * from './schema/traffic/killswitch.ts';
export * from './schema/traffic/networks.ts';
export * from './schema/traffic/proof.ts';
export * from './schema/traffic/routes.ts';
export * from './schema/traffic/sign-in.ts';
export * from './schema/traffic/tunnel.ts';
export * from './schema/traffic/why.ts';
export * from './schema/trust.ts';
export * from './schema/update.ts';

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

export const ActionName = z.enum(actions.ACTION_NAMES);
export type ActionName = actions.ActionName;

/** A mutation that takes nothing; still a JSON body, so that no web page can send it. */
export const Empty = z.strictObject({});
export type Empty = z.infer<typeof Empty>;
/** The address, with its token. */
export const SignInRequest = z.strictObject({ address: z.string().check(z.maxLength(8192)) });
/** `demo`: the embedded emulator instead of the tunnel CLI. */
export const RestartRequest = z.strictObject({ demo: z.boolean() });
/** The daemon restarts after this reply. */
export const RestartResponse = z.object({ ok: z.literal(true) });
/** The daemon's grammar checks the value against its action, and names the expected form. */
export const ActionRequest = z.strictObject({
  action: ActionName,
  value: z.optional(z.string()),
  confirmWithin: z.optional(ConfirmWithin),
  forSeconds: z.optional(ForSeconds),
  /** The change belongs to the change of routes before it: `POST /api/routes/undo` reverts both. */
  continues: z.optional(z.boolean()),
});
/** Only the actions that change a `Subject` take the options. */
export type ActionRequest = actions.ActionRequest & ChangeOptions;
/** The reply says that the tunnel CLI accepted; the new state arrives as an event. */
export const ActionResponse = z.object({
  ok: z.literal(true),
  action: ActionName,
  result: z.nullable(CommandOutput),
  revision: z.int(),
});
export type ActionResponse = z.infer<typeof ActionResponse>;

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
