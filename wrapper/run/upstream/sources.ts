// Reads what an upstream prints: from a stream of Node, or from a pipe of the shim.
import { closeSync, readSync } from 'node:fs';
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';
import { errno } from '../../errors.ts';
import { PIECE } from './kept-bytes.ts';
import type { AnonymousPipe } from './pipes.ts';

/** One output of the upstream. */
export interface Source {
  /** Has each piece passed on to a listener, where it is valid until the next one. */
  listen(listener: (chunk: Buffer) => void): void;
  /** Resolves at the end of file, and when the source was closed. */
  ended: Promise<void>;
  /** Whether more may come. */
  isOpen(): boolean;
  /** Reads at once what is left of an upstream that has ended. */
  catchUp(): void;
  close(): void;
  /** The pipe of the shim, if it is one. */
  pipe?: AnonymousPipe;
}

/** A stream that Node reads: of a terminal, or of a child that was started without a shim. */
export function streamSource(stream: Readable): Source {
  return {
    listen: listener => void stream.on('data', listener),
    ended: new Promise(resolve => {
      const end = () => resolve();
      stream.on('end', end).on('close', end).on('error', end);
    }),
    isOpen: () => !stream.readableEnded && !stream.destroyed,
    catchUp: () => {},
    close: () => void stream.destroy(),
  };
}

/** An upstream that ends sooner is read without a socket, of which Node takes 1 ms to make the first. */
const QUICK_MS = 3;
/** A process that an upstream left behind may write without end. */
const MAX_READS = 64;

/** A pipe of the shim, read into one buffer again and again: V8 collects buffers only when they sum up to 64 MiB. */
export function pipeSource(pipe: AnonymousPipe): Source {
  const fd = pipe.reader();
  const buffer = Buffer.allocUnsafeSlow(PIECE);
  let pass = (_: Buffer) => {};
  let socket: Socket | undefined;
  let open = true;
  let end = () => {};
  const ended = new Promise<void>(resolve => {
    end = () => {
      open = false;
      clearTimeout(timer);
      resolve();
    };
  });
  /**
   * Half open, so that it is not destroyed at end of file: that touches `process.stderr`, which takes 1.5 ms to come into
   * being and makes the caller's stderr non-blocking.
   */
  const watch = () => {
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd,
      ...{ readable: true, writable: true, allowHalfOpen: true },
      onread: {
        buffer,
        callback: length => {
          pass(buffer.subarray(0, length));
          return true;
        },
      },
    };
    socket = new Socket(options);
    socket.on('end', end).on('close', end).on('error', end);
  };
  const timer = setTimeout(watch, QUICK_MS);
  const close = () => {
    if (socket) socket.destroy();
    else if (open) closeSync(fd);
    end();
  };
  return {
    listen: listener => {
      pass = listener;
    },
    ended,
    isOpen: () => open,
    catchUp: () => {
      for (let reads = 0; open && !socket; reads++) {
        const length = reads < MAX_READS ? readNow(fd, buffer) : undefined;
        if (length === undefined) {
          clearTimeout(timer);
          watch();
        } else if (length === 0) close();
        else pass(buffer.subarray(0, length));
      }
    },
    close,
    pipe,
  };
}

/** How many bytes were read; 0 at end of file, `undefined` when there is nothing to read yet. */
function readNow(fd: number, buffer: Buffer): number | undefined {
  try {
    return readSync(fd, buffer);
  } catch (error) {
    if (errno(error) === 'EAGAIN') return undefined;
    throw error;
  }
}
