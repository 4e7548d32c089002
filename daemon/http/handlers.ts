// One short function per route: what it asks of which part, and nothing else. A route without one does not compile.

import type { BodyOf, Endpoints, QueryOf, RequestLine, ResponseOf } from '../api/contract.ts';
import type { Settings } from '../config/layers.ts';
import type { Features } from '../controls.ts';
import { Problem } from '../problem.ts';
import type { CommandLog } from '../state/command-log.ts';
import type { State } from '../state/store.ts';
import { API_VERSION, COMMIT, VERSION } from '../system/build-info.ts';
import { installFormat } from '../system/install-paths.ts';
import { NOT_IN_DEMO } from '../view/states/proof.ts';
import type { SignIn } from '../warp/sign-in.ts';
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
  /** Ends the daemon after the replies in progress, and starts it again, as a demo or not. */
  restart(demo: boolean): void;
}

/** The client that sent a request. */
export interface Client {
  /** Has the browser of another machine keep the token of its request; does nothing for this machine. */
  keepToken(): void;
}

interface Input<L extends RequestLine> {
  body: BodyOf<L>;
  query: QueryOf<L>;
  client: Client;
}
type Streamed = { [L in RequestLine]: Endpoints[L] extends { kind: 'stream' } ? L : never }[RequestLine];
export type Handlers = {
  [L in Exclude<RequestLine, Streamed>]: (daemon: Daemon, input: Input<L>) => ResponseOf<L> | Promise<ResponseOf<L>>;
};

const LOG_PAGE = 500;
/** Time for the trace page, in seconds. */
const PROOF_SECONDS = 10;

type OpenApi = ResponseOf<'GET /api/openapi.json'>;
let document: OpenApi | undefined;

/** The OpenAPI document, once it was asked for. */
export function readyDocument(): OpenApi | undefined {
  return document;
}

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
    // first: the browser may be back before the tunnel CLI ends
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
    await tunnel.refresh('stale');
    const { explain } = await import('../routes/explain.ts');
    return explain(body.target, state.snapshot(), env);
  },
  'POST /api/proof': async ({ env, state, settings }, { body }) => {
    const { settings: now, tunnel, tunnelCli } = state.snapshot();
    const none = { through: false, answered: false, address: null, dataCenter: null };
    if (tunnelCli.emulated) return { ok: true, ...none, seen: NOT_IN_DEMO, at: new Date().toISOString() };
    const { traceThrough } = await import('../apps/launch/verify-tunnel.ts');
    // the port is known in other modes as well, and nothing listens there then
    const port = now.Mode === 'proxy' ? tunnel.proxyPort : null;
    const limitMs = (body.limitSeconds ?? PROOF_SECONDS) * 1000;
    const { warp } = settings.response().config;
    const { error, ...trace } = await traceThrough(port, warp.traceUrl, env, limitMs);
    if (error !== null) console.error(`culvert: ${warp.traceUrl}: ${error}`);
    return { ok: true, ...trace, at: new Date().toISOString() };
  },
  'GET /api/routes': async ({ features }) => (await features.routes()).read(),
  'POST /api/routes/preview': async ({ features }, { body }) => (await features.routes()).preview(body),
  'POST /api/routes': async ({ features }, { body }) => (await features.routes()).apply(body),
  'POST /api/routes/undo': async ({ features }, { body }) => (await features.routes()).undo(body),
  'GET /api/routes/history': async ({ features }, { query }) =>
    (await features.routes()).history(query?.id === undefined ? undefined : Number(query.id)),
  'GET /api/routes/presets': async ({ features }) => (await features.routes()).presets(),
  'GET /api/networks': async ({ features }) => (await features.networks()).read(),
  'POST /api/networks': async ({ features }, { body }) => (await features.networks()).set(body),
  'POST /api/networks/what-if': async ({ features }, { body }) => (await features.networks()).whatIf(body),
  'POST /api/networks/answer': async ({ features }, { body }) => (await features.networks()).answer(body),
  'POST /api/networks/revert': async ({ features }) => (await features.networks()).revert(),
  'GET /api/settings/export': async ({ features }) => (await features.settingsFile()).export(),
  'POST /api/settings/diff': async ({ features }, { body }) => (await features.settingsFile()).diff(body.toml),
  'POST /api/settings/apply': async ({ features }, { body }) => (await features.settingsFile()).apply(body),
  'POST /api/settings/undo': async ({ features }, { body }) => (await features.settingsFile()).undo(body.confirmWithin),
  'GET /api/accounts': async ({ features }) => (await features.toolAccounts()).read(),
  'POST /api/accounts': async ({ features }, { body }) => (await features.toolAccounts()).change(body),
  'POST /api/trust': async ({ features }, { body }) => (await features.trust()).report(body),
  'POST /api/trust/apply': async ({ features }, { body }) => (await features.trust()).apply(body),
  'POST /api/trust/undo': async ({ features }, { body }) => (await features.trust()).undo(body),
  'GET /api/history': async ({ features }, { query }) => (await features.history()).read(query),
  'POST /api/history/clear': async ({ features }) => (await features.history()).clear(),
  'GET /api/metrics': ({ features }) => features.metrics.text(),
  'POST /api/changes/confirm': ({ features }, { body }) => features.changes.confirm(body),
  'POST /api/changes/revert': ({ features }, { body }) => features.changes.revert(body),
  'POST /api/changes/extend': ({ features }, { body }) => features.changes.extend(body),
  'GET /api/openapi.json': async () => {
    const { openapi } = await import('../api/openapi.ts');
    document ??= openapi(VERSION);
    return document;
  },
  'GET /api/killswitch': async ({ features }) => ({ ok: true, ...(await (await features.killSwitch()).read()) }),
  'POST /api/killswitch': async ({ features }, { body }) => ({
    ok: true,
    ...(await (await features.killSwitch()).set(body)),
  }),
  'POST /api/killswitch/pause': async ({ features }, { body }) => ({
    ok: true,
    ...(await (await features.killSwitch()).pause(body.seconds)),
  }),
  'GET /api/killswitch/sign-in': async ({ features }) => ({
    ok: true,
    signIn: await (await features.killSwitch()).lastSignIn(),
  }),
  'GET /api/killswitch/blocked': async ({ features }) => ({
    ok: true,
    ...(await (await features.killSwitch()).blocked()),
  }),
  'GET /api/apps': async ({ features }) => ({ ok: true, apps: await (await features.apps()).list() }),
  'POST /api/apps/proxy-launcher': async ({ features }, { body }) => (await features.apps()).launch(body),
  'POST /api/apps/tunnel-launcher': async ({ features }, { body }) =>
    (await features.apps()).place(body, 'tunnel-only'),
  'POST /api/apps/outside-launcher': async ({ features }, { body }) => (await features.apps()).place(body, 'outside'),
  'POST /api/apps/shortcut': async ({ features }, { body }) => (await features.apps()).setShortcut(body),
  'GET /api/update/check': async ({ features }, { query }) => (await features.updates()).check(query?.fresh === '1'),
  'POST /api/update/apply': async ({ features }) => (await features.updates()).apply(),
  'POST /api/doctor': async ({ features }, { body }) => (await features.doctor()).run(body),
  'POST /api/doctor/fix': async ({ features }, { body }) => (await features.doctor()).fix(body),
  'POST /api/doctor/undo': async ({ features }) => (await features.doctor()).undo(),
  'POST /api/doctor/bundle': async ({ features, log }) => {
    const [doctor, history] = [await features.doctor(), await features.history()];
    return doctor.bundle(log.since(0, LOG_PAGE), history.read);
  },
  'POST /api/update/rollback': async ({ features }) => (await features.updates()).rollback(),
};
