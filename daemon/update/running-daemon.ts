// Finds, stops and restarts the daemon that runs from a user installation.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readText } from '../core/files.ts';
import { isRunning, startTime } from '../core/process.ts';
import { runningInstance } from '../system/instance.ts';
import type { Paths } from '../system/paths.ts';
import { mentionsInstall, type UserLayout } from './user-layout.ts';

const run = promisify(execFile);
/** Limit for a daemon to end or answer. It usually takes less than 2 s, but longer on a busy machine. */
const TIMEOUT_MS = 15_000;
const UNIT = 'culvert.service';

interface RunningDaemon {
  pid: number;
  /** The arguments of the daemon. */
  flags: string[];
  env: NodeJS.ProcessEnv;
  /** True if systemd runs it as the user unit. */
  unit: boolean;
  /** The desktop parts that the daemon started: tray, panel. */
  shown: string[];
}

/** Returns this user's daemon if it runs from this installation, or `'other'` if it runs from elsewhere. */
export function findDaemon(paths: Paths, layout: UserLayout): RunningDaemon | 'other' | null {
  const instance = runningInstance(paths);
  if (!instance) return null;
  const { pid } = instance;
  const words = (readText(`/proc/${pid}/cmdline`) ?? '').split('\0').slice(0, -1);
  const program = words.findIndex(word => word.endsWith('/daemon/main.cjs'));
  // Node keeps the launcher's resolved path
  if (program < 0 || !mentionsInstall(layout, words[program]!)) return 'other';
  const environment = (readText(`/proc/${pid}/environ`) ?? '').split('\0').filter(Boolean);
  const children = (readText(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean);
  const commands = children.map(child => readText(`/proc/${child}/cmdline`) ?? '');
  return {
    pid,
    flags: words.slice(program + 1),
    env: Object.fromEntries(
      environment.map(text => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    ),
    unit: (readText(`/proc/${pid}/cgroup`) ?? '').trimEnd().endsWith(`/${UNIT}`),
    shown: ['tray', 'panel'].filter(part => commands.some(command => command.includes(`/${part}.js`))),
  };
}

/**
 * Stops a daemon and waits until it ends.
 * @throws Error if it does not end
 */
export async function stopDaemon({ pid, unit }: RunningDaemon): Promise<void> {
  const started = startTime(pid);
  if (started === null) return;
  if (unit) await systemctl('stop', UNIT);
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    return; // the daemon has already ended
  }
  if (!(await eventually(() => !isRunning(pid, started)))) throw new Error(`The daemon (process ${pid}) did not end.`);
}

/**
 * Restarts a daemon as the installed version, with the same arguments.
 * @returns the new daemon's version
 * @throws Error if no daemon answers
 */
export async function restartDaemon(before: RunningDaemon, paths: Paths, { current }: UserLayout): Promise<string> {
  const wasUnit = before.unit && (await systemctl('daemon-reload')) && (await systemctl('restart', UNIT));
  if (!wasUnit) {
    await stopDaemon(before);
    const closed = ['tray', 'panel'].filter(part => !before.shown.includes(part)).map(part => `--no-${part}`);
    const flags = [...new Set([...before.flags, ...closed])];
    const child = spawn(join(current, 'bin/culvert'), flags, {
      detached: true,
      stdio: 'ignore',
      env: before.env,
    });
    child.on('error', () => {}); // reported below if no daemon answers
    child.unref();
  }
  let version: string | undefined;
  const answered = await eventually(() => {
    const next = runningInstance(paths);
    if (next && next.pid !== before.pid && existsSync(paths.socket)) version = next.version;
    return version !== undefined;
  });
  if (!answered) throw new Error('The daemon was ended, but did not start again. Start it with: culvert');
  return version!;
}

/** Runs `systemctl --user`. @returns true if it succeeded; false without systemd */
export async function systemctl(...words: string[]): Promise<boolean> {
  try {
    await run('systemctl', ['--user', '--quiet', ...words], { timeout: TIMEOUT_MS });
    return true;
  } catch {
    return false;
  }
}

async function eventually(holds: () => boolean): Promise<boolean> {
  const end = Date.now() + TIMEOUT_MS;
  while (!holds()) {
    if (Date.now() > end) return false;
    await delay(20);
  }
  return true;
}
