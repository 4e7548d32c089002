// Chooses stdin, stdout and stderr of an upstream (the caller's, a pipe, or our own terminal), and feeds stdin to each attempt
// in turn.
import type { ChildProcess } from 'node:child_process';
import { createReadStream, fstatSync, type Stats } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { readOptional } from '../../../daemon/core/files.ts';
import { KeptBytes, pipeSource, type Source, shimPipe, streamSource } from './pipes.ts';
import { followWindowSize, type OutputTerminal, openTerminals, passKeys } from './terminal.ts';

export interface Channels {
  stdio: ('inherit' | 'ignore' | 'pipe' | number)[];
  /** Descriptors that this process closes once the upstream has them. */
  handed: number[];
  /** True if at least one output of the caller is a terminal. */
  onTerminal: boolean;
  /** Returns the stream that feeds the upstream's stdin, if this process feeds it. */
  stdinOf(child: ChildProcess): Writable | undefined;
  /** Returns the outputs that this process reads. */
  outputOf(child: ChildProcess): { stdout?: Source; stderr?: Source };
  stop(): Promise<void>;
}

/** `inherit`: the caller's own stream. `terminal`: a pseudo-terminal in place of the caller's terminal. */
type Mode = 'inherit' | 'pipe' | 'terminal';

interface Wishes {
  last: boolean;
  read: { stdout: boolean; stderr: boolean };
  machineReadable: boolean;
  stdin: 'inherit' | 'ignore' | 'pipe';
}

/** Opens the channels for one attempt. */
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
  // Opened before the upstream starts; without a writer, the upstream would read end of file.
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
  // Held even if no rule reads it: another account may take over only while nothing has been shown.
  if (last && !read.stdout) return 'inherit';
  return isatty(1) ? 'terminal' : 'pipe';
}

function stderrMode({ last, read }: Wishes): Mode {
  if (closedByCaller(2)) return 'inherit';
  if (last && !read.stderr) return 'inherit';
  return isatty(2) ? 'terminal' : 'pipe';
}

/** Returns a descriptor of the caller's terminal. */
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
 * The caller's open descriptors as the shim lists them: `0125`. Node opens /dev/null in place of closed standard descriptors
 * when it starts, and closes descriptors beyond stderr for its children.
 */
const open = process.env.CULVERT_WRAP_FDS ?? '012';

/** Reports whether the caller had closed a standard descriptor. */
function closedByCaller(fd: 0 | 1 | 2): boolean {
  return !open.includes(String(fd));
}

/** Returns the entries after stderr in an upstream's `stdio`. Node leaves ignored descriptors beyond stderr closed. */
export function furtherDescriptors(): ('inherit' | 'ignore')[] {
  const last = Number(open.at(-1) ?? 2);
  return Array.from({ length: Math.max(0, last - 2) }, (_, i) => (open.includes(String(i + 3)) ? 'inherit' : 'ignore'));
}

/** Returns the program and arguments that run `program` with the same standard descriptors closed as in the caller. */
export function startable(program: string, args: readonly string[]): [string, readonly string[]] {
  const closing = ([0, 1, 2] as const).filter(closedByCaller).map(fd => (fd === 0 ? '<&-' : `${fd}>&-`));
  if (closing.length === 0) return [program, args];
  return ['/bin/sh', ['-c', `exec "$@" ${closing.join(' ')}`, 'sh', program, ...args]];
}

export interface Stdin {
  /** Returns the stdin of the next attempt: descriptor 0 itself, nothing, or a pipe that this process feeds. */
  mode(): 'inherit' | 'ignore' | 'pipe';
  /** Feeds an attempt from the first byte on. Returns a function that stops. */
  feed(target: Writable): () => void;
  /** Stops keeping input, because no further attempt will need it. */
  forget(): void;
  /** Reports whether another attempt would get all input. */
  canRepeat(): boolean;
  /** Reads stdin to its end, for the queue; returns `undefined` if this process may not read it. */
  all(): Promise<Buffer | undefined>;
}

/**
 * Opens stdin, but leaves it alone if it may have no reader: in `while read line; do cli "$line"; done` it belongs to the loop.
 * @param mayRepeat whether a second attempt is possible
 * @param isRead whether the catalog says that the command reads stdin
 */
export function openStdin(mayRepeat: boolean, isRead: boolean): Stdin {
  const stat = statOf(0);
  if (!mayRepeat || !stat) return inherited;
  if (stat.isFile()) {
    const start = offset();
    const file = replaying(() => createReadStream('/proc/self/fd/0', { start }));
    // If an upstream has not read from the file, the next upstream and the caller can read it from the same offset.
    return { ...file, mode: () => (offset() === start ? 'inherit' : 'pipe') };
  }
  if (!isRead || !(stat.isFIFO() || stat.isSocket())) return inherited;
  return replaying(() => new Socket({ fd: 0, readable: true, writable: false }));
}

/** The stdin for commands that must not read the caller's. */
export const noStdin: Stdin = {
  mode: () => 'ignore',
  feed: () => () => {},
  forget: () => {},
  canRepeat: () => true,
  all: async () => undefined,
};

const inherited: Stdin = { ...noStdin, mode: () => 'inherit' };

function statOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    return undefined;
  }
}

function offset(): number {
  return Number(/^pos:\s*(\d+)/.exec(readOptional('/proc/self/fdinfo/0') ?? '')?.[1] ?? 0);
}

function replaying(open: () => Readable): Stdin {
  const bytes = new KeptBytes();
  /** The latest piece, set once earlier pieces are no longer kept. */
  let latest: { at: number; chunk: Buffer } | undefined;
  let keep = true;
  let total = 0;
  let source: Readable | undefined;
  let ended = false;
  let wake = () => {};

  const append = (chunk: Buffer) => {
    try {
      if (keep) bytes.append(chunk);
    } catch {
      // The temporary directory is full; this attempt still gets all input.
      keep = false;
    }
    if (!keep) latest = { at: total, chunk };
    total += chunk.length;
  };
  const read = (at: number): Buffer => {
    if (at < bytes.length) return bytes.read(at);
    return latest && at >= latest.at ? latest.chunk.subarray(at - latest.at) : Buffer.alloc(0);
  };
  const readMore = () => {
    if (source) {
      source.resume();
      return;
    }
    source = open();
    source.on('data', (chunk: Buffer) => {
      source!.pause();
      append(chunk);
      wake();
    });
    const end = () => {
      ended = true;
      wake();
    };
    source.on('end', end).on('error', end);
  };

  return {
    mode: () => 'pipe',
    forget: () => {
      keep = false;
    },
    canRepeat: () => keep,
    all: async () => {
      while (!ended && keep) {
        await new Promise<void>(resolve => {
          wake = resolve;
          readMore();
        });
      }
      if (!keep) return undefined;
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += chunks.at(-1)!.length) chunks.push(bytes.read(at));
      return Buffer.concat(chunks);
    },
    feed: target => {
      let at = 0;
      let waiting = false;
      const step = (): void => {
        if (waiting || target.destroyed) return;
        const chunk = read(at);
        if (chunk.length > 0) {
          at += chunk.length;
          waiting = !target.write(chunk);
          if (waiting) target.once('drain', resume);
          else setImmediate(step);
        } else if (ended) target.end();
        else readMore();
      };
      const resume = () => {
        waiting = false;
        step();
      };
      // The upstream may close its stdin at any time.
      target.on('error', () => target.destroy());
      wake = step;
      step();
      return () => {
        wake = () => {};
        source?.pause();
        target.destroy();
      };
    },
  };
}
