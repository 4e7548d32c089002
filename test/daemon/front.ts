// A front on a free port and a Unix socket in a temporary directory, and raw requests to it: bytes out, answer in.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActionName, CommandOutput, UpdateCheck } from '../../daemon/api/schema.ts';
import { loadConfig } from '../../daemon/config.ts';
import type { Features } from '../../daemon/features.ts';
import { createFront, type Front } from '../../daemon/front.ts';
import { LIMITS, type Limits } from '../../daemon/guard.ts';
import type { Daemon } from '../../daemon/handlers.ts';
import { createLog } from '../../daemon/log.ts';
import { createState, NO_KILL_SWITCH } from '../../daemon/state.ts';
import { tokenCheck } from '../../daemon/token.ts';
import type { Tunnel } from '../../daemon/warp/tunnel.ts';

export interface Running {
  front: Front;
  daemon: Daemon;
  port: number;
  socket: string;
  directory: string;
  /** Actions that reached the tunnel. */
  performed: [ActionName, string | undefined][];
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
  applicable: false,
  command: null,
  previous: null,
  progress: null,
};
const idle = { start() {}, async stop() {} };
/** Features of which each answers at once. */
const FEATURES: Features = {
  ...idle,
  killSwitch: async () => ({
    ...idle,
    read: async () => NO_KILL_SWITCH,
    set: async () => NO_KILL_SWITCH,
    pause: async () => NO_KILL_SWITCH,
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
    setShortcut: async ({ appId }) => ({ ok: true, appId, shortcut: null }),
  }),
  updates: async () => ({
    ...idle,
    check: async () => UPDATE,
    apply: async () => ({ ok: true, from: '1.0.0', to: '1.0.1' }),
    rollback: async () => ({ ok: true, from: '1.0.1', to: '1.0.0' }),
  }),
};

/** The front over a tunnel that only records; ended with the test. */
export async function startFront(
  t: { after(end: () => Promise<void>): unknown },
  options: { limits?: Partial<Limits>; uid?: number; tunnel?: Partial<Tunnel>; remote?: string } = {},
): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-front-'));
  const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false });
  const performed: Running['performed'] = [];
  const tunnel: Tunnel = {
    start() {},
    async stop() {},
    async perform(action, value) {
      performed.push([action, value]);
      return OUTPUT;
    },
    async refresh() {},
    isFresh: () => true,
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
  };
  const log = createLog({ capacity: 10, onEntry: entry => state.publish('log', entry) });
  const settings = await loadConfig({ system: join(directory, 'system.json'), user: join(directory, 'user.json') }, {});
  let port = 0;
  const startedAt = new Date().toISOString();
  const daemon: Daemon = { state, tunnel, settings, log, features: FEATURES, startedAt, port: () => port };
  const front = createFront(daemon, { ...LIMITS, ...options.limits }, options.uid);
  const socket = join(directory, 'api.sock');
  await front.listenUnix(socket);
  const remote = options.remote === undefined ? null : tokenCheck(options.remote);
  for (;;) {
    port = 20_000 + Math.floor(Math.random() * 12_000); // below the range of ephemeral ports
    try {
      await front.listenTcp(port, remote ? ['0.0.0.0', '::'] : ['127.0.0.1', '::1'], remote);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  t.after(async () => {
    await front.close('test over', 50);
    rmSync(directory, { recursive: true, force: true });
  });
  return { front, daemon, port, socket, directory, performed };
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
      if (answer) resolve(answer);
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
