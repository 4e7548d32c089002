// Passes the rest of a stream on to the caller, by a process of its own where possible.
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type AnonymousPipe, writeAll } from './pipes.ts';

/** A stream of the upstream, and the shim's pipe behind it, if it is one. */
export interface Source {
  stream: Readable;
  /** Has each piece passed on to a listener, where it is valid until the next one. */
  listen(listener: (chunk: Buffer) => void): void;
  pipe?: AnonymousPipe | undefined;
}

/**
 * Streams the rest of `from` to descriptor `fd`, after `prefix`. Over a real pipe cat(1) takes the descriptor over and
 * Node copies nothing; it ignores the terminal's signals, because the upstream may still have something to say.
 */
export function relay(fd: 1 | 2, { stream: from, pipe }: Source, prefix: Buffer): Promise<void> {
  if (!pipe) {
    if (!writeAll(fd, prefix)) from.destroy();
    return new Promise(resolve => {
      from.on('data', (chunk: Buffer) => {
        if (!writeAll(fd, chunk)) from.destroy();
      });
      from.on('end', resolve).on('close', resolve);
    });
  }
  from.pause();
  const cat = spawn('sh', ['-c', "trap '' INT QUIT HUP TERM; exec cat - /dev/fd/3"], {
    stdio: ['pipe', fd, 2, pipe.base],
  });
  cat.stdin!.on('error', () => {});
  cat.stdin!.end(prefix);
  // With no reader left here, an upstream whose reader is gone gets SIGPIPE as it would have without a wrapper.
  from.destroy();
  pipe.close();
  return new Promise(resolve => {
    cat.on('exit', () => resolve()).on('error', () => resolve());
  });
}

/** Lets a process that the upstream left behind go on writing where the caller reads. */
export function relayRest(fd: 1 | 2, from: Source | undefined): void {
  if (from?.pipe && !from.stream.readableEnded && !from.stream.destroyed) void relay(fd, from, Buffer.alloc(0));
}
