// The control commands as users run them: the bundled program, against the real front of a daemon whose tunnel is a script.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ActionName, CommandOutput, ConnectionState, Status } from '../../../daemon/api/schema.ts';
import type { Limits } from '../../../daemon/http/guard.ts';
import type { State } from '../../../daemon/state/store.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';
import { bundleProgram } from '../../../data/build/bundle.mjs';
import { builtOnce } from '../built.ts';
import { type Ended, runInProcess } from '../in-process.ts';
import { temporary } from '../temporary.ts';
import { OUTPUT, type Running, startListeners } from './listeners.ts';

/** Stands for `<prefix>/share/culvert`. */
const built = builtOnce('command-line', directory => {
  bundleProgram('cli', join(directory, 'cli'), { __VERSION__: '"9.9.9"' });
  symlinkSync(resolve('data/knowledge'), join(directory, 'knowledge'));
});
export const program = join(built, 'cli', 'main.cjs');

interface Ends {
  after(end: () => unknown): unknown;
}

/** The directories of a user of the test; `env` is all that the program gets to see. */
export interface Home {
  path: string;
  env: Record<string, string>;
  /** The socket at which the program expects the daemon. */
  socket: string;
}

export function createHome(t: Ends): Home {
  const path = temporary(t, 'home');
  mkdirSync(join(path, 'run', 'culvert'), { recursive: true, mode: 0o700 });
  const env = { HOME: path, XDG_RUNTIME_DIR: join(path, 'run'), PATH: process.env.PATH ?? '', TZ: 'UTC' };
  return { path, env, socket: join(path, 'run', 'culvert', 'api.sock') };
}

// as a home has it, for commands that run in this process
process.env.TZ = 'UTC';

/** Runs a command to its end, in this process. */
export function culvert(
  home: Home,
  words: readonly string[],
  input = '',
  env: Record<string, string> = {},
): Promise<Ended> {
  return runInProcess(program, words, { env: { ...home.env, ...env }, cwd: home.path, input });
}

/** The same, printed on a terminal of that many columns. */
export function culvertAt(columns: number, home: Home, words: readonly string[]): Promise<Ended> {
  const env = { ...home.env, TERM: 'xterm', LANG: 'C.UTF-8' };
  return runInProcess(program, words, { env, cwd: home.path, input: '', columns });
}

/** Starts a command that goes on. */
export async function start(home: Home, words: string[], env: Record<string, string> = {}): Promise<Child> {
  return watched(spawn(process.execPath, [program, ...words], { env: { ...home.env, ...env }, cwd: home.path }));
}

/** The same on a terminal (a pty of script(1)): what it shows arrives on stdout, what is typed goes to stdin. */
export async function startOnTerminal(home: Home, words: string[], env: Record<string, string> = {}): Promise<Child> {
  const command = [process.execPath, program, ...words].map(word => `'${word}'`).join(' ');
  const options = { env: { ...home.env, TERM: 'xterm', ...env }, cwd: home.path };
  return watched(spawn('script', ['-qec', command, '/dev/null'], options));
}

function watched(child: ChildProcessWithoutNullStreams): Child {
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (piece: string) => {
      text[name] += piece;
      child.emit('text');
    });
  }
  return Object.assign(child, { text });
}
export type Child = ChildProcessWithoutNullStreams & { text: { stdout: string; stderr: string } };

export async function ended(child: Child): Promise<Ended> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return { code: child.exitCode, ...child.text };
}

/** Resolves once the output matches. */
export async function prints(child: Child, stream: 'stdout' | 'stderr', pattern: RegExp): Promise<void> {
  const giveUp = AbortSignal.timeout(60_000);
  while (!pattern.test(child.text[stream])) {
    await once(child, 'text', { signal: giveUp }).catch(cause => {
      throw new Error(`${stream} never matched ${pattern}; it is ${JSON.stringify(child.text)}`, { cause });
    });
  }
}

export type Perform = (state: State, action: ActionName, value: string | undefined) => CommandOutput | null | undefined;

/** A daemon at the home's socket. `perform` is what the tunnel does with an action; it may throw a Problem. */
export async function startDaemon(
  t: Ends,
  home: Home,
  perform: Perform = () => OUTPUT,
  { tunnel = {}, limits = {} }: { tunnel?: Partial<Tunnel>; limits?: Partial<Limits> } = {},
): Promise<Running> {
  const running: Running = await startListeners(t as never, {
    limits,
    tunnel: {
      async runAction({ action, value }) {
        const output = perform(running.daemon.state, action, value);
        running.performed.push([action, value]);
        return output ?? OUTPUT;
      },
      ...tunnel,
    },
  });
  rmSync(home.socket, { force: true });
  symlinkSync(running.socket, home.socket);
  return running;
}

/** A home with a daemon at its socket. */
export async function startHome(t: Ends, perform?: Perform, options?: Parameters<typeof startDaemon>[3]) {
  const home = createHome(t);
  return Object.assign(await startDaemon(t, home, perform, options), { home });
}

export function status(state: ConnectionState, more: Partial<Status> = {}): Status {
  return { state, reason: null, network: null, blocked: null, since: '2026-01-01T10:00:00.000Z', raw: null, ...more };
}

export function reason(text: string): Pick<Status, 'reason'> {
  return { reason: { code: null, text } };
}
