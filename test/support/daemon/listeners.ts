// Listeners on a free port and a Unix socket in a temporary directory, and raw requests to it: bytes out, answer in.
import { mkdtempSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openapi } from '../../../daemon/api/openapi.ts';
import type { ToolAccounts } from '../../../daemon/api/schema/accounts.ts';
import type { RuleEffect } from '../../../daemon/api/schema/traffic/networks.ts';
import type { ActionName, CommandOutput, UpdateCheck } from '../../../daemon/api/schema.ts';
import { createChanges } from '../../../daemon/changes/changes.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { Features } from '../../../daemon/controls.ts';
import { createHistory } from '../../../daemon/history/history.ts';
import { LIMITS, type Limits } from '../../../daemon/http/guard.ts';
import type { Daemon } from '../../../daemon/http/handlers.ts';
import { createListeners, type Listeners } from '../../../daemon/http/listeners.ts';
import { type RemoteAccess, tokenCheck } from '../../../daemon/http/token.ts';
import { createMetrics } from '../../../daemon/metrics/metrics.ts';
import type { Reading } from '../../../daemon/networks/links/links.ts';
import { createNetworks } from '../../../daemon/networks/networks.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { createSettingsFile } from '../../../daemon/settings-file/settings-file.ts';
import { createLog } from '../../../daemon/state/command-log.ts';
import { createState, NO_KILL_SWITCH } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { createSignIn } from '../../../daemon/warp/sign-in.ts';
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
  /** The network as it is read. */
  network: Reading;
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
const idle = { start() {}, async stop() {} };
/** Features that each answer immediately. */
const FEATURES: Omit<Features, 'changes' | 'metrics' | 'routes' | 'settingsFile' | 'history' | 'networks'> = {
  ...idle,
  offerToolAccounts() {},
  killSwitch: async () => ({
    ...idle,
    read: async () => NO_KILL_SWITCH,
    set: async () => NO_KILL_SWITCH,
    pause: async () => NO_KILL_SWITCH,
    decide: async () => NO_KILL_SWITCH,
    lastSignIn: async () => null,
    blocked: async () => ({ recordingSince: null, entries: [], hidden: 0, missed: 0 }),
  }),
  apps: async () => ({
    ...idle,
    list: async () => [],
    launch: async ({ appId }) => ({
      ok: true,
      appId,
      pid: null,
      proxy: { host: '127.0.0.1', port: 40000 },
      shortcut: null,
    }),
    place: async ({ appId }) => ({ ok: true, appId, pid: null, limits: [] }),
    setShortcut: async ({ appId }) => ({ ok: true, appId, shortcut: null }),
  }),
  doctor: async () => ({
    ...idle,
    run: async () => ({ ok: true, generatedAt: UPDATE.checkedAt, results: [], undo: [], durationMs: 0, processes: 0 }),
    fix: async () => ({ ok: true, done: [], result: null }),
    undo: async () => ({ ok: true, done: [], result: null }),
    bundle: async () => ({ ok: true, files: [], redacted: {}, archive: '' }),
  }),
  toolAccounts: async () => ({
    read: () => NO_TOOLS,
    change: async () => NO_TOOLS,
    follow: () => () => {},
    stop() {},
  }),
  trust: async () => ({
    report: async () => ({ ok: true, certificates: [], refused: [], tools: [], removalDue: false }),
    apply: async () => ({ ok: true, done: [] }),
    undo: async () => ({ ok: true, done: [] }),
    stop() {},
  }),
  updates: async () => ({
    ...idle,
    check: async () => UPDATE,
    apply: async () => ({ ok: true, from: '1.0.0', to: '1.0.1' }),
    rollback: async () => ({ ok: true, from: '1.0.1', to: '1.0.0' }),
  }),
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
  const running = { performed, said, network: { service: null, links: [] } as Reading };
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
  const changes = createChanges(context, {
    routes: async () => routes,
    killSwitch: () => daemon.features.killSwitch(),
  });
  const routes = createRoutes(context, changes);
  const killSwitch = () => daemon.features.killSwitch();
  const parts = {
    changes,
    routes: async () => routes,
    killSwitch,
    ruled: (effect: RuleEffect) => history.ruled(effect),
  };
  const networks = createNetworks(context, parts, {
    read: async () => structuredClone(running.network),
    watch: () => ({ stop() {} }),
  });
  const history = createHistory(context);
  const settingsFile = createSettingsFile(context, changes, async () => routes);
  const daemon: Daemon = {
    env,
    state,
    tunnel,
    settings,
    log,
    features: {
      ...FEATURES,
      changes,
      metrics: createMetrics(context, () => listeners.streams.count()),
      routes: async () => routes,
      settingsFile: async () => settingsFile,
      history: async () => history,
      networks: async () => networks,
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
    networks.stop();
    await Promise.all([listeners.close('test over', 50), changes.stop()]);
    removeTree(directory);
  });
  return Object.assign(running, { listeners, daemon, port, socket, directory });
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
