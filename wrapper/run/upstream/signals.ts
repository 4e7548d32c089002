// Passes signals on to the upstream, and ends the way it ended.
import { readdirSync } from 'node:fs';
import { readOptional } from '../../../daemon/core/files.ts';
import type { SignalForwarding, SignalTarget } from '../../context.ts';

const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** Forwarding that starts with the first child. Between two children a signal ends this process. */
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
      // before the child exists: a signal in between would end this process and leave the child behind
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

/** Reports whether a child has already ended by a signal that this process, which got it as well, handles only now. */
function isEndedBy({ exitCode, signalCode }: SignalTarget, signal: NodeJS.Signals): boolean {
  return signalCode === signal || exitCode === 128 + (SIGNAL_NUMBERS[signal] ?? Number.NaN);
}

/** The terminal sends Ctrl-C to the whole foreground group, the upstream included: twice would be once too often. */
function ownsTerminal(): boolean {
  const stat = readOptional('/proc/self/stat') ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[4] !== '0' && fields[5] === fields[2];
}

/** Ends this process as the upstream ended: by the same signal or with the same status. Never returns. */
export function exitLike(exit: number | null, signal: NodeJS.Signals | null): never {
  // on SIGUSR1 Node would open a debugger
  if (signal && signal !== 'SIGUSR1') {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  // Reached after a signal that this process ignores (SIGPIPE) or that is delivered late.
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

/** Sends a signal to a process and everything it started that is still its descendant. */
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
