// Defines the contract: every endpoint by request line, and every event. Server, clients and OpenAPI derive from it.
import * as z from 'zod/mini';
import { Diagnosis, DoctorProgress, doctorEndpoints } from './doctor.ts';
import { Digits, type EndpointTable, Flag } from './endpoint.ts';
import * as s from './schema.ts';

/** Data of each `GET /api/events` event; its `id:` is the revision. */
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
  doctor: DoctorProgress,
  options: s.Options,
  diagnosis: z.nullable(Diagnosis),
  remoteAccess: z.nullable(s.RemoteAccess),
  changes: z.array(s.Change),
  lostChanges: s.Snapshot.shape.lostChanges,
  reminder: s.Snapshot.shape.reminder,
  lastPause: s.Snapshot.shape.lastPause,
  toolAccounts: s.Snapshot.shape.toolAccounts,
  networks: s.Snapshot.shape.networks,
  trust: s.Snapshot.shape.trust,
  hasOldParts: s.Snapshot.shape.hasOldParts,
  routes: s.RoutesProgress,
  accounts: s.ToolAccounts,
  history: s.HistoryCleared,
  gap: z.object({ revision: z.int() }),
  bye: z.object({ reason: z.string() }),
} as const;
export type EventName = keyof typeof events;
export type EventData<N extends EventName> = z.infer<(typeof events)[N]>;

/** Names of events, separated by commas. */
const EventNames = z.string().check(z.regex(listPattern(Object.keys(events))));

export const endpoints = {
  'GET /api/health': { summary: 'Check that the daemon answers, and what it drives', response: s.Health },
  'GET /api/version': { summary: 'Versions of the daemon, its API, Node and the tunnel CLI', response: s.Version },
  'POST /api/restart': {
    summary:
      'Start the daemon again, with the embedded emulator (`demo`) or with the tunnel CLI; changes that are not confirmed are reverted first',
    body: s.RestartRequest,
    response: s.RestartResponse,
  },
  'POST /api/session': {
    summary: 'Have the browser of another machine keep the token that this request carries, as a cookie',
    body: s.Empty,
    response: z.object({ ok: z.literal(true) }),
  },
  'GET /api/snapshot': {
    summary: 'Everything a client shows; what went stale is read again first, everything with `fresh=1`',
    query: z.strictObject({ fresh: z.optional(Flag) }),
    response: s.Snapshot,
    etag: true,
  },
  ...s.tunnelEndpoints,
  ...s.killSwitchEndpoints,
  ...s.configEndpoints,
  'GET /api/logs': {
    summary: 'The redacted log of commands given to the tunnel CLI',
    query: z.strictObject({ since: z.optional(Digits), limit: z.optional(Digits) }),
    response: s.Logs,
  },
  'GET /api/events': {
    summary:
      'Live events; starts with the whole snapshot and the configuration, or replays after `Last-Event-ID`. ' +
      'With `only`, the named events alone; it then starts with the present value of each named part. With `brief=1`, snapshots and log entries of reads come without what the tunnel CLI printed. With `quiet=1`, no comment comes every 15 s',
    query: z.strictObject({ only: z.optional(EventNames), brief: z.optional(Flag), quiet: z.optional(Flag) }),
    response: s.Snapshot,
    kind: 'stream',
  },
  ...s.appsEndpoints,
  ...s.updateEndpoints,
  ...s.whyEndpoints,
  ...s.routesEndpoints,
  ...s.networksEndpoints,
  ...s.settingsEndpoints,
  ...s.accountsEndpoints,
  ...s.trustEndpoints,
  ...s.historyEndpoints,
  'GET /api/metrics': {
    summary:
      'Metrics of the tunnel, the kill switch, the checks, the API and the accounts of tools, as OpenMetrics text; only with `metrics.enabled`. Counters begin with the first request',
    response: z.string(),
    problems: ['not-found'],
    kind: 'metrics',
  },
  ...s.changesEndpoints,
  ...doctorEndpoints,
  'GET /api/openapi.json': {
    summary: 'This contract as OpenAPI 3.1',
    response: z.record(z.string(), z.unknown()),
    constant: true,
  },
} as const satisfies EndpointTable;

export type Endpoints = typeof endpoints;
export type RequestLine = keyof Endpoints;
type Get<E, K extends PropertyKey> = E extends { [P in K]: infer T extends z.ZodMiniType } ? z.infer<T> : undefined;
/** The JSON body of a request line, or undefined. */
export type BodyOf<L extends RequestLine> = L extends `POST /api/config/${string}`
  ? s.ConfigPatch
  : L extends 'POST /api/action'
    ? s.ActionRequest
    : Get<Endpoints[L], 'body'>;
export type QueryOf<L extends RequestLine> = Get<Endpoints[L], 'query'>;
export type ResponseOf<L extends RequestLine> = Get<Endpoints[L], 'response'>;

function listPattern(names: string[]): RegExp {
  const one = `(${names.join('|')})`;
  return new RegExp(`^${one}(,${one}){0,${names.length - 1}}$`);
}
