// One short function per route: what it asks of which part, and nothing else. A route without one does not compile.
import { API_VERSION, COMMIT, INSTALL_FORMAT, VERSION } from './about.ts';
import type { BodyOf, Endpoints, QueryOf, RequestLine, ResponseOf } from './api/contract.ts';
import type { Settings } from './config.ts';
import type { Features } from './features.ts';
import type { CommandLog } from './log.ts';
import type { State } from './state.ts';
import type { Tunnel } from './warp/tunnel.ts';

/** What the handlers work with. */
export interface Daemon {
  state: State;
  tunnel: Tunnel;
  settings: Settings;
  log: CommandLog;
  features: Features;
  startedAt: string;
  /** TCP port, or null while there is none. */
  port(): number | null;
}

export interface Input<L extends RequestLine> {
  body: BodyOf<L>;
  query: QueryOf<L>;
}
type Streamed = { [L in RequestLine]: Endpoints[L] extends { kind: 'stream' } ? L : never }[RequestLine];
export type Handlers = {
  [L in Exclude<RequestLine, Streamed>]: (daemon: Daemon, input: Input<L>) => ResponseOf<L> | Promise<ResponseOf<L>>;
};

const LOG_PAGE = 500;

export const handlers: Handlers = {
  'GET /api/health': ({ state, startedAt, port }) => ({
    ok: true,
    app: 'culvert',
    version: VERSION,
    apiVersion: API_VERSION,
    pid: process.pid,
    port: port(),
    startedAt,
    tunnelCli: state.snapshot().tunnelCli,
  }),
  'GET /api/version': ({ state }) => ({
    ok: true,
    version: VERSION,
    commit: COMMIT,
    node: process.versions.node,
    apiVersion: API_VERSION,
    installFormat: INSTALL_FORMAT,
    tunnelCli: { version: state.snapshot().tunnelCli.version },
  }),
  'GET /api/snapshot': async ({ state, tunnel }, { query }) => {
    await tunnel.refresh(query?.fresh === '1' ? 'all' : 'stale');
    return state.snapshot();
  },
  'GET /api/account': ({ tunnel }) => tunnel.account(),
  'POST /api/action': async ({ state, tunnel }, { body: { action, value } }) => {
    const result = await tunnel.perform(action, value);
    return { ok: true, action, result, revision: state.snapshot().revision };
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
    return { ok: true, entries, next: entries.at(-1)?.id ?? since, capacity: log.capacity };
  },
  'GET /api/openapi.json': async () => (await import('./api/openapi.ts')).openapi(VERSION),
  'GET /api/killswitch': async ({ features }) => ({ ok: true, ...(await (await features.killSwitch()).read()) }),
  'POST /api/killswitch': async ({ features }, { body }) => ({
    ok: true,
    ...(await (await features.killSwitch()).set(body)),
  }),
  'POST /api/killswitch/pause': async ({ features }, { body }) => ({
    ok: true,
    ...(await (await features.killSwitch()).pause(body.seconds)),
  }),
  'GET /api/apps': async ({ features }) => ({ ok: true, apps: await (await features.apps()).list() }),
  'POST /api/apps/proxy-launcher': async ({ features }, { body }) => (await features.apps()).launch(body),
  'POST /api/apps/shortcut': async ({ features }, { body }) => (await features.apps()).setShortcut(body),
  'GET /api/update/check': async ({ features }, { query }) => (await features.updates()).check(query?.fresh === '1'),
  'POST /api/update/apply': async ({ features }) => (await features.updates()).apply(),
  'POST /api/update/rollback': async ({ features }) => (await features.updates()).rollback(),
};
