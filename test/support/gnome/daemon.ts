// A daemon that a test scripts: the contract's routes and events that panel and tray use, over a real Unix socket.
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { Tool } from '../../../daemon/api/accounts.ts';
import type { EventData, EventName } from '../../../daemon/api/contract.ts';
import type { CheckResult, Diagnosis, DoctorBundle } from '../../../daemon/api/doctor.ts';
import type {
  ActionRequest,
  App,
  Config,
  ConfigProblem,
  ConfigResponse,
  History,
  LogEntry,
  Problem,
  ProblemCode,
  Snapshot,
  UpdateCheck,
} from '../../../daemon/api/schema.ts';
import { initialConfig, initialSnapshot, NOT_RECORDED, noUpdate, TRUST } from './initial.ts';

type Part = 'status' | 'settings' | 'options' | 'tunnel' | 'account' | 'tunnelCli' | 'killSwitch' | 'toolAccounts';
/** A mutation other than an action, or a check for updates. */
export interface Asked {
  line: string;
  body: unknown;
}

export interface FakeDaemon {
  snapshot: Snapshot;
  config: ConfigResponse;
  /** Actions asked for, in order. */
  actions: ActionRequest[];
  /** The other mutations, and checks for updates, in order. */
  asked: Asked[];
  apps: App[];
  /** Command-line tools of culvert-wrap. */
  tools: Tool[];
  /** The whole log; `log` adds to it. */
  entries: LogEntry[];
  update: UpdateCheck;
  history: History;
  /** Results of the doctor, in the order in which they come. */
  checks: CheckResult[];
  /** Answers of further reads, by request line such as `POST /api/why`. */
  answers: Record<string, unknown>;
  /** Number of `GET /api/snapshot` so far. */
  reads: number;
  /** `Last-Event-ID` of each stream opened so far. */
  resumed: (string | undefined)[];
  /** The effect of an action; a thrown problem is the answer. None by default: the test sends the event. */
  onAction: (request: ActionRequest) => void | Promise<void>;
  /** The effect of one of `asked`, and its answer; a thrown problem is the answer. It succeeds by default. */
  onAsked: (asked: Asked) => unknown;
  /** Called before a read is answered. */
  onRead: () => void;
  set<P extends Part>(part: P, change: Partial<Snapshot[P]>): void;
  /** Keeps and sends an entry. */
  log(entry: LogEntry): void;
  /** Keeps and sends the state of updates. */
  setUpdate(change: Partial<UpdateCheck>): void;
  /** Keeps and sends the split tunnel. */
  setRoutes(routes: Snapshot['splitTunnel']): void;
  /** Keeps and sends the changes that revert automatically. */
  setChanges(changes: Snapshot['changes']): void;
  /** Keeps and sends the most likely cause. */
  setLastPause(seconds: number): void;
  setDiagnosis(diagnosis: Diagnosis | null): void;
  /** Keys of `ui` count as set by the user. */
  setConfig(change: { ui?: Partial<Config['ui']>; problems?: ConfigProblem[] }): void;
  send<N extends EventName>(event: N, data: EventData<N>): void;
  streams(): number;
  /** Revision of the last event. */
  revision(): number;
  /** Breaks every stream without a goodbye. */
  cut(): void;
  listen(): Promise<void>;
  /** Says `bye` and stops listening. */
  stop(): Promise<void>;
  /** Is gone from one moment to the next. */
  crash(): Promise<void>;
}

/** A problem document to throw from `onAction`. */
export function problem(code: ProblemCode, status: number, detail: string, more: Partial<Problem> = {}): Problem {
  return { type: `urn:culvert:problem:${code}`, title: code, status, detail, code, ...more };
}

const BUNDLE: DoctorBundle = {
  ok: true,
  files: [{ name: 'doctor.json', text: '["<host-1> is reachable"]\n' }],
  redacted: { host: 1 },
  archive: '',
};

const EVENTS = {
  status: 'status',
  settings: 'settings',
  options: 'options',
  tunnel: 'tunnel',
  account: 'account',
  tunnelCli: 'tunnelCli',
  killSwitch: 'killSwitch',
  toolAccounts: 'toolAccounts',
} as const;

/** @param socket path of the socket; its directory is made. */
export function createDaemon(socket: string): FakeDaemon {
  /** Streams, with the events that each asked for; null for all. */
  const open = new Map<ServerResponse, ReadonlySet<string> | null>();
  let server: ReturnType<typeof createServer> | null = null;
  let revision = Date.now();
  const ring: { id: number; text: string }[] = [];

  const daemon: FakeDaemon = {
    snapshot: initialSnapshot(revision),
    config: initialConfig(),
    actions: [],
    asked: [],
    apps: [],
    tools: [],
    entries: [],
    update: noUpdate(),
    history: NOT_RECORDED,
    checks: [],
    answers: {},
    reads: 0,
    resumed: [],
    onAction() {},
    onAsked: ({ line, body }) => succeed(daemon, line, body),
    onRead() {},
    set(part, change) {
      const value = { ...daemon.snapshot[part], ...change };
      daemon.snapshot = { ...daemon.snapshot, [part]: value, revision: revision + 1 };
      daemon.send(EVENTS[part], value as never);
    },
    log(entry) {
      daemon.entries = [...daemon.entries, entry];
      daemon.send('log', entry);
    },
    setUpdate(change) {
      daemon.update = { ...daemon.update, ...change };
      daemon.send('update', daemon.update);
    },
    setRoutes(routes) {
      daemon.snapshot = { ...daemon.snapshot, splitTunnel: routes, revision: revision + 1 };
      daemon.send('splitTunnel', routes);
    },
    setChanges(changes) {
      daemon.snapshot = { ...daemon.snapshot, changes, revision: revision + 1 };
      daemon.send('changes', changes);
    },
    setLastPause(seconds) {
      daemon.snapshot = { ...daemon.snapshot, lastPause: { seconds }, revision: revision + 1 };
      daemon.send('lastPause', { seconds });
    },
    setDiagnosis(diagnosis) {
      daemon.snapshot = { ...daemon.snapshot, diagnosis, revision: revision + 1 };
      daemon.send('diagnosis', diagnosis);
    },
    setConfig({ ui, problems }) {
      daemon.config = {
        ...daemon.config,
        config: { ...daemon.config.config, ui: { ...daemon.config.config.ui, ...ui } },
        sources: {
          ...daemon.config.sources,
          ...Object.fromEntries(Object.keys(ui ?? {}).map(key => [`ui.${key}`, 'user'])),
        },
        problems: problems ?? daemon.config.problems,
      };
      daemon.send('config', daemon.config);
    },
    send(event, data) {
      const text = frame(event, ++revision, data);
      ring.push({ id: revision, text });
      for (const [stream, only] of open) if (event === 'bye' || !only || only.has(event)) stream.write(text);
    },
    streams: () => open.size,
    revision: () => daemon.snapshot.revision,
    cut() {
      for (const stream of open.keys()) stream.destroy();
    },
    async listen() {
      mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
      rmSync(socket, { force: true });
      server = createServer((request, response) => void answer(request, response));
      await new Promise<void>(resolve => server!.listen(socket, resolve));
    },
    async stop() {
      daemon.send('bye', { reason: 'stopped by its user' });
      for (const stream of open.keys()) stream.end();
      await close();
    },
    async crash() {
      daemon.cut();
      await close();
    },
  };

  const close = () =>
    new Promise(resolve => {
      server?.close(resolve);
      server?.closeAllConnections();
    });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    const line = `${request.method} ${pathname}`;
    if (request.headers.host !== 'localhost') return reply(response, 421, problem('host-not-allowed', 421, 'No.'));
    if (line === 'GET /api/events') return openStream(request, response);
    if (line === 'GET /api/snapshot') {
      daemon.reads++;
      daemon.onRead();
    }
    const found = read(daemon, line, Number(searchParams.get('since') ?? 0));
    if (found) return reply(response, 200, found);
    const mutation = request.method === 'POST';
    if (mutation && request.headers['content-type'] !== 'application/json')
      return reply(response, 415, problem('unsupported-media-type', 415, 'JSON only.'));
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const body: unknown = mutation ? JSON.parse(text) : null;
    try {
      if (line !== 'POST /api/action') {
        daemon.asked.push({ line, body });
        return reply(response, 200, await daemon.onAsked({ line, body }));
      }
      daemon.actions.push(body as ActionRequest);
      await daemon.onAction(body as ActionRequest);
      reply(response, 200, { ok: true, action: (body as ActionRequest).action, result: null, revision });
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal;
      reply(response, (refusal as Problem).status, refusal);
    }
  }

  function openStream(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 2000\n\n');
    const last = request.headers['last-event-id'] as string | undefined;
    daemon.resumed.push(last);
    const known = last !== undefined && (Number(last) === revision || ring.some(({ id }) => id === Number(last)));
    if (last !== undefined && !known) response.write(frame('gap', revision, { revision }));
    if (known) for (const { id, text } of ring) if (id > Number(last)) response.write(text);
    if (!known) response.write(frame('snapshot', revision, daemon.snapshot) + frame('config', revision, daemon.config));
    const only = new URL(request.url!, 'http://localhost').searchParams.get('only');
    open.set(response, only === null ? null : new Set(only.split(',')));
    response.on('close', () => open.delete(response));
  }
  return daemon;
}

function read(daemon: FakeDaemon, line: string, since: number): unknown {
  if (line in daemon.answers) return daemon.answers[line];
  if (line === 'GET /api/snapshot') return daemon.snapshot;
  if (line === 'POST /api/trust') return TRUST;
  // the panel asks for the event that follows
  if (line === 'GET /api/networks') return { ok: true };
  if (line === 'GET /api/killswitch') return { ok: true, ...daemon.snapshot.killSwitch };
  if (line === 'GET /api/killswitch/blocked')
    return { ok: true, recordingSince: null, entries: [], hidden: 0, missed: 0 };
  if (line === 'GET /api/account')
    return {
      ok: true,
      ...daemon.snapshot.account,
      deviceId: '2f0b9d1e-6c5a-4b7e-9d3f-8a1c0e4b7d26',
      accountId: 'a',
      license: null,
      devices: [],
    };
  if (line === 'GET /api/version')
    return {
      ok: true,
      version: '0.0.0',
      commit: null,
      node: '20',
      apiVersion: 1,
      installFormat: 'source',
      tunnelCli: { version: null },
    };
  if (line === 'GET /api/history') return daemon.history;
  if (line === 'POST /api/doctor') return runChecks(daemon);
  if (line === 'POST /api/doctor/bundle') return BUNDLE;
  if (line === 'GET /api/accounts') return { ok: true, tools: daemon.tools, refreshing: false, problem: null };
  if (line === 'GET /api/apps') return { ok: true, apps: daemon.apps };
  if (line !== 'GET /api/logs') return null;
  const entries = daemon.entries.filter(({ id }) => id > since).slice(0, 500);
  return { ok: true, entries, next: entries.at(-1)?.id ?? since, capacity: Math.max(500, daemon.entries.length) };
}

function runChecks(daemon: FakeDaemon): unknown {
  const { checks: results } = daemon;
  const total = results.length;
  results.forEach((result, i) => {
    daemon.send('doctor', { running: true, completed: i + 1, total, result, undo: null });
  });
  daemon.send('doctor', { running: false, completed: total, total, result: null, undo: [] });
  return { ok: true, generatedAt: new Date().toISOString(), results, undo: [], durationMs: 1, processes: 0 };
}

/** The result of each mutation that succeeds; kill switch and updates publish it as an event as well. */
function succeed(daemon: FakeDaemon, line: string, body: unknown): unknown {
  const given = body as { appId: string; present: boolean; seconds: number; way?: string };
  const found = daemon.apps.find(({ id }) => id === given?.appId);
  switch (line) {
    case 'POST /api/killswitch':
      daemon.set('killSwitch', { ...(body as object), active: (body as { enabled: boolean }).enabled });
      return { ok: true, ...daemon.snapshot.killSwitch };
    case 'POST /api/killswitch/pause': {
      const end = given.seconds ? new Date(Date.now() + 1000 * given.seconds).toISOString() : null;
      daemon.set('killSwitch', { pausedUntil: end, active: end === null });
      return { ok: true, ...daemon.snapshot.killSwitch };
    }
    case 'POST /api/config/user': {
      for (const [group, keys] of Object.entries(body as object))
        Object.assign(daemon.config.config[group as keyof Config], keys);
      daemon.config = { ...daemon.config };
      daemon.send('config', daemon.config);
      return daemon.config;
    }
    case 'POST /api/apps/proxy-launcher':
      return { ok: true, appId: given.appId, pid: 4321, proxy: { host: '127.0.0.1', port: 40000 }, shortcut: null };
    case 'POST /api/apps/tunnel-launcher':
    case 'POST /api/apps/outside-launcher':
      return { ok: true, appId: given.appId, pid: 4321, limits: [] };
    case 'POST /api/apps/shortcut': {
      if (!found) throw problem('app-not-found', 404, `There is no app ${given.appId}.`);
      const path = given.present ? `/home/a/.local/share/applications/culvert-${found.id}` : null;
      if (given.way === 'tunnel-only') found.tunnelShortcut = path;
      else if (given.way === 'outside') found.outsideShortcut = path;
      else found.shortcut = path;
      return { ok: true, appId: found.id, shortcut: path };
    }
    case 'POST /api/accounts':
      daemon.send('accounts', { ok: true, tools: daemon.tools, refreshing: false, problem: null });
      return { ok: true, tools: daemon.tools, refreshing: false, problem: null };
    case 'POST /api/history/clear':
      daemon.history = NOT_RECORDED;
      daemon.send('history', { clearedAt: new Date().toISOString() });
      return { ok: true };
    case 'POST /api/doctor/fix':
    case 'POST /api/doctor/undo':
      return { ok: true, done: [], result: null };
    case 'GET /api/update/check':
      return daemon.update;
    case 'POST /api/update/apply':
      return { ok: true, from: daemon.update.current, to: daemon.update.latest };
    case 'POST /api/update/rollback':
      return { ok: true, from: daemon.update.current, to: daemon.update.previous };
    default:
      throw problem('not-found', 404, `No ${line}.`);
  }
}

function frame(event: string, id: number, data: unknown): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
}
