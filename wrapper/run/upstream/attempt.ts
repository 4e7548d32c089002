// Runs the upstream once with one account.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { SignalForwarding } from '../../context.ts';
import { openChannels, startable } from './channels.ts';
import { HeldOutput, type OutputOptions, type OutputPatterns } from './output.ts';
import { killTree } from './signals.ts';
import type { Stdin } from './stdin.ts';

export interface AttemptOptions {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** No other account follows, so nothing needs to be held. */
  last: boolean;
  /** Streams that must be read. The other is the caller's own when nothing needs to be held. */
  read: { stdout: boolean; stderr: boolean };
  /** The output is meant for a program even at a terminal. */
  machineReadable: boolean;
  commit: OutputOptions['commit'];
  patterns: OutputPatterns;
  /** Recognizes in its stderr that the upstream goes on retrying, and how long it may. */
  storm?: { seenIn(text: string): boolean; afterMs: number } | undefined;
  stdin: Stdin;
  signals: SignalForwarding;
}

export interface Attempt {
  exit: number | null;
  signal: NodeJS.Signals | null;
  /** It was ended because it went on retrying. */
  storm: boolean;
  startError?: Error;
  output: HeldOutput;
}

const GRACE_MS = 250;
const KILL_AFTER_MS = 2_000;
/** A person who watches wants to see progress sooner. */
const TERMINAL_STDERR_AFTER_MS = 2_000;

/** Runs the upstream to its end. Never throws for anything the upstream does. */
export async function attempt(options: AttemptOptions): Promise<Attempt> {
  const channels = openChannels({ ...options, stdin: options.stdin.mode() });
  const child = options.signals.forwardTo(() =>
    spawn(...startable(options.program, options.args), { env: options.env, stdio: channels.stdio }),
  );
  for (const fd of channels.handed) closeSync(fd);
  const target = channels.stdinOf(child);
  const stopFeeding = target ? options.stdin.feed(target) : () => {};
  const storm = stormGuard(child, options);
  const output = new HeldOutput(channels.outputOf(child), {
    last: options.last,
    commit: channels.onTerminal
      ? { ...options.commit, stderrAfterMs: Math.min(options.commit.stderrAfterMs, TERMINAL_STDERR_AFTER_MS) }
      : options.commit,
    patterns: options.patterns,
    showsPrompts: isatty(2),
    onCommit: () => {
      storm.cancel();
      options.stdin.forget();
    },
    onStderr: options.storm ? storm.watch : undefined,
  });
  const end = await ended(child);
  await output.drained(GRACE_MS);
  storm.cancel();
  await channels.stop();
  stopFeeding();
  return { ...end, storm: storm.ended, output };
}

function ended(child: ChildProcess): Promise<Pick<Attempt, 'exit' | 'signal' | 'startError'>> {
  return new Promise(resolve => {
    child.on('exit', (exit, signal) => resolve({ exit, signal }));
    child.on('error', startError => {
      if (child.pid === undefined) resolve({ exit: null, signal: null, startError });
    });
  });
}

/** Ends an upstream, with its children, that goes on retrying after a limit. */
function stormGuard(child: ChildProcess, { storm, last }: AttemptOptions) {
  let timer: NodeJS.Timeout | undefined;
  let seen = last || !storm;
  const guard = {
    ended: false,
    watch: (text: string) => {
      if (seen || !storm?.seenIn(text)) return;
      seen = true;
      timer = setTimeout(end, storm.afterMs);
    },
    cancel: () => {
      seen = true;
      clearTimeout(timer);
    },
  };
  const end = () => {
    guard.ended = true;
    killTree(child.pid!, 'SIGTERM');
    timer = setTimeout(() => killTree(child.pid!, 'SIGKILL'), KILL_AFTER_MS);
  };
  return guard;
}
