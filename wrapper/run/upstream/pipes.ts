// Real pipes for the upstream's stdio. Node gives children sockets, on which opening /dev/stderr fails and which cat can't
// reopen; the shim's empty here-documents are pipes, and /proc/self/fd opens either end of them again.
import { closeSync, constants, openSync, readSync, statSync, writeSync } from 'node:fs';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

/** Descriptors that the shim sets up, by what they are used for; see `shimText`. */
const DESCRIPTORS = { stdout: 7, stderr: 8, stdin: 9 } as const;
/** Value of CULVERT_WRAP_SHIM that says they are there: without it these numbers may be pipes of Node's own (26 has such). */
export const WITH_PIPES = 'pipes';
/** The end of a shell's command that sets them up. */
export const HERE_DOCUMENTS = '7<<E 8<<E 9<<E\nE\nE\nE\n';

export interface AnonymousPipe {
  /** The descriptor this is built on: a read end that blocks. */
  base: number;
  /** A new non-blocking read end. */
  reader(): number;
  /** A new write end; non-blocking for this process, blocking to be handed to a child. */
  writer(blocking: boolean): number;
  /** A new blocking read end, to be handed to a child. */
  childReader(): number;
  /** Throws away what an earlier attempt left in it. */
  drain(): void;
  /** Gives it up: writers get EPIPE once no other reader is left. */
  close(): void;
}

/** Descriptors given up; their numbers may mean something else by now. */
const closed = new Set<number>();
/** Descriptors that an earlier attempt has had. */
const used = new Set<number>();

/**
 * The pipe that the shim set up for `use`, or `undefined` without one (called without a shim, or by a shell whose
 * here-documents are files).
 */
export function shimPipe(use: keyof typeof DESCRIPTORS): AnonymousPipe | undefined {
  if (process.env.CULVERT_WRAP_SHIM !== WITH_PIPES) return undefined;
  const base = DESCRIPTORS[use];
  if (closed.has(base)) return undefined;
  try {
    // By the name under which it will be opened again: /proc may be missing.
    if (!statSync(`/proc/self/fd/${base}`).isFIFO()) return undefined;
  } catch {
    return undefined;
  }
  const open = (flags: number) => openSync(`/proc/self/fd/${base}`, flags);
  const pipe: AnonymousPipe = {
    base,
    reader: () => open(O_RDONLY | O_NONBLOCK),
    writer: blocking => open(blocking ? O_WRONLY : O_WRONLY | O_NONBLOCK),
    childReader: () => open(O_RDONLY),
    drain: () => {
      if (!used.has(base)) {
        used.add(base);
        return;
      }
      const fd = pipe.reader();
      const buffer = Buffer.alloc(65_536);
      try {
        while (readSync(fd, buffer) > 0);
      } catch {
        // EAGAIN: empty, but a process still holds the write end.
      } finally {
        closeSync(fd);
      }
    },
    close: () => {
      closed.add(base);
      closeSync(base);
    },
  };
  return pipe;
}

/**
 * Writes all of `data`, also to a descriptor that another program made non-blocking.
 * @returns false after the last reader has gone
 */
export function writeAll(fd: number, data: Buffer): boolean {
  for (let at = 0; at < data.length; ) {
    try {
      at += writeSync(fd, data, at);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EPIPE') return false;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
  return true;
}
