// Defines the events of the contract. Daemon, clients and OpenAPI derive from it.
import * as z from 'zod/mini';
import * as d from './schema/doctor.ts';
import * as s from './schema.ts';

/** Data of each event of `GET /api/events`; `id:` is the revision. */
export const events = {
  snapshot: s.Snapshot,
  status: s.Status,
  settings: s.Settings,
  tunnel: s.Tunnel,
  splitTunnel: s.SplitTunnel,
  account: s.AccountSummary,
  tunnelCli: s.TunnelCli,
  killSwitch: s.KillSwitch,
  config: s.ConfigResponse,
  log: s.LogEntry,
  update: s.UpdateCheck,
  doctor: d.DoctorProgress,
  options: s.Options,
  diagnosis: z.nullable(d.Diagnosis),
  remoteAccess: z.nullable(s.RemoteAccess),
  changes: z.array(s.Change),
  lostChanges: s.Snapshot.shape.lostChanges,
  reminder: s.Snapshot.shape.reminder,
  lastPause: s.Snapshot.shape.lastPause,
  toolAccounts: s.Snapshot.shape.toolAccounts,
  networks: s.Snapshot.shape.networks,
  trust: s.Snapshot.shape.trust,
  routes: s.RoutesProgress,
  accounts: s.ToolAccounts,
  history: s.HistoryCleared,
  gap: z.object({ revision: z.int() }),
  bye: z.object({ reason: z.string() }),
} as const;
export type EventName = keyof typeof events;
export type EventData<N extends EventName> = z.infer<(typeof events)[N]>;
