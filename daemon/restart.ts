// Starts the daemon again as the installed version: on request, and after an update or a rollback replaced it.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readText, replaceFile } from './core/files.ts';
import type { DesktopPart, Flags } from './launcher.ts';
import { programs } from './system/installation.ts';
import type { Paths } from './system/paths.ts';

/** Exit status on which the user unit starts the daemon again (RestartForceExitStatus= in data/culvert.service.in). */
const RESTART = 75;
/** Signal by which `culvert restart` asks for it. Unlike the end by SIGTERM, it keeps what is not confirmed. */
export const RESTART_SIGNAL = 'SIGUSR2';

interface Restart {
  env: NodeJS.ProcessEnv;
  say(line: string): void;
  /** Start as a demo. */
  demo: boolean;
  paths: Pick<Paths, 'demoRequest'>;
}

/** @returns true once after a unit's daemon was asked to start again as a demo */
export function takeDemoRequest({ demoRequest }: Pick<Paths, 'demoRequest'>): boolean {
  if (readText(demoRequest) === null) return false;
  rmSync(demoRequest, { force: true });
  return true;
}

/** The arguments, with `--demo` or without. */
function withDemo(argv: readonly string[], flags: Flags, demo: boolean): readonly string[] {
  if (demo === flags.demo) return argv;
  return demo ? [...argv, '--demo'] : argv.filter(word => word !== '--demo');
}

/**
 * Starts the daemon that is installed now with the flags of this one, unless systemd does. To be called when the ports
 * and the lock are free again.
 * @param argv this daemon's arguments
 * @param open the parts of the desktop that were open until now; the others stay closed, and so does the browser page
 * @returns the exit status to end with
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
    cwd: '/', // the daemon's own directory may be gone, and Node does not start in one
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: outside(env),
  });
  next.unref();
  if (next.pid !== undefined) return 0;
  next.on('error', () => {}); // emitted later than the caller ends this process
  say(`${programs.culvert} could not be started. Start it by hand.`);
  return 1;
}

/**
 * True for the main process of a unit with Type=notify, as ours is. An app that a desktop starts as a unit has no
 * NOTIFY_SOCKET, and a process that inherited one has another pid (SYSTEMD_EXEC_PID, since systemd 248).
 */
export function isUnit(env: NodeJS.ProcessEnv, pid = process.pid): boolean {
  return Boolean(env.NOTIFY_SOCKET) && (env.SYSTEMD_EXEC_PID === undefined || env.SYSTEMD_EXEC_PID === String(pid));
}

/** The environment without the variables of the AppImage's runtime that ends here. */
function outside(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APPIMAGE: _, APPDIR: __, ARGV0: ___, OWD: ____, ...rest } = env;
  return rest;
}
