// The contract: every endpoint by its request line, and every event. Server, clients and OpenAPI derive from it.
import * as z from 'zod/mini';
import * as s from './schema.ts';

export interface Endpoint {
  summary: string;
  query?: z.ZodMiniObject;
  body?: z.ZodMiniType;
  response: z.ZodMiniType;
  /** Codes beyond those that the guard and the body's validation can always answer. */
  problems?: readonly s.ProblemCode[];
  /** Answers carry an ETag. */
  etag?: true;
  /** `stream`: server-sent events; `response` is then the first event's data. */
  kind?: 'stream';
}

const Digits = z.string().check(z.regex(/^\d{1,15}$/));
const Flag = z.enum(['0', '1']);

/** A mutation of the tunnel: what a blocked state, a failing or a hanging tunnel CLI answers. */
const tunnelProblems = [
  'argument-rejected',
  'cli-missing',
  'service-stopped',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
  'unsupported-by-cli',
  'tunnel-cli-failed',
  'tunnel-cli-timeout',
  'proxy-port-in-use',
  'proxy-not-answering',
  'config-not-writable',
  'busy',
] as const satisfies readonly s.ProblemCode[];

const killSwitchProblems = [
  'killswitch-not-installed',
  'killswitch-denied',
  'killswitch-failed',
] as const satisfies readonly s.ProblemCode[];
const updateProblems = [
  'update-refused',
  'update-not-applicable',
  'update-failed',
  'busy',
] as const satisfies readonly s.ProblemCode[];

export const endpoints = {
  'GET /api/health': { summary: 'Whether the daemon answers, and on what it stands', response: s.Health },
  'GET /api/version': { summary: 'Versions of the daemon, its API, Node and the tunnel CLI', response: s.Version },
  'GET /api/snapshot': {
    summary: 'Everything a client shows; what went stale is read again first, everything with `fresh=1`',
    query: z.strictObject({ fresh: z.optional(Flag) }),
    response: s.Snapshot,
    etag: true,
  },
  'GET /api/account': { summary: 'The registration of this device', response: s.Account },
  'POST /api/action': {
    summary: 'Perform an action; the reply says that the tunnel CLI accepted, the new state arrives as an event',
    body: s.ActionRequest,
    response: s.ActionResponse,
    problems: tunnelProblems,
  },
  'GET /api/killswitch': { summary: 'State of the kill switch, measured', response: s.KillSwitchResponse },
  'POST /api/killswitch': {
    summary: 'Set the kill switch; the reply is the state measured afterwards',
    body: s.KillSwitchRequest,
    response: s.KillSwitchResponse,
    problems: killSwitchProblems,
  },
  'POST /api/killswitch/pause': {
    summary: 'Lift the block for some seconds, timed by the root service; 0 ends the pause',
    body: s.KillSwitchPause,
    response: s.KillSwitchResponse,
    problems: killSwitchProblems,
  },
  'GET /api/config': {
    summary: 'The merged configuration and the layer that set each key',
    response: s.ConfigResponse,
    etag: true,
  },
  'POST /api/config/session': {
    summary: 'Override keys until the daemon restarts; null takes an override back',
    body: s.ConfigPatch,
    response: s.ConfigResponse,
    etag: true,
    problems: ['key-not-settable', 'precondition-failed'],
  },
  'POST /api/config/user': {
    summary: "Change the user's configuration file; null removes a key",
    body: s.ConfigPatch,
    response: s.ConfigResponse,
    etag: true,
    problems: ['key-not-settable', 'precondition-failed', 'config-broken', 'config-not-writable'],
  },
  'GET /api/logs': {
    summary: 'The redacted log of commands given to the tunnel CLI',
    query: z.strictObject({ since: z.optional(Digits), limit: z.optional(Digits) }),
    response: s.Logs,
    problems: ['invalid-query'],
  },
  'GET /api/events': {
    summary: 'Live events; starts with the whole snapshot, or replays after `Last-Event-ID`',
    response: s.Snapshot,
    kind: 'stream',
    problems: ['busy'],
  },
  'GET /api/apps': { summary: 'Apps of this desktop, and how each takes the local proxy', response: s.Apps },
  'POST /api/apps/proxy-launcher': {
    summary: 'Launch an app through the local proxy',
    body: s.LaunchRequest,
    response: s.LaunchResponse,
    problems: [
      'app-not-found',
      'app-not-launchable',
      'app-launch-failed',
      'proxy-not-enabled',
      'proxy-not-answering',
      'proxy-not-verified',
    ],
  },
  'POST /api/apps/shortcut': {
    summary: 'Make or remove the desktop entry that starts an app through the local proxy',
    body: s.ShortcutRequest,
    response: s.ShortcutResponse,
    problems: ['app-not-found', 'app-not-launchable', 'config-not-writable'],
  },
  'GET /api/update/check': {
    summary:
      'Whether a newer release exists; what could not be had stands in `problem`. An answer serves for minutes, unless `fresh=1`',
    query: z.strictObject({ fresh: z.optional(Flag) }),
    response: s.UpdateCheck,
  },
  'POST /api/update/apply': {
    summary: 'Fetch, verify and install the newest release, then restart as it; progress comes as `update` events',
    body: s.Empty,
    response: s.UpdateResponse,
    problems: updateProblems,
  },
  'POST /api/update/rollback': {
    summary: 'Go back to the version before the last update, and restart as it',
    body: s.Empty,
    response: s.UpdateResponse,
    problems: updateProblems,
  },
  'GET /api/openapi.json': { summary: 'This contract as OpenAPI 3.1', response: z.record(z.string(), z.unknown()) },
} as const satisfies Record<`${'GET' | 'POST'} /api/${string}`, Endpoint>;

export type Endpoints = typeof endpoints;
export type RequestLine = keyof Endpoints;
type Get<E, K extends PropertyKey> = E extends { [P in K]: infer T extends z.ZodMiniType } ? z.infer<T> : undefined;
/** The JSON body that a request line takes, or undefined. */
export type BodyOf<L extends RequestLine> = L extends `POST /api/config/${string}`
  ? s.ConfigPatch
  : Get<Endpoints[L], 'body'>;
export type QueryOf<L extends RequestLine> = Get<Endpoints[L], 'query'>;
export type ResponseOf<L extends RequestLine> = Get<Endpoints[L], 'response'>;

/** Data of each event of `GET /api/events`; `id:` is the revision. */
export const events = {
  snapshot: s.Snapshot,
  status: s.Status,
  settings: s.Settings,
  stats: s.Tunnel,
  splitTunnel: s.SplitTunnel,
  account: s.AccountSummary,
  tunnelCli: s.TunnelCli,
  killSwitch: s.KillSwitch,
  config: s.ConfigResponse,
  log: s.LogEntry,
  accounts: z.record(z.string(), z.unknown()),
  update: s.UpdateCheck,
  gap: z.object({ revision: z.int() }),
  bye: z.object({ reason: z.string() }),
} as const;
export type EventName = keyof typeof events;
export type EventData<N extends EventName> = z.infer<(typeof events)[N]>;
