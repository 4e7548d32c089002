// Prepares the daemon: parses its flags, chooses the addresses to listen on, and starts tray and panel.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Config } from './api/schema.ts';
import { reason } from './core/errors.ts';
import { programs } from './system/installation.ts';

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
  // data/bin/culvert.in answers these flags, but only if they are the only word
  const lone = argv.find(word => /^--(?:status|version|help)$/.test(word));
  if (lone) throw new TypeError(`${lone} is used without other options: culvert ${lone}`);
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

const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * Returns the configured addresses to listen on.
 * @throws Error when an address beyond loopback is requested without the keys that allow it.
 */
export function addressesOf({ server: { bind }, webui }: Config): { addresses: string[]; remote: boolean } {
  // clients read 127.0.0.1 in the daemon's record, and a second start asks there
  const local = LOOPBACK.includes(bind) ? LOOPBACK : [bind, ...LOOPBACK];
  const isLocal = bind === '::1' || bind.startsWith('127.');
  if (!(webui.enabled && webui.allowRemote)) {
    if (isLocal) return { addresses: local, remote: false };
    throw new Error(
      `server.bind is ${bind}, which other machines can reach. ` +
        'Set webui.enabled and webui.allowRemote to allow that, or bind to 127.0.0.1.',
    );
  }
  // webui.address belongs to a reverse proxy, which encrypts, and runs on this machine unless server.bind differs
  if (isLocal && webui.address) return { addresses: local, remote: true };
  if (isLocal || bind === '0.0.0.0' || bind === '::') return { addresses: ['0.0.0.0', '::'], remote: true };
  return { addresses: [bind, ...LOOPBACK], remote: true };
}

/**
 * Environment that saves memory, because tray and panel run all day: malloc uses one arena, and returns freed memory to the
 * system (mallopt(3); in bytes). A fixed threshold keeps large blocks apart from widgets, among which they would leave holes.
 * The engine makes no machine code (gjs, doc/Environment.md): that takes 2 to 3 MB, and neither program computes much.
 */
export const FRUGAL = {
  GJS_DISABLE_JIT: '1',
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '32768',
  MALLOC_TOP_PAD_: '0',
};

/**
 * Starts tray and panel if the flags ask for them, and reports missing programs. Both are single instances: a second start only
 * shows the first instance.
 * @returns the started processes, which end with the daemon.
 */
export function startDesktop(
  flags: Flags,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): { part: DesktopPart; child: ChildProcess }[] {
  const parts = (['tray', 'panel'] as const).filter(part => flags[part]);
  if (!parts.length) return [];
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) {
    say('No display, so no tray and no panel. Control it with "culvert status", "culvert connect", or over HTTP.');
    return [];
  }
  const missing = parts.filter(part => !existsSync(programs[part]));
  if (missing.length)
    say(`This installation has no ${missing.join(' and no ')}: ${missing.map(p => programs[p]).join(', ')}`);
  return parts
    .filter(part => !missing.includes(part))
    .map(part => {
      const child = spawn(programs.gjs, ['-m', programs[part]], {
        detached: true,
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...env, ...FRUGAL },
      });
      child.on('error', error => {
        const packages = 'Debian: gjs gir1.2-adw-1; Fedora: gjs libadwaita; Arch: gjs libadwaita';
        say(`The ${part} could not be started (${reason(error)}). It needs GJS and libadwaita 1.2 (${packages}).`);
      });
      child.unref();
      return { part, child };
    });
}
