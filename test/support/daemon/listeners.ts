// Listeners on a free port and a Unix socket in a temporary directory, and raw requests to it: bytes out, answer in.
import { mkdtempSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolAccounts } from '../../../daemon/api/accounts.ts';
import { openapi } from '../../../daemon/api/openapi.ts';
import type { ActionName, CommandOutput, UpdateCheck } from '../../../daemon/api/schema.ts';
import { openChanges } from '../../../daemon/changes/index.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { KillSwitchControl } from '../../../daemon/controls.ts';
import type { HandlersOf, LinesOf } from '../../../daemon/feature.ts';
import { openHistory } from '../../../daemon/history/index.ts';
import { LIMITS, type Limits } from '../../../daemon/http/guard.ts';
import type { Daemon } from '../../../daemon/http/handlers.ts';
import { createListeners, type Listeners } from '../../../daemon/http/listeners.ts';
import { type RemoteAccess, tokenCheck } from '../../../daemon/http/token.ts';
import { answerWith } from '../../../daemon/killswitch/client/index.ts';
import { type MetricsFeature, openMetrics } from '../../../daemon/metrics/index.ts';
import { openNetworks } from '../../../daemon/networks/index.ts';
import type { Reading } from '../../../daemon/networks/links.ts';
import { openRoutes } from '../../../daemon/routes/index.ts';
import { openSettingsFile } from '../../../daemon/settings-file/index.ts';
import { createLog, createState, NO_KILL_SWITCH } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { createSignIn } from '../../../daemon/warp/consent.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';
import { freePort } from '../ports.ts';
import { removeTree } from '../temporary.ts';

export interface Running {
  listeners: Listeners;
  daemon: Daemon;
  port: number;
  socket: string;
  directory: string;
  /** The daemon's reports on stderr. */
  said: string[];
  /** Actions that reached the tunnel. */
  performed: [ActionName, string | undefined][];
  /** Answers requests for the kill switch; a test may replace its methods. */
  killSwitch: KillSwitchControl;
  /** The network as it is read. */
  network: Reading;
  history: ReturnType<typeof openHistory>;
  metrics: MetricsFeature;
}

export const OUTPUT: CommandOutput = {
  ok: true,
  argv: ['warp-cli', 'connect'],
  exitCode: 0,
  stdout: 'Success\n',
  stderr: '',
  durationMs: 1,
  at: '2026-01-01T00:00:00.000Z',
};

const UPDATE: UpdateCheck = {
  ok: true,
  current: '1.0.0',
  channel: 'stable',
  latest: null,
  updateAvailable: false,
  manifest: null,
  checkedAt: '2026-01-01T00:00:00.000Z',
  problem: null,
  source: { state: 'ok', lastAnswerAt: null },
  applicable: false,
  command: null,
  previous: null,
  progress: null,
};
const NO_TOOLS: ToolAccounts = { ok: true, tools: [], refreshing: false, problem: null };
const FIXED = { ok: true as const, done: [], result: null };
/** Requests that are answered immediately, and always in the same way. */
const HANDLERS: HandlersOf<LinesOf<'apps' | 'doctor' | 'accounts' | 'trust' | 'update'>> = {
  'GET /api/apps': () => ({ ok: true, apps: [] }),
  'POST /api/apps/proxy-launcher': ({ body: { appId } }) => ({
    ok: true,
    appId,
    pid: null,
    proxy: { host: '127.0.0.1', port: 40000 },
    shortcut: null,
  }),
  'POST /api/apps/tunnel-launcher': ({ body: { appId } }) => ({ ok: true, appId, pid: null, limits: [] }),
  'POST /api/apps/outside-launcher': ({ body: { appId } }) => ({ ok: true, appId, pid: null, limits: [] }),
  'POST /api/apps/shortcut': ({ body: { appId } }) => ({ ok: true, appId, shortcut: null }),
  'POST /api/doctor': () => ({
    ok: true,
    generatedAt: UPDATE.checkedAt,
    results: [],
    undo: [],
    durationMs: 0,
    processes: 0,
  }),
  'POST /api/doctor/fix': () => FIXED,
  'POST /api/doctor/undo': () => FIXED,
  'POST /api/doctor/bundle': () => ({ ok: true, files: [], redacted: {}, archive: '' }),
  'GET /api/accounts': () => NO_TOOLS,
  'POST /api/accounts': () => NO_TOOLS,
  'POST /api/trust': () => ({ ok: true, certificates: [], refused: [], tools: [], removalDue: false }),
  'POST /api/trust/apply': () => ({ ok: true, done: [] }),
  'POST /api/trust/undo': () => ({ ok: true, done: [] }),
  'GET /api/update/check': () => UPDATE,
  'POST /api/update/apply': () => ({ ok: true, from: '1.0.0', to: '1.0.1' }),
  'POST /api/update/rollback': () => ({ ok: true, from: '1.0.1', to: '1.0.0' }),
};

/** The listeners over a tunnel that only records; ended with the test. */
export async function startListeners(
  t: { after(end: () => Promise<void>): unknown },
  options: {
    limits?: Partial<Limits>;
    uid?: number;
    tunnel?: Partial<Tunnel>;
    remote?: string;
    access?: Partial<RemoteAccess>;
  } = {},
): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-listeners-'));
  const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false });
  const performed: Running['performed'] = [];
  const said: string[] = [];
  const killSwitch: KillSwitchControl = {
    start() {},
    async stop() {},
    async reapply() {},
    read: async () => NO_KILL_SWITCH,
    set: async () => NO_KILL_SWITCH,
    pause: async () => NO_KILL_SWITCH,
    decide: async () => NO_KILL_SWITCH,
    blocked: async () => ({ recordingSince: null, entries: [], hidden: 0, missed: 0 }),
  };
  const running = { performed, said, killSwitch, network: { service: null, links: [] } as Reading };
  const tunnel = {
    start() {},
    async stop() {},
    async runAction({ action, value }) {
      performed.push([action, value]);
      return OUTPUT;
    },
    async refresh() {},
    async readFigures() {},
    batch: work => work(),
    supports: async () => true,
    isFresh: () => true,
    stale: () => [],
    changing: () => null,
    account: async () => ({
      ok: true,
      registered: true,
      type: 'free',
      organization: null,
      deviceId: 'd',
      accountId: 'a',
      license: null,
      managed: false,
      devices: [],
    }),
    ...options.tunnel,
  } as Tunnel;
  const log = createLog({ capacity: 10, onEntry: entry => state.publish('log', entry) });
  const settings = await loadConfig({ system: join(directory, 'system.json'), user: join(directory, 'user.json') }, {});
  let port = 0;
  const startedAt = new Date().toISOString();
  const env = { PATH: process.env.PATH, HOME: directory };
  const context = {
    env,
    paths: paths({ HOME: directory }),
    state,
    settings,
    tunnel,
    restart() {},
    say: reportTo(said),
  };
  const history = openHistory(context);
  const changes = openChanges(context, { routes: () => routes.control(), killSwitch: async () => killSwitch });
  const routes = openRoutes(context, changes);
  const ports = { changes, routes: routes.control, killSwitch: async () => killSwitch, history };
  const networks = openNetworks(context, ports, {
    read: async () => structuredClone(running.network),
    watch: () => ({ stop() {} }),
  });
  const metrics = openMetrics(context, () => listeners.streams.count());
  const daemon: Daemon = {
    env,
    state,
    tunnel,
    settings,
    log,
    features: {
      handlers: {
        ...HANDLERS,
        ...answerWith(async () => killSwitch),
        ...changes.handlers,
        ...history.handlers,
        ...metrics.handlers,
        ...networks.handlers,
        ...routes.handlers,
        ...openSettingsFile(context, ports).handlers,
      },
      changes,
      metrics,
      toolAccounts: { offer() {}, follow: async () => () => {} },
      start() {},
      async stop() {},
    },
    startedAt,
    webui: join(directory, 'webui'),
    port: () => port,
    signIn: createSignIn(request => changes.runWithLimit(request)),
    restart() {},
  };
  const listeners = createListeners(daemon, { ...LIMITS, ...options.limits }, options.uid);
  const socket = join(directory, 'api.sock');
  await listeners.listenUnix(socket);
  const remote =
    options.remote === undefined ? null : { address: null, ...options.access, token: tokenCheck(options.remote) };
  for (;;) {
    port = freePort();
    try {
      await listeners.listenTcp(port, remote ? ['0.0.0.0', '::'] : ['127.0.0.1', '::1'], remote);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  t.after(async () => {
    await Promise.all([networks.stop(), listeners.close('test over', 50), changes.stop()]);
    removeTree(directory);
  });
  return Object.assign(running, { listeners, daemon, history, metrics, port, socket, directory });
}

function reportTo(said: string[]): (line: string) => void {
  return line => void said.push(line);
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
  json(): Record<string, never> & { code?: string };
}
export type Target = { port: number; host?: string } | { path: string };

/** Sends bytes as they are and reads one answer: to its content-length, or to the end of the connection. */
export function raw(target: Target, bytes: string | Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = open(target);
    let text = '';
    const done = () => {
      const answer = parse(text);
      const undocumented = answer && undocumentedCode(bytes, answer);
      if (undocumented) reject(new Error(undocumented));
      else if (answer) resolve(answer);
      else reject(new Error(`no answer: ${JSON.stringify(text)}`));
      socket.destroy();
    };
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      text += piece;
      const answer = parse(text);
      const length = answer?.headers['content-length'];
      if (answer && (answer.status === 304 || (length !== undefined && answer.body.length >= Number(length)))) done();
    });
    socket.on('end', done);
    socket.on('error', error => (parse(text) ? done() : reject(error)));
    socket.write(bytes);
  });
}

let documented: Record<string, Record<string, { 'x-problem-codes': string[] }>> | undefined;

/** Whichever test asks: a route answers only the problems that the OpenAPI document lists for it. */
function undocumentedCode(bytes: string | Uint8Array, { status, json }: Answer): string | null {
  const [, method = '', path = ''] = /^([A-Z]+) ([^ ?]+)/.exec(bytes.toString()) ?? [];
  documented ??= openapi('1').paths as NonNullable<typeof documented>;
  const operation = documented[path]?.[method.toLowerCase()];
  if (status < 400 || !operation) return null;
  const { code = '' } = json();
  return operation['x-problem-codes'].includes(code)
    ? null
    : `${method} ${path} answered ${code} without documentation`;
}

export function open(target: Target): Socket {
  return 'path' in target ? connect(target.path) : connect(target.port, target.host ?? '127.0.0.1');
}

/** A request as text, with the headers that a correct client sends unless they are overridden (null leaves one out). */
export function request(
  line: string,
  host: string,
  headers: Record<string, string | null> = {},
  body: string | undefined = undefined,
): string {
  const all: Record<string, string | null> = {
    host,
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== null);
  return `${line} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${body ?? ''}`;
}

function parse(text: string): Answer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first, ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = text.slice(end + 4);
  return {
    status: Number(first!.split(' ')[1]),
    headers,
    body,
    json: () => JSON.parse(Buffer.from(body, 'latin1').toString()),
  };
}
