// What `culvert` does before and after the daemon proper: flags, which port, whose daemon, tray and panel.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { get } from 'node:http';
import { parseArgs } from 'node:util';
import type { Config, Health } from './api/schema.ts';
import { listenerOf, readTable } from './peer.ts';
import { programs } from './place.ts';

export interface Flags {
  open: boolean;
  tray: boolean;
  panel: boolean;
  demo: boolean;
  port: number | undefined;
}

export type DesktopPart = 'tray' | 'panel';

/** @throws TypeError in words for the user, for what is no flag or has a wrong value. */
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

/**
 * The addresses to listen on, by configuration.
 * @throws Error when an address beyond loopback is asked for without the keys that allow it.
 */
export function addressesOf({ server: { bind }, webui }: Config): { addresses: string[]; remote: boolean } {
  const loopback = ['127.0.0.1', '::1'];
  // what the daemon says of itself, and its launcher asks, is 127.0.0.1
  const local = loopback.includes(bind) ? loopback : [bind, ...loopback];
  const isLocal = bind === '::1' || bind.startsWith('127.');
  if (!(webui.enabled && webui.allowRemote)) {
    if (isLocal) return { addresses: local, remote: false };
    throw new Error(
      `server.bind is ${bind}, which other machines can reach. ` +
        'Set webui.enabled and webui.allowRemote to allow that, or bind to 127.0.0.1.',
    );
  }
  if (isLocal || bind === '0.0.0.0' || bind === '::') return { addresses: ['0.0.0.0', '::'], remote: true };
  return { addresses: [bind, ...loopback], remote: true };
}

export const PORTS_TRIED = 30;

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
): Promise<{ taken: number } | { running: Health }> {
  const last = Math.min(first + PORTS_TRIED - 1, 65535);
  for (let port = first; port <= last; port++) {
    try {
      await take(port);
      return { taken: port };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'EADDRNOTAVAIL') throw new Error(`server.bind is no address of this machine: ${message}.`);
      if (code !== 'EADDRINUSE') throw new Error(`Port ${port} can't be used: ${message}. Choose another with --port.`);
    }
    const health = listenerOf(await readTable('tcp'), port) === uid ? await ask(port) : null;
    if (health) return { running: health };
  }
  throw new Error(`The ports ${first} to ${last} are all in use. Choose another with --port.`);
}

/** Health of the Culvert on a port of this user, or null. */
function ask(port: number): Promise<Health | null> {
  return new Promise(resolve => {
    const request = get({ host: '127.0.0.1', port, path: '/api/health', timeout: 1_000, agent: false }, response => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > 10_000) response.destroy();
      });
      response.on('error', () => resolve(null));
      response.on('close', () => resolve(response.statusCode === 200 ? healthIn(text) : null));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(null));
  });
}

function healthIn(text: string): Health | null {
  try {
    const health = JSON.parse(text) as Health;
    return health.app === 'culvert' && Number.isInteger(health.pid) ? health : null;
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
        // the tray is there all day, and one arena of malloc is enough for it
        env: part === 'tray' ? { ...env, MALLOC_ARENA_MAX: '1' } : env,
      });
      child.on('error', error => {
        const packages = 'Debian: gjs gir1.2-adw-1; Fedora: gjs libadwaita; Arch: gjs libadwaita';
        say(`The ${part} could not be started (${error.message}). It needs GJS and libadwaita 1.2 (${packages}).`);
      });
      child.unref();
      return { part, child };
    });
}
