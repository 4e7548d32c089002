// Chooses what an upstream gets as stdin, stdout and stderr: the caller's own, a pipe, or a terminal of ours.
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { pipeSource, type Source, shimPipe, streamSource } from './pipes.ts';
import { followWindowSize, type OutputTerminal, openTerminals, passKeys } from './terminal.ts';

export interface Channels {
  stdio: ('inherit' | 'ignore' | 'pipe' | number)[];
  /** Descriptors to be closed once the upstream has them. */
  handed: number[];
  /** At least one output of the caller is a terminal. */
  onTerminal: boolean;
  /** The stream that feeds the upstream's stdin, if it is fed. */
  stdinOf(child: ChildProcess): Writable | undefined;
  /** The outputs that this process reads. */
  outputOf(child: ChildProcess): { stdout?: Source; stderr?: Source };
  stop(): Promise<void>;
}

/** `inherit`: the caller's own. `terminal`: a pseudo-terminal in place of the caller's. */
type Mode = 'inherit' | 'pipe' | 'terminal';

interface Wishes {
  last: boolean;
  read: { stdout: boolean; stderr: boolean };
  machineReadable: boolean;
  stdin: 'inherit' | 'ignore' | 'pipe';
}

/** Opens what one attempt needs. */
export function openChannels(wishes: Wishes): Channels {
  const modes = { stdout: stdoutMode(wishes), stderr: stderrMode(wishes) };
  const terminals = terminalsFor(modes);
  if (!terminals) {
    if (modes.stdout === 'terminal') modes.stdout = wishes.machineReadable ? 'pipe' : 'inherit';
    if (modes.stderr === 'terminal') modes.stderr = wishes.last ? 'inherit' : 'pipe';
  }
  const pipes = {
    stdin: wishes.stdin === 'pipe' ? shimPipe('stdin') : undefined,
    stdout: modes.stdout === 'pipe' ? shimPipe('stdout') : undefined,
    stderr: modes.stderr === 'pipe' ? shimPipe('stderr') : undefined,
  };
  for (const pipe of Object.values(pipes)) pipe?.drain();
  // Before the upstream starts: without a writer it would read end of file.
  const feed = pipes.stdin && new Socket({ fd: pipes.stdin.writer(false), writable: true, readable: false });
  const handed = [pipes.stdin?.childReader(), handedOut('stdout'), handedOut('stderr')];
  const stopFollowing = terminals ? followWindowSize(Object.values(terminals), real()) : () => {};
  const stopKeys = terminals ? passKeys(terminals, real()) : async () => {};

  function handedOut(name: 'stdout' | 'stderr'): number | undefined {
    return modes[name] === 'terminal' ? terminals?.[name]?.slave : pipes[name]?.writer(true);
  }
  function sourceOf(name: 'stdout' | 'stderr', child: ChildProcess): Source | undefined {
    if (modes[name] === 'inherit') return undefined;
    const terminal = modes[name] === 'terminal' ? terminals?.[name] : undefined;
    const pipe = pipes[name];
    return pipe ? pipeSource(pipe) : streamSource(terminal ? terminal.stream : child[name]!);
  }
  return {
    stdio: [
      handed[0] ?? wishes.stdin,
      handed[1] ?? plain(modes.stdout),
      handed[2] ?? plain(modes.stderr),
      ...furtherDescriptors(),
    ],
    handed: handed.filter(fd => fd !== undefined),
    onTerminal: isatty(1) || isatty(2),
    stdinOf: child => (wishes.stdin === 'pipe' ? (feed ?? child.stdin!) : undefined),
    outputOf: child => {
      const [stdout, stderr] = [sourceOf('stdout', child), sourceOf('stderr', child)];
      return { ...(stdout && { stdout }), ...(stderr && { stderr }) };
    },
    stop: () => {
      stopFollowing();
      return stopKeys();
    },
  };
}

function stdoutMode({ last, read }: Wishes): Mode {
  if (closedByCaller(1)) return 'inherit';
  // Even where no rule reads it: another account may take over only while nothing has been shown.
  if (last && !read.stdout) return 'inherit';
  return isatty(1) ? 'terminal' : 'pipe';
}

function stderrMode({ last, read }: Wishes): Mode {
  if (closedByCaller(2)) return 'inherit';
  if (last && !read.stderr) return 'inherit';
  return isatty(2) ? 'terminal' : 'pipe';
}

/** A descriptor of the caller's terminal. */
function real(): 1 | 2 {
  return isatty(1) ? 1 : 2;
}

type Terminals = { stdout?: OutputTerminal; stderr?: OutputTerminal };

function terminalsFor(modes: Record<'stdout' | 'stderr', Mode>): Terminals | undefined {
  const names = (['stdout', 'stderr'] as const).filter(name => modes[name] === 'terminal');
  if (names.length === 0) return undefined;
  const opened = openTerminals(names.length, real());
  return opened && Object.fromEntries(names.map((name, i) => [name, opened[i]!]));
}

function plain(mode: Mode): 'inherit' | 'pipe' {
  return mode === 'inherit' ? 'inherit' : 'pipe';
}

/**
 * Open descriptors of the caller, as the shim names them: `0125`. Node opens /dev/null in place of closed ones when it starts, and
 * closes those beyond stderr for its children.
 */
const open = process.env.CULVERT_WRAP_FDS ?? '012';

/** Reports whether the caller had closed a standard descriptor. */
function closedByCaller(fd: 0 | 1 | 2): boolean {
  return !open.includes(String(fd));
}

/** Entries after stderr in the `stdio` of an upstream. Node leaves ignored descriptors beyond stderr closed. */
export function furtherDescriptors(): ('inherit' | 'ignore')[] {
  const last = Number(open.at(-1) ?? 2);
  return Array.from({ length: Math.max(0, last - 2) }, (_, i) => (open.includes(String(i + 3)) ? 'inherit' : 'ignore'));
}

/** Program and arguments that run `program` without the standard descriptors that the caller had closed. */
export function startable(program: string, args: readonly string[]): [string, readonly string[]] {
  const closing = ([0, 1, 2] as const).filter(closedByCaller).map(fd => (fd === 0 ? '<&-' : `${fd}>&-`));
  if (closing.length === 0) return [program, args];
  return ['/bin/sh', ['-c', `exec "$@" ${closing.join(' ')}`, 'sh', program, ...args]];
}
