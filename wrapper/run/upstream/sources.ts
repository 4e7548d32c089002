// Reads what an upstream prints: from a stream of Node, or from a pipe of the shim.
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';
import { PIECE } from './kept-bytes.ts';
import type { AnonymousPipe } from './pipes.ts';

/** One output of the upstream. */
export interface Source {
  /** Has each piece passed on to a listener, where it is valid until the next one. */
  listen(listener: (chunk: Buffer) => void): void;
  /** Resolves at the end of file, and when the source was closed. */
  ended: Promise<void>;
  /** Reports whether more data may come. */
  isOpen(): boolean;
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
    close: () => void stream.destroy(),
  };
}

/** A pipe of the shim, read into one buffer again and again: V8 collects buffers only when they sum up to 64 MiB. */
export function pipeSource(pipe: AnonymousPipe): Source {
  const buffer = Buffer.allocUnsafeSlow(PIECE);
  let pass = (_: Buffer) => {};
  let open = true;
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd: pipe.reader(),
    readable: true,
    writable: true,
    // so that it is not destroyed at end of file: that makes the caller's stderr non-blocking
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
