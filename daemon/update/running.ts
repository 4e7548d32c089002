// The daemon that runs from a user installation, as installing and uninstalling find it: stopped, or started again.
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { running, startOf } from '../instance.ts';
import type { Paths } from '../paths.ts';
import { names, type Places } from './places.ts';

const run = promisify(execFile);
/** A daemon promises to be gone within 2 s, and answers within less. */
const PATIENCE_MS = 15_000;
const UNIT = 'culvert.service';

export interface Found {
  pid: number;
  /** What it was started with, without the program. */
  flags: string[];
  env: NodeJS.ProcessEnv;
  /** Whether systemd runs it as the user unit. */
  unit: boolean;
  /** What of the desktop it has running. */
  shown: string[];
}

/** The daemon of this user, if it runs from this installation; `'other'` for one from elsewhere. */
export function findDaemon(paths: Paths, places: Places): Found | 'other' | null {
  const instance = running(paths);
  if (!instance) return null;
  const { pid } = instance;
  const words = read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
  const program = words.findIndex(word => word.endsWith('/daemon/main.cjs'));
  // Node keeps the path as the launcher gave it: its own, resolved
  if (program < 0 || !names(places, words[program]!)) return 'other';
  const environment = read(`/proc/${pid}/environ`).split('\0').filter(Boolean);
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean);
  const commands = children.map(child => read(`/proc/${child}/cmdline`));
  return {
    pid,
    flags: words.slice(program + 1),
    env: Object.fromEntries(
      environment.map(text => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    ),
    unit: read(`/proc/${pid}/cgroup`).trimEnd().endsWith(`/${UNIT}`),
    shown: ['tray', 'panel'].filter(part => commands.some(command => command.includes(`/${part}.js`))),
  };
}

/**
 * Ends a daemon and waits until it is gone.
 * @throws Error when it goes on
 */
export async function stopDaemon({ pid, unit }: Found): Promise<void> {
  const started = startOf(pid);
  if (started === null) return;
  if (unit) await systemctl('stop', UNIT);
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    return; // gone already
  }
  if (!(await eventually(() => startOf(pid) !== started))) throw new Error(`The daemon (process ${pid}) did not end.`);
}

/**
 * Starts a daemon again as what is installed now, with what it was started with.
 * @returns its version
 * @throws Error when none answers
 */
export async function restartDaemon(found: Found, paths: Paths, { current }: Places): Promise<string> {
  const wasUnit = found.unit && (await systemctl('daemon-reload')) && (await systemctl('restart', UNIT));
  if (!wasUnit) {
    await stopDaemon(found);
    const closed = ['tray', 'panel'].filter(part => !found.shown.includes(part)).map(part => `--no-${part}`);
    const flags = [...new Set([...found.flags, ...closed])];
    const child = spawn(join(current, 'bin/culvert'), flags, {
      detached: true,
      stdio: 'ignore',
      env: found.env,
    });
    child.on('error', () => {}); // told below: none answers
    child.unref();
  }
  let version: string | undefined;
  const answered = await eventually(() => {
    const next = running(paths);
    if (next && next.pid !== found.pid && existsSync(paths.socket)) version = next.version;
    return version !== undefined;
  });
  if (!answered) throw new Error('The daemon was ended, but did not start again. Start it with: culvert');
  return version!;
}

/** Asks the user's manager for something. @returns whether it did; without systemd, false. */
export async function systemctl(...words: string[]): Promise<boolean> {
  try {
    await run('systemctl', ['--user', '--quiet', ...words], { timeout: PATIENCE_MS });
    return true;
  } catch {
    return false;
  }
}

async function eventually(holds: () => boolean): Promise<boolean> {
  const end = Date.now() + PATIENCE_MS;
  while (!holds()) {
    if (Date.now() > end) return false;
    await delay(20);
  }
  return true;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
