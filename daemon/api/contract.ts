// Defines the contract: every endpoint by its request line. Server, clients and OpenAPI derive from it.
import * as z from 'zod/mini';
import { events } from './events.ts';
import * as d from './schema/doctor.ts';
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
  /**
   * `stream`: server-sent events; `response` is then the first event's data. `metrics`: OpenMetrics text, which `response`
   * is.
   */
  kind?: 'stream' | 'metrics';
}

const Digits = z.string().check(z.regex(/^\d{1,15}$/));
const Flag = z.enum(['0', '1']);

/** A mutation of the tunnel: what a blocked state, a failing or a hanging tunnel CLI answers. */
const tunnelProblems = [
  'argument-rejected',
  ...s.Blocked.options,
  'unsupported-by-cli',
  'tunnel-cli-failed',
  'tunnel-cli-timeout',
  'proxy-port-in-use',
  'proxy-not-answering',
  'config-not-writable',
  'busy',
] as const satisfies readonly s.ProblemCode[];

/** A change that reverts unless it is confirmed. */
const changeProblems = ['previous-unknown', 'state-not-writable'] as const satisfies readonly s.ProblemCode[];
const routesProblems = [
  'document-invalid',
  'routes-failed',
  'precondition-failed',
  ...changeProblems,
  ...tunnelProblems,
] as const satisfies readonly s.ProblemCode[];

const killSwitchProblems = [
  'killswitch-not-installed',
  'killswitch-denied',
  'killswitch-failed',
] as const satisfies readonly s.ProblemCode[];
const placeProblems = [
  'app-not-found',
  'app-launch-failed',
  ...killSwitchProblems,
] as const satisfies readonly s.ProblemCode[];
const updateProblems = [
  'update-refused',
  'update-not-applicable',
  'update-failed',
  'busy',
] as const satisfies readonly s.ProblemCode[];

/** Names of events, separated by commas. */
const EventNames = z.string().check(z.regex(namesOf(Object.keys(events))));

export const endpoints = {
  'GET /api/health': { summary: 'Whether the daemon answers, and what it drives', response: s.Health },
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
  'GET /api/account': {
    summary: 'The registration of this device',
    response: s.Account,
    problems: [
      'cli-missing',
      'cli-too-old',
      'service-stopped',
      'service-hangs',
      'terms-not-accepted',
      'not-authorized',
      'tunnel-cli-failed',
    ],
  },
  'POST /api/account/sign-in': {
    summary:
      'Finish a sign-in with the address that the browser hands over; only for the organization that `registerOrganization` named within the last 15 minutes',
    body: s.SignInRequest,
    response: s.ActionResponse,
    problems: ['precondition-failed', ...tunnelProblems],
  },
  'POST /api/action': {
    summary:
      'Perform an action; the reply says that the tunnel CLI accepted, the new state arrives as an event. ' +
      'With `confirmWithin` (seconds) the previous value returns unless the change is confirmed, with `forSeconds` it returns in any case',
    body: s.ActionRequest,
    response: s.ActionResponse,
    problems: [...tunnelProblems, ...changeProblems],
  },
  'GET /api/killswitch': { summary: 'State of the kill switch, measured', response: s.KillSwitchResponse },
  'POST /api/killswitch': {
    summary:
      'Set the kill switch; the reply is the state measured afterwards. With `confirmWithin` (seconds) the root service sets the previous value again unless the change is confirmed',
    body: s.KillSwitchRequest,
    response: s.KillSwitchResponse,
    problems: [...killSwitchProblems, 'unsupported-by-cli'],
  },
  'POST /api/killswitch/pause': {
    summary: 'Lift the block for some seconds, timed by the root service; 0 ends the pause',
    body: s.KillSwitchPause,
    response: s.KillSwitchResponse,
    problems: killSwitchProblems,
  },
  'GET /api/killswitch/sign-in': {
    summary:
      'What the last sign-in to a network let through, as the root service counted it; null where none ended since Culvert was started',
    response: s.KillSwitchSignIn,
    problems: killSwitchProblems,
  },
  'GET /api/killswitch/blocked': {
    summary:
      'What was blocked of this user in the last ten minutes, the latest first. Recording begins with the first request, and ends a minute after the last one unless `warp.recordBlocked` is set',
    response: s.BlockedResponse,
    problems: killSwitchProblems,
  },
  'GET /api/config': {
    summary: 'The merged configuration and the layer that set each key',
    response: s.ConfigResponse,
    etag: true,
  },
  'POST /api/config/session': {
    summary: 'Override keys until the daemon restarts; null removes an override',
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
  },
  'GET /api/events': {
    summary:
      'Live events; starts with the whole snapshot and the configuration, or replays after `Last-Event-ID`. ' +
      'With `only`, the named events alone; it then starts with the present value of each named part. With `brief=1`, snapshots and log entries of reads come without what the tunnel CLI printed. With `quiet=1`, no comment comes every 15 s',
    query: z.strictObject({ only: z.optional(EventNames), brief: z.optional(Flag), quiet: z.optional(Flag) }),
    response: s.Snapshot,
    kind: 'stream',
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
      'config-not-writable',
    ],
  },
  'POST /api/apps/tunnel-launcher': {
    summary: 'Launch an app that uses the tunnel only; its answer comes once the root service keeps it there',
    body: s.PlaceRequest,
    response: s.PlaceResponse,
    problems: placeProblems,
  },
  'POST /api/apps/outside-launcher': {
    summary: 'Launch an app outside the tunnel; its answer comes once the app has a network of its own',
    body: s.PlaceRequest,
    response: s.PlaceResponse,
    problems: placeProblems,
  },
  'POST /api/apps/shortcut': {
    summary:
      'Make or remove the desktop entry that starts an app through the local proxy, only through the tunnel, or outside it',
    body: s.ShortcutRequest,
    response: s.ShortcutResponse,
    problems: ['app-not-found', 'app-not-launchable', 'config-not-writable'],
  },
  'GET /api/update/check': {
    summary:
      'Whether a newer release exists; `problem` says what could not be read. An answer serves for minutes, unless `fresh=1`',
    query: z.strictObject({ fresh: z.optional(Flag) }),
    response: s.UpdateCheck,
  },
  'POST /api/update/apply': {
    summary: 'Fetch, verify and install the newest release, then restart; progress comes as `update` events',
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
  'POST /api/why': {
    summary:
      'Whether an address, a host or a URL would go through the tunnel, what decides that, and what the kernel says. A name is looked up',
    body: s.WhyRequest,
    response: s.Why,
  },
  'POST /api/proof': {
    summary:
      'Send a request to the trace page (`warp.traceUrl`), through the local proxy in its mode, and answer whether it came through the tunnel and from which address. Neither the daemon nor a client does so unless the user asks; the address is in this response only',
    body: s.ProofRequest,
    response: s.Proof,
  },
  'GET /api/routes': {
    summary: 'The split tunnel as a document, with the origin of each entry',
    response: s.Routes,
    problems: ['routes-failed', ...tunnelProblems],
  },
  'POST /api/routes/preview': {
    summary: 'What a document would change, its mistakes, and warnings; nothing is changed',
    body: s.RoutesPreviewRequest,
    response: s.RoutesPreview,
    problems: ['routes-failed', ...tunnelProblems],
  },
  'POST /api/routes': {
    summary:
      'Set the split tunnel to a document, or leave it as it is. Progress comes as `routes` events; the reply comes when the list is set, which takes minutes for thousands of entries',
    body: s.RoutesRequest,
    response: s.RoutesResponse,
    problems: routesProblems,
  },
  'POST /api/routes/undo': {
    summary: 'Go back to the document before; again, to the one before that',
    body: s.RoutesUndoRequest,
    response: s.RoutesResponse,
    problems: [...routesProblems, 'nothing-to-undo'],
  },
  'GET /api/routes/history': {
    summary: 'The last 20 documents, newest first; with `id`, this one with its text',
    query: z.strictObject({ id: z.optional(Digits) }),
    response: s.RoutesHistory,
    problems: ['not-found'],
  },
  'GET /api/routes/presets': {
    summary: 'Entries for the networks of this machine: its links, containers, virtual machines, Tailscale',
    response: s.RoutesPresets,
  },
  'GET /api/networks': {
    summary:
      'The physical links that are up, each with what identifies its network; the rules for networks, and what they do here. For two minutes after each request, changes come as `networks` events. Beacons of the rules are asked when the network or the rules change, and not for this request',
    response: s.Networks,
  },
  'POST /api/networks': {
    summary:
      'Set the rules for networks to a document. They hold immediately, and each time that the network changes; what they change now reverts with `confirmWithin` (seconds) unless it is confirmed',
    body: s.NetworksRequest,
    response: s.Networks,
    problems: ['document-invalid', 'precondition-failed', 'config-not-writable'],
  },
  'POST /api/networks/what-if': {
    summary: 'What the rules, or those of a document, would do here or on another network; nothing is changed',
    body: s.NetworksWhatIf,
    response: s.NetworksTried,
  },
  'POST /api/networks/answer': {
    summary:
      'Allow a rule to lower the protection on a network that only a copyable name or address proves, or refuse; `once` is until the network changes',
    body: s.NetworksAnswer,
    response: s.Networks,
    problems: ['not-found'],
  },
  'POST /api/networks/revert': {
    summary: 'Revert what the rules changed here; they do nothing more until the network changes',
    body: s.Empty,
    response: s.Networks,
  },
  'GET /api/settings/export': {
    summary: "The tunnel's settings, routes and Culvert's own configuration as TOML, without secrets",
    response: s.SettingsExport,
  },
  'POST /api/settings/diff': {
    summary: 'What a file of settings would change, and what this machine or version lacks; nothing is changed',
    body: s.SettingsDiffRequest,
    response: s.SettingsDiff,
    problems: ['routes-failed', ...tunnelProblems],
  },
  'POST /api/settings/apply': {
    summary: 'Set what a file of settings has, or change nothing; what this machine or version lacks is left out',
    body: s.SettingsApplyRequest,
    response: s.SettingsDiff,
    problems: ['key-not-settable', 'config-broken', ...routesProblems],
  },
  'POST /api/settings/undo': {
    summary: 'Set what was set before the last file of settings',
    body: s.SettingsUndoRequest,
    response: s.SettingsDiff,
    problems: ['nothing-to-undo', 'key-not-settable', 'config-broken', ...routesProblems],
  },
  'GET /api/accounts': {
    summary:
      'The accounts that culvert-wrap holds for command-line tools, without credentials. For two minutes after each request, changes come as `accounts` events; also while a stream with `only=accounts` is open',
    response: s.ToolAccounts,
  },
  'POST /api/accounts': {
    summary:
      'Have culvert-wrap change accounts or shims, or ask the providers what is left; the reply is the state afterwards',
    body: s.ToolAccountsChange,
    response: s.ToolAccounts,
    problems: ['wrapper-refused', 'wrapper-failed'],
  },
  'POST /api/trust': {
    summary:
      "The organization's certificates, and whether each tool of this machine trusts them, which it shows by connecting to this machine. Nothing leaves this machine without `host`, to which each connects as well, with the user's certificates and none of the user's other settings",
    body: s.TrustReportRequest,
    response: s.TrustReport,
    problems: ['trust-refused', 'busy'],
  },
  'POST /api/trust/apply': {
    summary:
      'Make tools trust the certificates, as `changes` of `POST /api/trust` shows it; without `tools`, all that can be changed',
    body: s.TrustRequest,
    response: s.TrustResponse,
    problems: ['trust-refused', 'busy'],
  },
  'POST /api/trust/undo': {
    summary: 'Undo these changes; without `tools`, all of them',
    body: s.TrustRequest,
    response: s.TrustResponse,
    problems: ['trust-refused', 'busy'],
  },
  'GET /api/history': {
    summary:
      'Changes of the state, samples of the statistics, and totals. `since` and `until` take a duration back from now (`2d`) or a time; `next` is the `cursor` of the next page',
    query: s.HistoryQuery,
    response: s.History,
  },
  'POST /api/history/clear': {
    summary: 'Delete the history; a `history` event notifies every client',
    body: s.Empty,
    response: s.HistoryClearResponse,
    problems: ['state-not-writable'],
  },
  'GET /api/metrics': {
    summary:
      'Metrics of the tunnel, the kill switch, the checks, the API and the accounts of tools, as OpenMetrics text; only with `metrics.enabled`. Counters begin with the first request',
    response: z.string(),
    problems: ['not-found'],
    kind: 'metrics',
  },
  'POST /api/changes/confirm': {
    summary:
      'Keep a change that would be reverted; without a subject, keep every unconfirmed one and acknowledge lost changes',
    body: s.ChangeRequest,
    response: s.Changes,
    problems: ['nothing-pending', 'state-not-writable', ...killSwitchProblems],
  },
  'POST /api/changes/revert': {
    summary: 'Revert a change now that would be reverted later; without a subject, every one',
    body: s.ChangeRequest,
    response: s.Changes,
    problems: ['nothing-pending', 'routes-failed', ...changeProblems, ...killSwitchProblems, ...tunnelProblems],
  },
  'POST /api/changes/extend': {
    summary: 'Change when a timed change ends',
    body: s.ExtendRequest,
    response: s.Changes,
    problems: ['nothing-pending', 'state-not-writable'],
  },
  'POST /api/doctor': {
    summary: 'Run the checks; each result also comes as a `doctor` event. Nothing leaves this machine without `online`',
    body: d.DoctorRequest,
    response: d.DoctorReport,
    problems: ['not-found'],
  },
  'POST /api/doctor/fix': {
    summary: 'Apply the fix of a check as it was shown; the reply has the result of the check afterwards',
    body: d.DoctorFixRequest,
    response: d.DoctorFixResponse,
    problems: ['not-found', 'precondition-failed', 'fix-needs-administrator', 'fix-failed', ...tunnelProblems],
  },
  'POST /api/doctor/undo': {
    summary: 'Undo the last fix',
    body: s.Empty,
    response: d.DoctorFixResponse,
    problems: ['fix-failed', ...tunnelProblems],
  },
  'POST /api/doctor/bundle': {
    summary:
      'A report to share: results of the checks, versions, state, configuration and command log, redacted. Nothing is sent anywhere',
    body: s.Empty,
    response: d.DoctorBundle,
  },
  'GET /api/openapi.json': { summary: 'This contract as OpenAPI 3.1', response: z.record(z.string(), z.unknown()) },
} as const satisfies Record<`${'GET' | 'POST'} /api/${string}`, Endpoint>;

export type Endpoints = typeof endpoints;
export type RequestLine = keyof Endpoints;
type Get<E, K extends PropertyKey> = E extends { [P in K]: infer T extends z.ZodMiniType } ? z.infer<T> : undefined;
/** The JSON body that a request line takes, or undefined. */
export type BodyOf<L extends RequestLine> = L extends `POST /api/config/${string}`
  ? s.ConfigPatch
  : L extends 'POST /api/action'
    ? s.ActionRequest
    : Get<Endpoints[L], 'body'>;
export type QueryOf<L extends RequestLine> = Get<Endpoints[L], 'query'>;
export type ResponseOf<L extends RequestLine> = Get<Endpoints[L], 'response'>;

function namesOf(names: string[]): RegExp {
  const one = `(${names.join('|')})`;
  return new RegExp(`^${one}(,${one}){0,${names.length - 1}}$`);
}
