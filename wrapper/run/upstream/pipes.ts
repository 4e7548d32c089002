// Reads, keeps and forwards an upstream's output through real pipes. Node gives children sockets: opening /dev/stderr fails on
// them, and cat can't reopen them. The shim's empty here-documents are pipes, and /proc/self/fd reopens either end.
import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

/** Descriptors that the shim sets up, by their use; see `shimText`. */
const DESCRIPTORS = { stdout: 7, stderr: 8, stdin: 9 } as const;
/** The CULVERT_WRAP_SHIM value if these pipes exist; otherwise the numbers may be Node's own pipes (as in version 26). */
export const WITH_PIPES = 'pipes';
/** The end of a shell command that sets up these descriptors. */
export const HERE_DOCUMENTS = '7<<E 8<<E 9<<E\nE\nE\nE\n';

export interface AnonymousPipe {
  /** The underlying descriptor: a blocking read end. */
  base: number;
  /** Opens a new non-blocking read end. */
  reader(): number;
  /** Opens a new write end: non-blocking for this process, blocking for a child. */
  writer(blocking: boolean): number;
  /** Opens a new blocking read end for a child. */
  childReader(): number;
  /** Discards data that an earlier attempt left in the pipe. */
  drain(): void;
  /** Closes the underlying descriptor; writers get EPIPE once no other reader is left. */
  close(): void;
}

/** Closed descriptors; their numbers may have been reused. */
const closed = new Set<number>();
/** Descriptors that an earlier attempt has used. */
const used = new Set<number>();

/**
 * Returns the pipe that the shim set up for `use`, or `undefined` if there is none (without a shim, or if the shell implements
 * here-documents as files).
 */
export function shimPipe(use: keyof typeof DESCRIPTORS): AnonymousPipe | undefined {
  if (process.env.CULVERT_WRAP_SHIM !== WITH_PIPES) return undefined;
  const base = DESCRIPTORS[use];
  if (closed.has(base)) return undefined;
  try {
    // Checks the path that will be reopened: /proc may be missing.
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
        // EAGAIN: the pipe is empty, but a process still holds the write end.
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
 * Writes all of `data`, even to a descriptor that another program made non-blocking.
 * @returns false once the pipe has no reader
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

const IN_MEMORY = 1024 * 1024;
/** The longest result of a read. */
export const PIECE = 65_536;

/** A growing byte string, readable from any offset: up to 1 MiB in memory, and completely in an unlinked file if longer. */
export class KeptBytes {
  #chunks: Buffer[] = [];
  #file: number | undefined;
  #total = 0;

  /** Number of bytes appended. */
  get length(): number {
    return this.#total;
  }

  /**
   * @param chunk bytes, which are copied
   * @throws the system's error when the bytes outgrow memory and the temporary directory is full
   */
  append(chunk: Buffer): void {
    if (this.#file === undefined && this.#total + chunk.length <= IN_MEMORY) this.#chunks.push(Buffer.from(chunk));
    else {
      this.#file ??= this.#spill();
      writeAt(this.#file, chunk, this.#total);
    }
    this.#total += chunk.length;
  }

  /**
   * Returns up to 64 KiB from `offset` on; empty at the end.
   * @param into a buffer of `PIECE` bytes for the file's data, if each result is used before the next read: V8 collects buffers
   * only when they sum up to 64 MiB
   */
  read(offset: number, into?: Buffer): Buffer {
    if (offset >= this.#total) return Buffer.alloc(0);
    if (this.#file !== undefined) {
      const length = Math.min(PIECE, this.#total - offset);
      const buffer = into ?? Buffer.alloc(length);
      return buffer.subarray(0, readSync(this.#file, buffer, 0, length, offset));
    }
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all.subarray(offset, offset + PIECE);
  }

  /** Frees the memory and the file. */
  clear(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#chunks = [];
    this.#total = 0;
  }

  #spill(): number {
    const dir = mkdtempSync(join(tmpdir(), 'culvert-wrap-'));
    const file = join(dir, 'kept');
    const fd = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
    rmdirSync(dir);
    writeAt(fd, Buffer.concat(this.#chunks), 0);
    this.#chunks = [];
    return fd;
  }
}

function writeAt(fd: number, data: Buffer, position: number): void {
  for (let at = 0; at < data.length; ) at += writeSync(fd, data, at, data.length - at, position + at);
}

/** One output of the upstream. */
export interface Source {
  /** Passes each piece to the listener; a piece is valid until the next piece. */
  listen(listener: (chunk: Buffer) => void): void;
  /** Resolves at the end of file, or when the source is closed. */
  ended: Promise<void>;
  /** Reports whether more data may come. */
  isOpen(): boolean;
  close(): void;
  /** The shim's pipe, if the source is a pipe of the shim. */
  pipe?: AnonymousPipe;
}

/** Makes a source from a stream that Node reads: a terminal's, or that of a child started without a shim. */
export function streamSource(stream: Readable): Source {
  return {
    listen: listener => void stream.on('data', listener),
    ended: new Promise(resolve => {
      const end = () => resolve();
      stream.on('end', end).on('close', end).on('error', end);
    }),
    isOpen: () => !stream.readableEnded && !stream.destroyed,
    close: () => void stream.destroy(),
  };
}

/** Makes a source from a shim's pipe. It reuses one buffer: V8 collects buffers only when they sum up to 64 MiB. */
export function pipeSource(pipe: AnonymousPipe): Source {
  const buffer = Buffer.allocUnsafeSlow(PIECE);
  let pass = (_: Buffer) => {};
  let open = true;
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd: pipe.reader(),
    readable: true,
    writable: true,
    // keeps Node from destroying the socket at end of file, which makes the caller's stderr non-blocking
    allowHalfOpen: true,
    onread: {
      buffer,
      callback: length => {
        pass(buffer.subarray(0, length));
        return true;
      },
    },
  };
  const socket = new Socket(options);
  const ended = new Promise<void>(resolve => {
    const end = () => {
      open = false;
      resolve();
    };
    socket.on('end', end).on('close', end).on('error', end);
  });
  return {
    listen: listener => {
      pass = listener;
    },
    ended,
    isOpen: () => open,
    close: () => {
      open = false;
      socket.destroy();
    },
    pipe,
  };
}

/** Enlarges the pipe from 64 KiB to 1 MiB (fcntl(2) F_SETPIPE_SZ), for fewer reads. Without Perl, its size stays the same. */
const WIDEN = "perl -e 'open F, q(<&=3) and fcntl F, 1031, 1 << 20' 2>/dev/null </dev/null";

/**
 * Streams the rest of `from` to descriptor `fd`, after `prefix`. For a real pipe, cat(1) takes over the descriptor and Node
 * copies nothing; cat ignores the terminal's signals, because the upstream may still write output.
 */
export function relay(fd: 1 | 2, from: Source, prefix: Buffer): Promise<void> {
  const { pipe } = from;
  if (!pipe) {
    if (!writeAll(fd, prefix)) from.close();
    from.listen(chunk => {
      if (!writeAll(fd, chunk)) from.close();
    });
    return from.ended;
  }
  const cat = spawn('sh', ['-c', `trap '' INT QUIT HUP TERM; ${WIDEN}; exec cat - /dev/fd/3`], {
    stdio: ['pipe', fd, 2, pipe.base],
  });
  cat.stdin!.on('error', () => {});
  cat.stdin!.end(prefix);
  // With no reader in this process, an upstream gets SIGPIPE when its reader ends, as without a wrapper.
  from.close();
  pipe.close();
  return new Promise(resolve => {
    cat.on('exit', () => resolve()).on('error', () => resolve());
  });
}

/** Lets a process that the upstream left behind keep writing to the caller. */
export function relayRest(fd: 1 | 2, from: Source | undefined): void {
  if (from?.pipe && from.isOpen()) void relay(fd, from, Buffer.alloc(0));
}
