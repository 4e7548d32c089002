// Prepares and follows the daemon proper: flags, the choice of a port, other daemons, tray and panel.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { get } from 'node:http';
import { parseArgs } from 'node:util';
import type { Config, Health } from './api/schema.ts';
import { errno, reason } from './system/errno.ts';
import { programs } from './system/install-paths.ts';
import { listenerOf, readTable } from './system/peer.ts';

export interface Flags {
  open: boolean;
  tray: boolean;
  panel: boolean;
  demo: boolean;
  port: number | undefined;
}

export type DesktopPart = 'tray' | 'panel';

/** @throws TypeError with a message for the user, for an unknown flag or a wrong value. */
export function parseFlags(argv: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      'no-open': { type: 'boolean' },
      'no-tray': { type: 'boolean' },
      'no-panel': { type: 'boolean' },
      demo: { type: 'boolean' },
      port: { type: 'string' },
    },
  });
  const port = values.port === undefined ? undefined : Number(/^\d+$/.exec(values.port)?.[0]);
  if (port !== undefined && !(port >= 1 && port <= 65535))
    throw new TypeError(`--port ${values.port}: expected a whole number from 1 to 65535`);
  return {
    open: !values['no-open'],
    tray: !values['no-tray'],
    panel: !values['no-panel'],
    demo: values.demo ?? false,
    port,
  };
}

export const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * The addresses to listen on, by configuration.
 * @throws Error when an address beyond loopback is asked for without the keys that allow it.
 */
export function addressesOf({ server: { bind }, webui }: Config): { addresses: string[]; remote: boolean } {
  // what the daemon says of itself, and its launcher asks, is 127.0.0.1
  const local = LOOPBACK.includes(bind) ? LOOPBACK : [bind, ...LOOPBACK];
  const isLocal = bind === '::1' || bind.startsWith('127.');
  if (!(webui.enabled && webui.allowRemote)) {
    if (isLocal) return { addresses: local, remote: false };
    throw new Error(
      `server.bind is ${bind}, which other machines can reach. ` +
        'Set webui.enabled and webui.allowRemote to allow that, or bind to 127.0.0.1.',
    );
  }
  // what leads to an address of its own is a reverse proxy, which encrypts and runs here unless server.bind says otherwise
  if (isLocal && webui.address && !webui.tlsCertificate) return { addresses: local, remote: true };
  if (isLocal || bind === '0.0.0.0' || bind === '::') return { addresses: ['0.0.0.0', '::'], remote: true };
  return { addresses: [bind, ...LOOPBACK], remote: true };
}

/**
 * Tray and panel run all day: malloc uses one arena, and returns freed memory to the system (mallopt(3); in bytes). A fixed
 * threshold keeps what is large apart from widgets, among which it would leave holes. The engine makes no machine code
 * (gjs, doc/Environment.md): that takes 2 to 3 MB, and neither program computes much.
 */
export const FRUGAL = {
  GJS_DISABLE_JIT: '1',
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '32768',
  MALLOC_TOP_PAD_: '0',
};
const PORTS_TRIED = 30;
/** How long one listener may take to answer, and how long all of them together, since the start waits for them. */
const ANSWER_MS = 1_000;
const ANSWERS_MS = 2_000;

/**
 * Takes the first free port from `first` upward, at most 30.
 * @param take listens on a port, or rejects with EADDRINUSE.
 * @returns the port taken, or the own daemon that answers on one of them. What another user listens with is passed
 *   over, whatever it would answer: by claiming to be Culvert it could keep the real one from starting.
 * @throws Error when none is free.
 */
export async function searchPort(
  first: number,
  take: (port: number) => Promise<void>,
  uid = process.getuid!(),
): Promise<{ taken: number } | { running: OtherCulvert }> {
  const last = Math.min(first + PORTS_TRIED - 1, 65535);
  let patience = ANSWERS_MS;
  for (let port = first; port <= last; port++) {
    try {
      await take(port);
      return { taken: port };
    } catch (error) {
      const code = errno(error);
      if (code === 'EADDRNOTAVAIL') throw new Error(`server.bind is not an address of this machine: ${reason(error)}.`);
      if (code !== 'EADDRINUSE')
        throw new Error(`Port ${port} can't be used: ${reason(error)}. Choose another with --port.`);
    }
    if (patience <= 0 || listenerOf(await readTable('tcp'), port) !== uid) continue;
    const asked = performance.now();
    const health = await ask(port, Math.ceil(Math.min(ANSWER_MS, patience)));
    patience -= performance.now() - asked;
    if (health) return { running: health };
  }
  throw new Error(`The ports ${first} to ${last} are all in use. Choose another with --port.`);
}

/** What the launcher needs of the health of another daemon. */
type OtherCulvert = Pick<Health, 'pid' | 'port' | 'version'> & { demo: boolean };

/** Health of the Culvert on a port of this user, or null. */
function ask(port: number, limitMs: number): Promise<OtherCulvert | null> {
  const signal = AbortSignal.timeout(limitMs); // not the timeout of `get`, which every byte begins again
  return new Promise(resolve => {
    const request = get({ host: '127.0.0.1', port, path: '/api/health', signal, agent: false }, response => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > 10_000) response.destroy();
      });
      response.on('error', () => resolve(null));
      response.on('close', () => resolve(response.statusCode === 200 ? healthIn(text) : null));
    });
    request.on('error', () => resolve(null));
  });
}

function healthIn(text: string): OtherCulvert | null {
  try {
    const { app, pid, port, version, tunnelCli } = JSON.parse(text) as { [K in keyof Health]?: unknown };
    if (app !== 'culvert' || typeof pid !== 'number' || !Number.isInteger(pid) || typeof version !== 'string')
      return null;
    const demo = (tunnelCli as Partial<Health['tunnelCli']> | null | undefined)?.emulated === true;
    return { pid, port: typeof port === 'number' ? port : null, version, demo };
  } catch {
    return null;
  }
}

/**
 * Starts tray and panel as far as wanted and possible, and says what is missing. Both are single instances: a second
 * start only shows the first.
 * @returns the processes started, to be ended with the daemon.
 */
export function startDesktop(
  flags: Flags,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): { part: DesktopPart; child: ChildProcess }[] {
  const wanted = (['tray', 'panel'] as const).filter(part => flags[part]);
  if (!wanted.length) return [];
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) {
    say('No display, so no tray and no panel. Control it with "culvert status", "culvert connect", or over HTTP.');
    return [];
  }
  const missing = wanted.filter(part => !existsSync(programs[part]));
  if (missing.length)
    say(`This installation has no ${missing.join(' and no ')}: ${missing.map(p => programs[p]).join(', ')}`);
  return wanted
    .filter(part => !missing.includes(part))
    .map(part => {
      const child = spawn(programs.gjs, ['-m', programs[part]], {
        detached: true,
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...env, ...FRUGAL },
      });
      child.on('error', error => {
        const packages = 'Debian: gjs gir1.2-adw-1; Fedora: gjs libadwaita; Arch: gjs libadwaita';
        say(`The ${part} could not be started (${error.message}). It needs GJS and libadwaita 1.2 (${packages}).`);
      });
      child.unref();
      return { part, child };
    });
}
