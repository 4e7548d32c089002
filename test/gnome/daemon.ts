// A daemon that a test scripts: the contract's routes and events that panel and tray use, over a real Unix socket.
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { EventData, EventName } from '../../daemon/api/contract.ts';
import type {
  ActionRequest,
  Config,
  ConfigProblem,
  ConfigResponse,
  Problem,
  ProblemCode,
  Snapshot,
  Status,
} from '../../daemon/api/schema.ts';

export interface FakeDaemon {
  snapshot: Snapshot;
  config: ConfigResponse;
  /** Actions asked for, in order. */
  actions: ActionRequest[];
  /** Number of `GET /api/snapshot` so far. */
  reads: number;
  /** `Last-Event-ID` of each stream opened so far. */
  resumed: (string | undefined)[];
  /** What an action does; a thrown problem is the answer. By default nothing: the test sends the event. */
  onAction: (request: ActionRequest) => void | Promise<void>;
  /** What a read does first. */
  onRead: () => void;
  set<P extends 'status' | 'settings' | 'tunnel' | 'account' | 'tunnelCli'>(
    part: P,
    change: Partial<Snapshot[P]>,
  ): void;
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
    reads: 0,
    resumed: [],
    onAction() {},
    onRead() {},
    set(part, change) {
      const value = { ...daemon.snapshot[part], ...change };
      daemon.snapshot = { ...daemon.snapshot, [part]: value, revision: revision + 1 };
      daemon.send(EVENTS[part], value as never);
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
    const { pathname } = new URL(request.url!, 'http://localhost');
    const line = `${request.method} ${pathname}`;
    if (request.headers.host !== 'localhost') return reply(response, 421, problem('host-not-allowed', 421, 'No.'));
    if (line === 'GET /api/events') return openStream(request, response);
    if (line === 'GET /api/config') return reply(response, 200, daemon.config);
    if (line === 'GET /api/snapshot') {
      daemon.reads++;
      daemon.onRead();
      return reply(response, 200, daemon.snapshot);
    }
    if (line !== 'POST /api/action') return reply(response, 404, problem('not-found', 404, `No ${line}.`));
    if (request.headers['content-type'] !== 'application/json')
      return reply(response, 415, problem('unsupported-media-type', 415, 'JSON only.'));
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const action = JSON.parse(body) as ActionRequest;
    daemon.actions.push(action);
    try {
      await daemon.onAction(action);
      reply(response, 200, { ok: true, action: action.action, result: null, revision });
    } catch (refusal) {
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

/** A disconnected tunnel on a registered device. */
function initialSnapshot(revision: number): Snapshot {
  const now = new Date().toISOString();
  return {
    ok: true,
    revision,
    generatedAt: now,
    tunnelCli: { available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false },
    status: disconnected(now),
    settings: { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' },
    tunnel: noTunnel(),
    splitTunnel: { mode: 'exclude', ips: [], hosts: [] },
    account: { registered: true, type: 'Free', organization: null, managed: false },
    killSwitch: {
      ...{ enabled: false, allowLan: false, active: null, protection: 'none' },
      ...{ bootGuard: false, backend: null, detail: null, installed: false, command: null, pausedUntil: null },
    },
    commands: {
      ...{ status: null, settings: null, splitTunnelDump: null, splitTunnelIps: null, splitTunnelHosts: null },
      ...{ registration: null, tunnelStats: null },
    },
  };
}

function disconnected(since: string): Status {
  const reason = { code: 'Manual', text: 'Manual disconnection' };
  return { state: 'disconnected', reason, network: null, blocked: null, since, raw: 'Disconnected' };
}

export function noTunnel(): Snapshot['tunnel'] {
  return {
    ...{ protocol: null, proxyPort: null, endpoints: [], handshakeAgeSeconds: null, bytesSent: null },
    ...{ bytesReceived: null, latencyMs: null, loss: null, colo: null, at: null },
  };
}

function initialConfig(): ConfigResponse {
  return {
    ok: true,
    config: {
      server: { port: 4173, bind: '127.0.0.1' },
      webui: { enabled: false, allowRemote: false },
      warp: { cli: 'warp-cli', killSwitch: false, traceUrl: 'https://www.cloudflare.com/cdn-cgi/trace' },
      ui: { openBrowser: true, theme: 'system', locale: 'en' },
      updates: { channel: 'stable', checkOnStartup: true, source: 'https://culvert.example/releases' },
      tray: { autostart: false },
    },
    sources: {},
    restartRequired: [],
    problems: [],
  };
}
