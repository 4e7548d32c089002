// Starts and ends processes of the tunnel CLI, and ensures that they end with the daemon, even if it crashes.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Starts a program in its own process group, with stdout and stderr piped.
 * If util-linux' setpriv is installed, the kernel kills it when this process dies, even by SIGKILL; otherwise it ends at
 * its time limit, or when it next writes to the broken pipe.
 * @param file absolute path
 * @param args arguments, which no shell interprets
 * @param input text for stdin; /dev/null by default
 */
export function startChild(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input?: string,
): ChildProcess {
  const [program, ...rest] = [...deathBound(), file, ...args] as [string, ...string[]];
  // not execa: its time limit kills only the child, and its promise waits until every holder of stdout ends
  const stdin = input === undefined ? 'ignore' : 'pipe';
  const child = spawn(program, rest, { detached: true, stdio: [stdin, 'pipe', 'pipe'], env, shell: false });
  child.stdin?.on('error', () => {}).end(input); // the child may end without reading stdin
  return child;
}

/** Returns the part of the daemon's environment that the tunnel CLI gets; never NODE_OPTIONS or LD_*. */
export function childEnv(env: NodeJS.ProcessEnv, emulated: boolean): NodeJS.ProcessEnv {
  const allowed = emulated ? new RegExp(`${ALLOWED.source}|^CULVERT_EMULATOR_`) : ALLOWED;
  return Object.fromEntries(Object.entries(env).filter(([name]) => allowed.test(name)));
}

/** Matches the message of setpriv, not the program: `setpriv: failed to execute /x/warp-cli: No such file or directory`. */
export const NOT_STARTED = /^setpriv: failed to execute /;

const ALLOWED = /^(PATH|HOME|USER|LANG|LC_[A-Z]+|XDG_[A-Z_]+|DBUS_SESSION_BUS_ADDRESS)$/;

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find(path => existsSync(path));

/** Tested once, because setpriv sets capabilities, which a sandbox (systemd's `~@privileged`) may forbid. */
let usable: boolean | undefined;

function deathBound(): string[] {
  if (!SETPRIV) return [];
  const arguments_ = ['--pdeathsig', 'KILL', '--'];
  usable ??= spawnSync(SETPRIV, [...arguments_, SETPRIV, '--version'], { stdio: 'ignore' }).status === 0;
  return usable ? [SETPRIV, ...arguments_] : [];
}
