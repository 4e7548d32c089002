// One run of the upstream with one account: output held until it counts, streamed from the commit point on.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { stripAnsi } from './classify.ts';
import { type AnonymousPipe, shimPipe, writeAll } from './pipes.ts';
import { type Forwarding, killTree } from './signals.ts';
import type { Stdin } from './stdin.ts';

export interface AttemptOptions {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** No other account follows, so nothing needs to be held. */
  last: boolean;
  /** Which output somebody needs to see; what nobody does is the caller's own when nothing needs to be held. */
  read: { stdout: boolean; stderr: boolean };
  /** Milliseconds after the first byte, and bytes, at which the output is committed. */
  commit: { bytes: number; afterMs: number; stderrAfterMs: number };
  /** Group 1 is the id of a job that the upstream created. */
  jobId?: RegExp;
  storm?: { pattern: RegExp; afterMs: number };
  stdin: Stdin;
  signals: Forwarding;
}

export interface Attempt {
  exit: number | null;
  signal: NodeJS.Signals | null;
  /** What was held of it, for the rules. */
  stdout: string;
  stderr: string;
  /** Its output has been shown in part, so it can't be replaced by another attempt's. */
  committed: boolean;
  jobs: string[];
  /** It was ended because it went on retrying. */
  storm: boolean;
  startError?: Error;
  /** Shows what is still held. Returns false when nobody reads it any more. */
  release(): boolean;
  /** Closes its ends of the pipes; only needed when this process goes on. */
  dispose(): void;
}

const GRACE_MS = 250;
const KILL_AFTER_MS = 2_000;
const KEPT_TEXT = 64 * 1024;

/** Runs the upstream to its end. Never throws for anything the upstream does. */
export async function attempt(options: AttemptOptions): Promise<Attempt> {
  const terminal = { out: isatty(1), err: isatty(2) };
  const mode = {
    stdin: options.stdin.mode(),
    stdout: terminal.out || (options.last && !options.read.stdout) ? ('inherit' as const) : ('pipe' as const),
    stderr: options.last && (terminal.err || !options.read.stderr) ? ('inherit' as const) : ('pipe' as const),
  };
  const pipes = {
    stdin: mode.stdin === 'pipe' ? shimPipe('stdin') : undefined,
    stdout: mode.stdout === 'pipe' ? shimPipe('stdout') : undefined,
    stderr: mode.stderr === 'pipe' ? shimPipe('stderr') : undefined,
  };
  for (const pipe of Object.values(pipes)) pipe?.drain();
  // Before the upstream starts: without a writer it would read end of file.
  const feed = pipes.stdin && new Socket({ fd: pipes.stdin.writer(false), writable: true, readable: false });
  const handed = [pipes.stdin?.childReader(), pipes.stdout?.writer(true), pipes.stderr?.writer(true)];
  const stdio: StdioOptions = [handed[0] ?? mode.stdin, handed[1] ?? mode.stdout, handed[2] ?? mode.stderr];
  const child = spawn(options.program, options.args, { env: options.env, stdio });
  for (const fd of handed) if (fd !== undefined) closeSync(fd);
  options.signals.to(child);

  const stopFeeding = mode.stdin === 'pipe' ? options.stdin.feed(feed ?? child.stdin!) : () => {};
  const output = holdOutput(child, options, {
    stdout: mode.stdout === 'pipe' ? (pipes.stdout ? readerOf(pipes.stdout) : child.stdout!) : undefined,
    stderr: mode.stderr === 'pipe' ? (pipes.stderr ? readerOf(pipes.stderr) : child.stderr!) : undefined,
    pipes,
  });
  const end = await ended(child);
  await output.drained(GRACE_MS);
  stopFeeding();
  return { ...end, ...output.result() };
}

/**
 * Half open, so that it is not destroyed at end of file: that touches `process.stderr`, which takes 1.5 ms to come into
 * being and makes the caller's stderr non-blocking. `dispose` destroys it where the process lives on.
 */
function readerOf(pipe: AnonymousPipe): Readable {
  return new Socket({ fd: pipe.reader(), readable: true, writable: true, allowHalfOpen: true });
}

function ended(child: ChildProcess): Promise<Pick<Attempt, 'exit' | 'signal' | 'startError'>> {
  return new Promise(resolve => {
    child.on('exit', (exit, signal) => resolve({ exit, signal }));
    child.on('error', startError => {
      if (child.pid === undefined) resolve({ exit: null, signal: null, startError });
    });
  });
}

function holdOutput(
  child: ChildProcess,
  options: AttemptOptions,
  from: {
    stdout: Readable | undefined;
    stderr: Readable | undefined;
    pipes: { stdout: AnonymousPipe | undefined; stderr: AnonymousPipe | undefined };
  },
) {
  const { commit, jobId, storm } = options;
  let held: { fd: 1 | 2; chunk: Buffer }[] = [];
  let heldBytes = 0;
  let committed = false;
  let stderrLive = options.last;
  let relayed: Promise<void> | undefined;
  let stormSeen = false;
  let stormEnded = false;
  let open = true;
  const text = { stdout: '', stderr: '' };
  const jobs: string[] = [];
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, act: () => void) => {
    const timer = setTimeout(act, ms);
    timers.push(timer);
  };

  const show = (fd: 1 | 2, chunk: Buffer) => {
    if (!writeAll(fd, chunk)) open = false;
  };
  const take = (fd: 1 | 2) => {
    const chunks = held.filter(item => item.fd === fd).map(item => item.chunk);
    held = held.filter(item => item.fd !== fd);
    return Buffer.concat(chunks);
  };
  const findJobs = () => {
    for (const stream of ['stdout', 'stderr'] as const) {
      const id = jobId
        ?.exec(stripAnsi(text[stream]))
        ?.slice(1)
        .find(group => group !== undefined);
      if (id && !jobs.includes(id)) {
        jobs.push(id);
        commitNow();
      }
    }
  };
  const showStderr = () => {
    stderrLive = true;
    show(2, take(2));
  };
  const commitNow = () => {
    if (committed) return;
    committed = true;
    options.stdin.forget();
    showStderr();
    if (from.stdout) relayed = relay(1, from.stdout, take(1), from.pipes.stdout);
  };
  const endStorm = () => {
    if (committed || !child.pid) return;
    stormEnded = true;
    killTree(child.pid, 'SIGTERM');
    after(KILL_AFTER_MS, () => killTree(child.pid!, 'SIGKILL'));
  };

  from.stdout?.on('data', (chunk: Buffer) => {
    if (committed) return;
    if (heldBytes === 0) after(commit.afterMs, commitNow);
    held.push({ fd: 1, chunk });
    heldBytes += chunk.length;
    text.stdout += chunk.toString('utf8');
    findJobs();
    if (heldBytes >= commit.bytes) commitNow();
  });
  from.stderr?.on('data', (chunk: Buffer) => {
    if (text.stderr === '' && !stderrLive) after(commit.stderrAfterMs, () => !stormSeen && showStderr());
    text.stderr = (text.stderr + chunk.toString('utf8')).slice(-KEPT_TEXT);
    if (stderrLive) show(2, chunk);
    else held.push({ fd: 2, chunk });
    if (jobs.length === 0) findJobs();
    if (storm && !options.last && !stormSeen && storm.pattern.test(stripAnsi(text.stderr))) {
      stormSeen = true;
      after(storm.afterMs, endStorm);
    }
  });

  const closed = [from.stdout, from.stderr].map(
    stream =>
      new Promise<void>(resolve => {
        if (!stream) return resolve();
        stream
          .on('end', resolve)
          .on('close', resolve)
          .on('error', () => resolve());
      }),
  );
  return {
    drained: async (graceMs: number) => {
      let timer: NodeJS.Timeout | undefined;
      const grace = new Promise<void>(resolve => {
        timer = setTimeout(resolve, graceMs);
      });
      await Promise.race([Promise.all(closed).then(() => relayed), grace]);
      for (const each of [timer, ...timers]) clearTimeout(each);
    },
    result: () => ({
      stdout: text.stdout,
      stderr: text.stderr,
      committed,
      jobs,
      storm: stormEnded,
      dispose: () => {
        from.stdout?.destroy();
        from.stderr?.destroy();
      },
      release: () => {
        if (held.length > 0) options.signals.stop();
        for (const { fd, chunk } of held) show(fd, chunk);
        held = [];
        // A process that the upstream left behind goes on writing where the caller reads.
        if (!committed) relayRest(1, from.stdout, from.pipes.stdout);
        relayRest(2, from.stderr, from.pipes.stderr);
        return open;
      },
    }),
  };
}

function relayRest(fd: 1 | 2, from: Readable | undefined, pipe: AnonymousPipe | undefined): void {
  if (from && pipe && !from.readableEnded && !from.destroyed) void relay(fd, from, Buffer.alloc(0), pipe);
}

/**
 * Streams the rest of stdout. Over a real pipe cat(1) takes the descriptor over and Node copies nothing; it ignores the
 * terminal's signals, because the upstream may still have something to say after them.
 */
function relay(fd: 1 | 2, from: Readable, prefix: Buffer, pipe: AnonymousPipe | undefined): Promise<void> {
  if (!pipe) {
    writeAll(fd, prefix);
    const to = fd === 1 ? process.stdout : process.stderr;
    return new Promise(resolve => {
      to.on('error', () => from.destroy());
      from.on('end', resolve).on('close', resolve);
      from.pipe(to, { end: false });
    });
  }
  from.pause();
  const buffered: Buffer = from.read() ?? Buffer.alloc(0);
  const cat = spawn('sh', ['-c', "trap '' INT QUIT HUP TERM; exec cat - /dev/fd/3"], {
    stdio: ['pipe', fd, 2, pipe.base],
  });
  cat.stdin!.on('error', () => {});
  cat.stdin!.end(Buffer.concat([prefix, buffered]));
  // With no reader left here, an upstream whose reader is gone gets SIGPIPE as it would have without a wrapper.
  from.destroy();
  pipe.close();
  return new Promise(resolve => {
    cat.on('exit', () => resolve()).on('error', () => resolve());
  });
}
