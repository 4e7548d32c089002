// Runs the upstream once with one account, forwards signals to it, and ends this process with its status or signal.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, readdirSync } from 'node:fs';
import { isatty } from 'node:tty';
import { readOptional } from '../../../daemon/core/files.ts';
import type { SignalForwarding, SignalTarget } from '../../context.ts';
import { openChannels, type Stdin, startable } from './channels.ts';
import { HeldOutput, type OutputOptions, type OutputPatterns } from './output.ts';

export interface AttemptOptions {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** True if no other account follows, so nothing needs to be held. */
  last: boolean;
  /** Streams that must be read. The upstream gets the caller's own for other streams if nothing needs to be held. */
  read: { stdout: boolean; stderr: boolean };
  /** True if the output is meant for a program, even on a terminal. */
  machineReadable: boolean;
  commit: OutputOptions['commit'];
  patterns: OutputPatterns;
  stdin: Stdin;
  signals: SignalForwarding;
}

export interface Attempt {
  exit: number | null;
  signal: NodeJS.Signals | null;
  startError?: Error;
  output: HeldOutput;
}

const GRACE_MS = 250;
/** Longest hold of stderr on a terminal, where users expect progress sooner. */
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
  const output = new HeldOutput(channels.outputOf(child), {
    last: options.last,
    commit: channels.onTerminal
      ? { ...options.commit, stderrAfterMs: Math.min(options.commit.stderrAfterMs, TERMINAL_STDERR_AFTER_MS) }
      : options.commit,
    patterns: options.patterns,
    showsPrompts: isatty(2),
    onCommit: () => options.stdin.forget(),
  });
  const end = await ended(child);
  await output.drained(GRACE_MS);
  await channels.stop();
  stopFeeding();
  return { ...end, output };
}

function ended(child: ChildProcess): Promise<Pick<Attempt, 'exit' | 'signal' | 'startError'>> {
  return new Promise(resolve => {
    child.on('exit', (exit, signal) => resolve({ exit, signal }));
    child.on('error', startError => {
      if (child.pid === undefined) resolve({ exit: null, signal: null, startError });
    });
  });
}

const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** Forwards signals from the first child on. Between two children, a signal ends this process. */
export function signalForwarding(): SignalForwarding {
  let child: SignalTarget | undefined;
  let isActive = false;
  const receive = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGUSR1' && signal !== 'SIGUSR2') forwarding.received ??= signal;
    if (child?.exitCode === null && child.signalCode === null) {
      if (!((signal === 'SIGINT' || signal === 'SIGQUIT') && ownsTerminal())) child.kill(signal);
    } else if (signal !== 'SIGUSR1' && (!child || !isEndedBy(child, signal))) {
      forwarding.stop();
      process.kill(process.pid, signal);
    }
  };
  const forwarding: SignalForwarding = {
    received: undefined,
    forwardTo: start => {
      // before the child exists; otherwise a signal in between would end this process and leave the child running
      if (!isActive) for (const signal of PASSED_ON) process.on(signal, receive);
      isActive = true;
      const started = start();
      child = started;
      forwarding.received = undefined;
      return started;
    },
    stop: () => {
      for (const signal of PASSED_ON) process.off(signal, receive);
      isActive = false;
    },
  };
  return forwarding;
}

/** Reports whether a child has ended by a signal that this process also received, but handles only now. */
function isEndedBy({ exitCode, signalCode }: SignalTarget, signal: NodeJS.Signals): boolean {
  return signalCode === signal || exitCode === 128 + (SIGNAL_NUMBERS[signal] ?? Number.NaN);
}

/** Reports whether this process is in the foreground group: the terminal sends Ctrl-C to the whole group, with the upstream. */
function ownsTerminal(): boolean {
  const stat = readOptional('/proc/self/stat') ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[4] !== '0' && fields[5] === fields[2];
}

/** Ends this process like the upstream, by the same signal or with the same status. Never returns. */
export function exitLike(exit: number | null, signal: NodeJS.Signals | null): never {
  // on SIGUSR1 Node would open a debugger
  if (signal && signal !== 'SIGUSR1') {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  // Reached if this process ignores the signal (SIGPIPE) or gets it late.
  process.exit(exit ?? 128 + (SIGNAL_NUMBERS[signal ?? ''] ?? 1));
}

const SIGNAL_NUMBERS: Record<string, number> = {
  SIGUSR1: 10,
  SIGPIPE: 13,
  SIGTERM: 15,
  SIGKILL: 9,
  SIGINT: 2,
  SIGHUP: 1,
};

/** Sends a signal to a process and all its current descendants. */
export function killTree(pid: number, signal: NodeJS.Signals): void {
  for (const child of childrenOf(pid)) killTree(child, signal);
  try {
    process.kill(pid, signal);
  } catch {
    // The child has ended.
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .flatMap(task => (readOptional(`/proc/${pid}/task/${task}/children`) ?? '').split(' '))
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}
