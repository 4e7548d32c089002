// A daemon that a test scripts: the contract's routes and events that panel and tray use, over a real Unix socket.
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { EventData, EventName } from '../../daemon/api/contract.ts';
import type {
  ActionRequest,
  App,
  Config,
  ConfigProblem,
  ConfigResponse,
  LogEntry,
  Problem,
  ProblemCode,
  Snapshot,
  UpdateCheck,
} from '../../daemon/api/schema.ts';
import { initialConfig, initialSnapshot, noUpdate } from './initial.ts';

type Part = 'status' | 'settings' | 'tunnel' | 'account' | 'tunnelCli' | 'killSwitch';
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
  /** The whole log; `log` adds to it. */
  entries: LogEntry[];
  update: UpdateCheck;
  /** Number of `GET /api/snapshot` so far. */
  reads: number;
  /** `Last-Event-ID` of each stream opened so far. */
  resumed: (string | undefined)[];
  /** What an action does; a thrown problem is the answer. By default nothing: the test sends the event. */
  onAction: (request: ActionRequest) => void | Promise<void>;
  /** What one of `asked` does, and answers; a thrown problem is the answer. By default what succeeds. */
  onAsked: (asked: Asked) => unknown;
  /** What a read does first. */
  onRead: () => void;
  set<P extends Part>(part: P, change: Partial<Snapshot[P]>): void;
  /** Keeps and sends an entry. */
  log(entry: LogEntry): void;
  /** Keeps and sends what is known of updates. */
  setUpdate(change: Partial<UpdateCheck>): void;
  /** Keys of `ui` count as set by the user. */
  setConfig(change: { ui?: Partial<Config['ui']>; problems?: ConfigProblem[] }): void;
  send<N extends EventName>(event: N, data: EventData<N>): void;
  streams(): number;
  /** Breaks every stream without a goodbye. */
  cut(): void;
  listen(): Promise<void>;
  /** Says `bye` and stops listening. */
  stop(): Promise<void>;
}

/** A problem document to throw from `onAction`. */
export function problem(code: ProblemCode, status: number, detail: string, more: Partial<Problem> = {}): Problem {
  return { type: `urn:culvert:problem:${code}`, title: code, status, detail, code, ...more };
}

const EVENTS = {
  status: 'status',
  settings: 'settings',
  tunnel: 'stats',
  account: 'account',
  tunnelCli: 'tunnelCli',
  killSwitch: 'killSwitch',
} as const;

/** @param socket path of the socket; its directory is made. */
export function createDaemon(socket: string): FakeDaemon {
  const open = new Set<ServerResponse>();
  let server: ReturnType<typeof createServer> | null = null;
  let revision = Date.now();
  const ring: { id: number; text: string }[] = [];

  const daemon: FakeDaemon = {
    snapshot: initialSnapshot(revision),
    config: initialConfig(),
    actions: [],
    asked: [],
    apps: [],
    entries: [],
    update: noUpdate(),
    reads: 0,
    resumed: [],
    onAction() {},
    onAsked: ({ line, body }) => succeed(line, body),
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
      for (const stream of open) stream.write(text);
    },
    streams: () => open.size,
    cut() {
      for (const stream of open) stream.destroy();
    },
    async listen() {
      mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
      rmSync(socket, { force: true });
      server = createServer((request, response) => void answer(request, response));
      await new Promise<void>(resolve => server!.listen(socket, resolve));
    },
    async stop() {
      daemon.send('bye', { reason: 'stopped by its user' });
      for (const stream of open) stream.end();
      await new Promise(resolve => {
        server?.close(resolve);
        server?.closeAllConnections();
      });
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    const line = `${request.method} ${pathname}`;
    if (request.headers.host !== 'localhost') return reply(response, 421, problem('host-not-allowed', 421, 'No.'));
    if (line === 'GET /api/events') return openStream(request, response);
    if (line === 'GET /api/snapshot') {
      daemon.reads++;
      daemon.onRead();
    }
    const found = read(line, Number(searchParams.get('since') ?? 0));
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

  function read(line: string, since: number): unknown {
    if (line === 'GET /api/config') return daemon.config;
    if (line === 'GET /api/snapshot') return daemon.snapshot;
    if (line === 'GET /api/killswitch') return { ok: true, ...daemon.snapshot.killSwitch };
    if (line === 'GET /api/apps') return { ok: true, apps: daemon.apps };
    if (line !== 'GET /api/logs') return null;
    const entries = daemon.entries.filter(({ id }) => id > since).slice(0, 500);
    return { ok: true, entries, next: entries.at(-1)?.id ?? since, capacity: 500 };
  }

  /** What each mutation comes to where nothing is in its way; kill switch and updates tell it as an event as well. */
  function succeed(line: string, body: unknown): unknown {
    const given = body as { appId: string; present: boolean; seconds: number };
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
      case 'POST /api/apps/proxy-launcher':
        return { ok: true, appId: given.appId, pid: 4321, proxy: { host: '127.0.0.1', port: 40000 }, shortcut: null };
      case 'POST /api/apps/shortcut':
        if (!found) throw problem('app-not-found', 404, `There is no app ${given.appId}.`);
        found.shortcut = given.present ? `/home/a/.local/share/applications/culvert-${found.id}` : null;
        return { ok: true, appId: found.id, shortcut: found.shortcut };
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

  function openStream(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 2000\n\n');
    const last = request.headers['last-event-id'] as string | undefined;
    daemon.resumed.push(last);
    const known = last !== undefined && (Number(last) === revision || ring.some(({ id }) => id === Number(last)));
    if (last !== undefined && !known) response.write(frame('gap', revision, { revision }));
    if (known) for (const { id, text } of ring) if (id > Number(last)) response.write(text);
    if (!known) response.write(frame('snapshot', revision, daemon.snapshot));
    open.add(response);
    response.on('close', () => open.delete(response));
  }
  return daemon;
}

function frame(event: string, id: number, data: unknown): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
}
