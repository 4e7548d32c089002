// Starts an app so that it outlives the daemon: as a unit of the user's systemd, if that runs, or detached.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { afterExit, findProgram, runHelper } from '../core/run-helper.ts';

interface Start {
  argv: string[];
  /** Variables to add or replace in the session's environment. */
  env: Record<string, string>;
  /** Absolute path, or null for the home directory. */
  directory: string | null;
  terminal: boolean;
  /** Label in the unit's name, safe for file names. */
  label: string;
  /** Description for users. */
  description: string;
  /** True to also report a failure after the first moment. */
  watched: boolean;
}

export interface Launched {
  /** null if the program ended successfully after handing over to another process. */
  pid: number | null;
  /** Resolves with null once the start has succeeded, or with the reason of a failure. Never rejects. */
  failure: Promise<string | null>;
}

/** Time until `launch` returns; most failing starts fail earlier. */
const MOMENT_MS = 700;
/** Time within which an error exit of a watched process counts as a failed start. */
const START_MS = 120_000;
const ASK_MS = 5000;

/**
 * Starts a program in the user's session, and watches its first moment.
 * @param env the daemon's environment
 * @throws Failure if the start fails within a moment
 */
export async function launch(start: Start, env: NodeJS.ProcessEnv): Promise<Launched> {
  const session = sessionEnv(env);
  const path = session.PATH ?? '';
  const argv = start.terminal ? inTerminal(start, path) : start.argv;
  const program = findProgram(argv[0]!, path);
  if (!program) throw new Failure(`The program ${argv[0]} is not there, or can’t be executed.`);
  const cwd = start.directory ?? session.HOME ?? '/';
  if (!isAbsolute(cwd) || !existsSync(cwd))
    throw new Failure(`The directory ${cwd}, in which it starts, is not there.`);
  const command = { ...start, argv: [program, ...argv.slice(1)], directory: cwd };
  const manager = session.XDG_RUNTIME_DIR && existsSync(join(session.XDG_RUNTIME_DIR, 'systemd/private'));
  const runner = manager ? findProgram('systemd-run', path) : null;
  return runner ? asUnit(runner, command, session) : detached(command, session);
}

/** Returns the daemon's environment without variables that only concern the daemon. */
export function sessionEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const image = env.APPDIR;
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]): [string, string][] => {
      if (value === undefined || OWN.test(name)) return [];
      if (!image || !value.includes(image)) return [[name, value]];
      // the AppImage prepends directories that only it needs
      const rest = value.split(':').filter(part => !part.startsWith(image));
      return rest.length > 0 ? [[name, rest.join(':')]] : [];
    }),
  );
}

const OWN =
  /^(NODE_.*|CULVERT_.*|NOTIFY_SOCKET|WATCHDOG_.*|LISTEN_.*|INVOCATION_ID|JOURNAL_STREAM|MANAGERPID|SYSTEMD_.*|MEMORY_PRESSURE_.*|RUNTIME_DIRECTORY|STATE_DIRECTORY|CONFIGURATION_DIRECTORY|DESKTOP_STARTUP_ID|XDG_ACTIVATION_TOKEN|APPIMAGE|APPDIR|ARGV0|OWD|LD_PRELOAD|npm_.*)$/;

/** Returns a command in a terminal; the variables are part of it, because some terminals hand it to a server. */
function inTerminal({ argv, env }: Start, path: string): string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = variables.length > 0 ? ['env', ...variables, ...argv] : argv;
  for (const [terminal, ...flags] of TERMINALS)
    if (findProgram(terminal!, path)) return [terminal!, ...flags, ...command];
  throw new Failure('It needs a terminal, and no terminal emulator was found.');
}
const TERMINALS = [
  ['xdg-terminal-exec'],
  ['x-terminal-emulator', '-e'],
  ['gnome-terminal', '--wait', '--'],
  ['konsole', '-e'],
  ['xfce4-terminal', '-x'],
  ['foot'],
  ['xterm', '-e'],
];

type Command = Start & { directory: string };

async function detached(command: Command, session: NodeJS.ProcessEnv): Promise<Launched> {
  const { argv, env, directory, watched } = command;
  const child = spawn(argv[0]!, argv.slice(1), {
    cwd: directory,
    env: { ...session, ...env },
    detached: true, // setsid: our signals don't reach it
    stdio: 'ignore',
  });
  const ended = await endWithin(child, MOMENT_MS);
  child.unref();
  if (ended === 0) return { pid: null, failure: SUCCESS };
  if (ended !== null) throw new Failure(failureOf(argv[0]!, ended, 'at once'));
  return { pid: child.pid ?? null, failure: watched ? failureIn(child, argv[0]!) : SUCCESS };
}

const SUCCESS = Promise.resolve(null);

async function failureIn(child: ChildProcess, program: string): Promise<string | null> {
  const ended = await endWithin(child, START_MS);
  return ended === null || ended === 0 ? null : failureOf(program, ended, 'soon after its start');
}

/** Starts a service unit, because a scope would inherit the daemon's sandbox. */
async function asUnit(runner: string, command: Command, session: NodeJS.ProcessEnv): Promise<Launched> {
  const { argv, env, directory, label, description, watched } = command;
  const escaped = label.replace(/[^A-Za-z0-9.]/g, c => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const unit = `app-culvert-${escaped}-${randomBytes(4).toString('hex')}.service`;
  const passed = Object.entries(session).filter(([name]) => OF_SESSION.test(name));
  const variables = Object.entries({ ...Object.fromEntries(passed), ...env });
  const child = spawn(
    runner,
    [
      '--user',
      '--quiet',
      '--collect',
      '--wait',
      '--slice=app.slice',
      '--service-type=exec',
      `--unit=${unit}`,
      `--description=${printable(description)}`,
      `--working-directory=${directory}`,
      ...variables.map(([name, value]) => `--setenv=${name}=${value}`),
      '--',
      argv[0]!,
      // the manager expands variables in a unit's arguments, and $$ is a dollar sign (systemd.service(5))
      ...argv.slice(1).map(arg => arg.replaceAll('$', '$$$$')),
    ],
    { env: session, stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' },
  );
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', piece => {
    said = (said + piece).slice(-2000);
  });
  const ended = await endWithin(child, MOMENT_MS);
  if (ended === 0) return { pid: null, failure: SUCCESS };
  if (ended !== null) throw new Failure(said.trim() || failureOf(argv[0]!, ended, 'at once'));
  const failure = watched ? failureIn(child, argv[0]!) : SUCCESS;
  const pid = mainPid(unit, session);
  // killing the runner, which only waits, does not affect the unit
  void Promise.all([failure, pid]).then(() => child.kill('SIGKILL'));
  child.unref();
  return { pid: await pid, failure };
}

/** Variables that make a process part of this desktop session; the manager sets the other variables. */
const OF_SESSION =
  /^(PATH|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|DESKTOP_SESSION|XDG_(SESSION_.*|CURRENT_DESKTOP|DATA_.*|CONFIG_.*|STATE_HOME|CACHE_HOME|MENU_PREFIX|RUNTIME_DIR)|LANG|LANGUAGE|LC_.*|GTK_.*|GDK_.*|QT_.*|XCURSOR_.*|XMODIFIERS|.*_IM_MODULE|MOZ_.*|SSH_AUTH_SOCK|HOME)$/;

async function mainPid(unit: string, env: NodeJS.ProcessEnv): Promise<number | null> {
  const argv = ['systemctl', '--user', 'show', '--property=MainPID', '--value', unit] as const;
  const { stdout } = await runHelper(argv, { env, timeoutMs: ASK_MS });
  return Number(stdout.trim()) || null;
}

/** Limit of the wait for the last output of an ended process: its child may hold the pipe open. */
const GRACE_MS = 1000;

/** Resolves with a process's exit after all its output; with null if it still runs after `ms`. */
function endWithin(child: ChildProcess, ms: number): Promise<number | string | Error | null> {
  return new Promise(resolve => {
    const done = (end: number | string | Error | null) => {
      clearTimeout(timer);
      resolve(end);
    };
    const timer = setTimeout(done, ms, null).unref(); // the child keeps this process alive if needed
    child.once('error', done);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      const grace = afterExit(GRACE_MS, () => done(code ?? signal));
      child.once('close', () => {
        clearTimeout(grace);
        done(code ?? signal);
      });
    });
  });
}

function failureOf(program: string, end: number | string | Error, when: string): string {
  if (end instanceof Error) return `${basename(program)} could not be started: ${end.message}.`;
  return `${basename(program)} ended ${when}, ${typeof end === 'number' ? `with exit code ${end}` : `by ${end}`}.`;
}
