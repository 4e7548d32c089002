// Passes the rest of a stream on to the caller, in a separate process where possible.
import { spawn } from 'node:child_process';
import { writeAll } from './pipes.ts';
import type { Source } from './sources.ts';

/** Has the pipe hold 1 MiB instead of 64 KiB (fcntl(2) F_SETPIPE_SZ), which takes fewer turns. Without Perl it stays as it is. */
const WIDEN = "perl -e 'open F, q(<&=3) and fcntl F, 1031, 1 << 20' 2>/dev/null </dev/null";

/**
 * Streams the rest of `from` to descriptor `fd`, after `prefix`. Over a real pipe cat(1) takes the descriptor over and
 * Node copies nothing; it ignores the terminal's signals, because the upstream may still have something to say.
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
  // With no reader left here, an upstream whose reader is gone gets SIGPIPE as it would have without a wrapper.
  from.close();
  pipe.close();
  return new Promise(resolve => {
    cat.on('exit', () => resolve()).on('error', () => resolve());
  });
}

/** Lets a process that the upstream left behind go on writing where the caller reads. */
export function relayRest(fd: 1 | 2, from: Source | undefined): void {
  if (from?.pipe && from.isOpen()) void relay(fd, from, Buffer.alloc(0));
}
