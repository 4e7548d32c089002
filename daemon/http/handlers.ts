// Answers requests that belong to no feature, and the most frequent requests without Koa.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoints, RequestLine, ResponseOf } from '../api/contract.ts';
import type { Settings } from '../config/layers.ts';
import type { FeatureName, Input, LinesOf } from '../feature.ts';
import type { Features } from '../features.ts';
import { Problem } from '../problem.ts';
import type { CommandLog, State } from '../state/store.ts';
import { API_VERSION, COMMIT, installFormat, VERSION } from '../system/installation.ts';
import { NOT_IN_DEMO } from '../view/states/proof.ts';
import type { SignIn } from '../warp/consent.ts';
import type { Tunnel } from '../warp/tunnel.ts';

/** Dependencies of the handlers. */
export interface Daemon {
  env: NodeJS.ProcessEnv;
  state: State;
  tunnel: Tunnel;
  settings: Settings;
  log: CommandLog;
  features: Features;
  startedAt: string;
  /** Directory of the built browser page. */
  webui: string;
  /** TCP port; null while none is open. */
  port(): number | null;
  signIn: SignIn;
  /** Ends the daemon after the replies in progress, and starts it again, as a demo or normally. */
  restart(demo: boolean): void;
}

/** The client that sent a request. */
export interface Client {
  /** Makes a browser on another machine keep the request's token; does nothing on this machine. */
  keepToken(): void;
}

type Streamed = { [L in RequestLine]: Endpoints[L] extends { kind: 'stream' } ? L : never }[RequestLine];
/** Handlers by request line. A route without a function, here or in a feature, does not compile. */
type Handlers = {
  [L in Exclude<RequestLine, Streamed | LinesOf<FeatureName>>]: (
    daemon: Daemon,
    input: Input<L> & { client: Client },
  ) => ResponseOf<L> | Promise<ResponseOf<L>>;
};

const LOG_PAGE = 500;
/** Time limit for the trace page, in seconds. */
const PROOF_SECONDS = 10;

/** The OpenAPI document, created when a client first asks for it. */
let openApiDocument: ResponseOf<'GET /api/openapi.json'> | undefined;

export const handlers: Handlers = {
  'POST /api/session': (_daemon, { client }) => {
    client.keepToken();
    return { ok: true };
  },
  'POST /api/restart': ({ restart }, { body }) => {
    setImmediate(restart, body.demo); // after the reply is written
    return { ok: true };
  },
  'GET /api/health': ({ state, startedAt, port }) => ({
    ok: true,
    app: 'culvert',
    version: VERSION,
    apiVersion: API_VERSION,
    pid: process.pid,
    port: port(),
    startedAt,
    remoteAccess: state.snapshot().remoteAccess !== null,
    tunnelCli: state.snapshot().tunnelCli,
  }),
  'GET /api/version': ({ state }) => ({
    ok: true,
    version: VERSION,
    commit: COMMIT,
    node: process.versions.node,
    apiVersion: API_VERSION,
    installFormat: installFormat(),
    tunnelCli: { version: state.snapshot().tunnelCli.version },
  }),
  'GET /api/snapshot': async ({ state, tunnel }, { query }) => {
    await tunnel.refresh(query?.fresh === '1' ? 'all' : 'stale');
    const stale = tunnel.stale();
    if (stale.some(({ part, ageSeconds }) => part === 'settings' && ageSeconds === null))
      throw new Problem('busy', 'The settings of the tunnel are being read for the first time. Try again in a moment.');
    return stale.length ? { ...state.snapshot(), stale } : state.snapshot();
  },
  'GET /api/account': ({ tunnel }) => tunnel.account(),
  'POST /api/account/sign-in': async ({ state, signIn }, { body }) => {
    const result = await signIn.finish(body.address);
    return { ok: true, action: 'setRegistrationToken', result, revision: state.snapshot().revision };
  },
  'POST /api/action': async ({ state, features, signIn }, { body }) => {
    // begins first, because the browser may return before the tunnel CLI ends
    if (body.action === 'registerOrganization') signIn.begin(body.value);
    const result = await features.changes.runWithLimit(body);
    return { ok: true, action: body.action, result, revision: state.snapshot().revision };
  },
  'GET /api/config': ({ settings }) => settings.response(),
  'POST /api/config/session': ({ settings }, { body }) => {
    settings.setSession(body);
    return settings.response();
  },
  'POST /api/config/user': async ({ settings }, { body }) => {
    await settings.setUser(body);
    return settings.response();
  },
  'GET /api/logs': ({ log }, { query }) => {
    const since = Number(query?.since ?? 0);
    const entries = log.since(since, Math.min(Number(query?.limit ?? LOG_PAGE), LOG_PAGE));
    const { oldestId, lastId, capacity } = log;
    // ids begin at 1 again when the daemon restarts: a `since` of an earlier run must not stay ahead forever
    const next = entries.at(-1)?.id ?? Math.min(since, lastId);
    const lost = oldestId === null ? 0 : Math.max(0, oldestId - 1 - since);
    return { ok: true, entries, next, oldest: oldestId, lost, capacity };
  },
  'POST /api/why': async ({ env, state, tunnel }, { body }) => {
    await tunnel.refresh('lists');
    const { explain } = await import('../routes/explain.ts');
    return explain(body.target, { ...state.snapshot(), stale: tunnel.stale() }, env);
  },
  'POST /api/proof': async ({ env, state, settings }, { body }) => {
    const { settings: now, tunnel, tunnelCli } = state.snapshot();
    const none = { through: false, answered: false, address: null, dataCenter: null };
    if (tunnelCli.emulated) return { ok: true, ...none, seen: NOT_IN_DEMO, at: new Date().toISOString() };
    const { traceThrough } = await import('../apps/trace.ts');
    // other modes report the port as well, but nothing listens on it then
    const port = now.Mode === 'proxy' ? tunnel.proxyPort : null;
    const limitMs = (body.limitSeconds ?? PROOF_SECONDS) * 1000;
    const { warp } = settings.response().config;
    const { error, ...trace } = await traceThrough(port, warp.traceUrl, env, limitMs);
    if (error !== null) console.error(`culvert: ${warp.traceUrl}: ${error}`);
    return { ok: true, ...trace, at: new Date().toISOString() };
  },
  'GET /api/openapi.json': async () => {
    const { openapi } = await import('../api/openapi.ts');
    openApiDocument ??= openapi(VERSION);
    return openApiDocument;
  },
};

const CLIENT: Client = { keepToken() {} };
const NO_INPUT = { body: undefined, query: undefined, client: CLIENT };

/**
 * Answers health requests and current snapshots without Koa, so that bars and probes alone never load it.
 * @returns false for any other route, and for a snapshot that needs a read first
 */
export function quickResponses(daemon: Daemon): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { state, tunnel } = daemon;
  return (request, response) => {
    if (request.url === '/api/health') {
      send(response, handlers['GET /api/health'](daemon, NO_INPUT), 'cache-control', 'no-store');
      return true;
    }
    if (request.url !== '/api/snapshot' || !tunnel.isFresh()) return false;
    const snapshot = state.snapshot();
    const etag = etagOf(snapshot);
    const etags = request.headers['if-none-match'];
    if (etags !== undefined && etagMatches(etags, etag)) {
      response.writeHead(304, ['etag', etag]);
      response.end();
    } else send(response, snapshot, 'cache-control', 'no-cache', 'etag', etag);
    return true;
  };
}

function send(response: ServerResponse, value: object, ...headers: string[]): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(200, [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(body.length),
    'x-content-type-options',
    'nosniff',
    ...headers,
  ]);
  response.end(body);
}

/** Returns the strong ETag (RFC 9110, 8.8.3) of a revision. */
export function etagOf({ revision }: { revision: number }): string {
  return `"${revision}"`;
}

/** Reports whether `If-None-Match` or `If-Match` (RFC 9110, 13.1) names this ETag. */
export function etagMatches(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag);
}
