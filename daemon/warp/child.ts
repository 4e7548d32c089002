// Starts and ends processes of the tunnel CLI, so that none outlives the daemon, however it dies.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Starts a program in a process group of its own, without stdin, with stdout and stderr piped.
 * The kernel kills it when this process dies, also by SIGKILL, where util-linux' setpriv is installed; elsewhere
 * it ends at its time limit, or when it next writes to the broken pipe.
 * @param file absolute path
 * @param args passed as they are; no shell reads them
 */
export function startChild(file: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const [program, ...rest] = [...deathBound(), file, ...args] as [string, ...string[]];
  // execa is not used here: its time limit kills only the child and its promise waits for whoever holds stdout.
  return spawn(program, rest, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env, shell: false });
}

/** Signals the child's whole process group; one that is gone, or no longer ours to signal, is no error. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw cause;
  }
}

/** What the tunnel CLI is allowed to know of the daemon's environment; never NODE_OPTIONS or LD_*. */
export function childEnv(env: NodeJS.ProcessEnv, emulated: boolean): NodeJS.ProcessEnv {
  const allowed = emulated ? new RegExp(`${ALLOWED.source}|^CULVERT_EMULATOR_`) : ALLOWED;
  return Object.fromEntries(Object.entries(env).filter(([name]) => allowed.test(name)));
}

/** Says that setpriv, not the program, failed: `setpriv: failed to execute /x/warp-cli: No such file or directory`. */
export const NOT_STARTED = /^setpriv: failed to execute /;

const ALLOWED = /^(PATH|HOME|USER|LANG|LC_[A-Z]+|XDG_[A-Z_]+|DBUS_SESSION_BUS_ADDRESS)$/;

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find(path => existsSync(path));

/** Tried once, because setpriv sets capabilities, which a sandbox (systemd's `~@privileged`) may forbid. */
let usable: boolean | undefined;

function deathBound(): string[] {
  if (!SETPRIV) return [];
  const arguments_ = ['--pdeathsig', 'KILL', '--'];
  usable ??= spawnSync(SETPRIV, [...arguments_, SETPRIV, '--version'], { stdio: 'ignore' }).status === 0;
  return usable ? [SETPRIV, ...arguments_] : [];
}
