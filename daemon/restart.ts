// Restarts the daemon as the installed version, on request and after an update or a rollback.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readText, replaceFile } from './core/files.ts';
import type { DesktopPart, Flags } from './launcher.ts';
import { programs } from './system/installation.ts';
import type { Paths } from './system/paths.ts';

/** Exit status that makes the user unit restart the daemon (RestartForceExitStatus= in data/culvert.service.in). */
const RESTART = 75;
/** Signal that `culvert restart` sends. Unlike SIGTERM, it keeps unconfirmed changes. */
export const RESTART_SIGNAL = 'SIGUSR2';

interface Restart {
  env: NodeJS.ProcessEnv;
  say(line: string): void;
  /** True to start as a demo. */
  demo: boolean;
  paths: Pick<Paths, 'demoRequest'>;
}

/** Returns true if a unit's daemon was asked to restart as a demo, and deletes the request. */
export function takeDemoRequest({ demoRequest }: Pick<Paths, 'demoRequest'>): boolean {
  if (readText(demoRequest) === null) return false;
  rmSync(demoRequest, { force: true });
  return true;
}

/** Returns the arguments with or without `--demo`. */
function withDemo(argv: readonly string[], flags: Flags, demo: boolean): readonly string[] {
  if (demo === flags.demo) return argv;
  return demo ? [...argv, '--demo'] : argv.filter(word => word !== '--demo');
}

/**
 * Starts the installed daemon with this daemon's flags, unless systemd does. Call it when the ports and the lock are
 * free again.
 * @param argv this daemon's arguments
 * @param open the desktop parts that were open until now; other parts and the browser page stay closed
 * @returns the exit status for this process
 */
export function startAgain(
  argv: readonly string[],
  flags: Flags,
  open: readonly DesktopPart[],
  { env, say, demo, paths }: Restart,
): number {
  if (isUnit(env)) {
    if (demo) replaceFile(paths.demoRequest, ''); // a unit's command is fixed
    return RESTART;
  }
  const closed = (['tray', 'panel'] as const).filter(part => flags[part] && !open.includes(part));
  say('Starting again as what is installed now; it goes on in the background.');
  const more = [...(flags.open ? ['--no-open'] : []), ...closed.map(part => `--no-${part}`)];
  const next = spawn(programs.culvert, [...withDemo(argv, flags, demo), ...more], {
    cwd: '/', // the current directory may be gone, and Node can't start in a deleted directory
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: outside(env),
  });
  next.unref();
  if (next.pid !== undefined) return 0;
  next.on('error', () => {}); // the failure is reported below
  say(`${programs.culvert} could not be started. Start it by hand.`);
  return 1;
}

/**
 * True for the main process of a unit with Type=notify, such as ours. An app that a desktop starts as a unit has no
 * NOTIFY_SOCKET, and a process that inherited the variable has another pid (SYSTEMD_EXEC_PID, since systemd 248).
 */
export function isUnit(env: NodeJS.ProcessEnv, pid = process.pid): boolean {
  return Boolean(env.NOTIFY_SOCKET) && (env.SYSTEMD_EXEC_PID === undefined || env.SYSTEMD_EXEC_PID === String(pid));
}

/** Returns the environment without the variables of the AppImage runtime. */
function outside(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APPIMAGE: _, APPDIR: __, ARGV0: ___, OWD: ____, ...rest } = env;
  return rest;
}
