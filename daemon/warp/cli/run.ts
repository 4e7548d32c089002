// Runs commands of the tunnel CLI with limits on time, output and number, logs them, and ends them with the daemon.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { CommandOutput, LogEntry } from '../../api/schema.ts';
import { afterExit, signalGroup } from '../../core/run-helper.ts';
import { Problem } from '../../problem.ts';
import { redact, redactArgv, secretsIn } from '../../state/redact.ts';
import type { CommandLog } from '../../state/store.ts';
import { failureOf } from '../parse/output.ts';

export interface Command {
  /** Absolute path of the tunnel CLI. */
  file: string;
  args: readonly string[];
  source: LogEntry['source'];
  timeoutMs: number;
  /** True if the command changes something and must not run in parallel with other such commands. */
  write?: boolean;
}

export interface Finished {
  /** Redacted output, as no output leaves this file unredacted. `ok` depends on the content first (see `failureOf`). */
  output: CommandOutput;
  /** True if the command exceeded its time limit and its process group was killed. */
  timedOut: boolean;
  /** True if the program is missing or not executable; a lack of processes or files is an ordinary failure. */
  notStarted: boolean;
}

export interface Runner {
  /**
   * Runs a command. Rejects only with Problem `busy` (too many commands wait, or this command waited too long), or
   * `internal-error` after `stop`.
   */
  run(command: Command): Promise<Finished>;
  /** Kills every process group, and refuses waiting commands. Resolves when all processes have ended. */
  stop(): Promise<void>;
}

const AT_ONCE = 4;
const WAITING = 32;
/** Longest wait of a command for its turn. */
const WAIT_LIMIT_MS = 15_000;
/** Number of bytes to keep of each stream; further output is read and dropped, so that the child doesn't block. */
const OUTPUT_LIMIT = 1024 * 1024;
/** Pause after each chunk beyond the limit: an endless writer must not occupy the event loop. */
const DROP_PAUSE_MS = 4;
/** Wait for output after the child's end: a grandchild may hold its stdout for hours. */
const GRACE_MS = 250;
/** Codes of spawn errors that the program itself causes. */
const UNUSABLE = new Set(['ENOENT', 'EACCES', 'ENOEXEC', 'EPERM', 'ENOTDIR']);

/**
 * @param options.env environment of the children (see `childEnv`)
 * @param options.waitLimitMs longest wait of a command for its turn (default 15 s)
 */
export function createRunner(options: { env: NodeJS.ProcessEnv; log: CommandLog; waitLimitMs?: number }): Runner {
  const { env, log, waitLimitMs = WAIT_LIMIT_MS } = options;
  const waiting: Waiting[] = [];
  const running = new Map<Promise<unknown>, ChildProcess>();
  let slots = AT_ONCE;
  let writing = false;
  let stopped = false;

  const startNext = () => {
    for (let at = 0; slots > 0 && at < waiting.length; ) {
      const next = waiting[at];
      if (!next || (next.write && writing)) at++;
      else {
        waiting.splice(at, 1);
        next.start();
      }
    }
  };

  const start = async (command: Command): Promise<Finished> => {
    slots -= 1;
    if (command.write) writing = true;
    try {
      const child = startChild(command.file, command.args, env);
      const end = collect(child, command);
      running.set(end, child);
      const finished = await end.finally(() => running.delete(end));
      const { output } = finished;
      log.append({ source: command.source, ...output });
      return finished;
    } finally {
      slots += 1;
      if (command.write) writing = false;
      startNext();
    }
  };

  return {
    run(command) {
      if (stopped) return Promise.reject(notRun());
      if (waiting.length >= WAITING) {
        return Promise.reject(
          new Problem('busy', 'Too many commands are waiting for the tunnel CLI. Try again in a few seconds.'),
        );
      }
      return new Promise((resolve, reject) => {
        const entry: Waiting = {
          write: command.write ?? false,
          start() {
            clearTimeout(limit);
            resolve(start(command));
          },
          refuse(reason) {
            clearTimeout(limit);
            reject(reason);
          },
        };
        const limit = setTimeout(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          reject(new Problem('busy', 'Other commands kept the tunnel CLI busy for too long. Try again later.'));
        }, waitLimitMs);
        waiting.push(entry);
        startNext();
      });
    },
    async stop() {
      stopped = true;
      for (const { refuse } of waiting.splice(0)) refuse(notRun());
      for (const child of running.values()) signalGroup(child, 'SIGKILL');
      await Promise.allSettled(running.keys());
    },
  };
}

/** Returns the problem of a command that never started. */
function notRun(): Problem {
  const problem = new Problem('internal-error', 'The daemon is shutting down.');
  problem.uncertain = false;
  return problem;
}

interface Waiting {
  write: boolean;
  start(): void;
  refuse(reason: Error): void;
}

/** Waits for the end of a child, or for its time limit. Never rejects. */
function collect(child: ChildProcess, command: Command): Promise<Finished> {
  const at = new Date().toISOString();
  const started = performance.now();
  const stdout = capture(child.stdout);
  const stderr = capture(child.stderr);
  let timedOut = false;
  let failure: NodeJS.ErrnoException | null = null;

  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(limit);
      clearTimeout(grace);
      child.stdout?.destroy();
      child.stderr?.destroy();
      const secrets = secretsIn(command.args);
      const errors = failure ? `${command.file} could not be started: ${failure.message}` : stderr();
      const notStarted = failure ? UNUSABLE.has(failure.code ?? '') : NOT_STARTED.test(errors);
      const printed = {
        exitCode: notStarted || failure ? null : child.exitCode,
        stdout: redact(stdout(), secrets),
        stderr: redact(errors, secrets),
      };
      const output: CommandOutput = {
        ...printed,
        ok: failureOf(printed) === null,
        argv: [basename(command.file), ...redactArgv(command.args)],
        durationMs: Math.round(performance.now() - started),
        at,
      };
      resolve({ output, timedOut, notStarted });
    };
    let grace: NodeJS.Timeout | undefined;
    const limit = setTimeout(() => {
      timedOut = true;
      signalGroup(child, 'SIGKILL');
      // also limits the wait for a process that the kernel can't end (state D)
      grace = setTimeout(finish, GRACE_MS * 4);
    }, command.timeoutMs);

    child.once('error', cause => {
      failure = cause;
      finish();
    });
    child.once('exit', () => {
      clearTimeout(limit);
      clearTimeout(grace);
      grace = afterExit(GRACE_MS, finish);
    });
    child.once('close', finish);
  });
}

/** Keeps the first part of a stream; the returned function returns it as text. */
function capture(stream: ChildProcess['stdout']): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  let cut = false;
  stream?.on('data', (chunk: Buffer) => {
    const room = OUTPUT_LIMIT - size;
    if (room <= 0) {
      stream.pause();
      setTimeout(() => stream.resume(), DROP_PAUSE_MS).unref();
    }
    if (room > 0) chunks.push(room < chunk.length ? chunk.subarray(0, room) : chunk);
    size = Math.min(OUTPUT_LIMIT, size + chunk.length);
    cut ||= room < chunk.length;
  });
  return () => Buffer.concat(chunks).toString() + (cut ? '\n[output cut at 1 MiB]\n' : '');
}

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
const NOT_STARTED = /^setpriv: failed to execute /;

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
