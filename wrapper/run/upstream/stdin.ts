// Hands stdin to one attempt after another: passed on as it arrives, and kept for the next one.
import { createReadStream, fstatSync, type Stats } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { readOptional } from '../../../daemon/core/files.ts';
import { KeptBytes } from './pipes.ts';

export interface Stdin {
  /** Stdin of the next attempt: descriptor 0 itself, nothing, or a pipe to be fed. */
  mode(): 'inherit' | 'ignore' | 'pipe';
  /** Feeds an attempt from the first byte on. Returns how to stop. */
  feed(target: Writable): () => void;
  /** No further attempt will need what has been passed on. */
  forget(): void;
  /** Reports whether a next attempt would get all of it. */
  canRepeat(): boolean;
  /** All of it, read to its end, for the queue; `undefined` when it is not ours to read. */
  all(): Promise<Buffer | undefined>;
}

/**
 * A stdin that may have no reader is left alone: in `while read line; do cli "$line"; done` it belongs to the loop.
 * @param mayRepeat whether a second attempt is possible
 * @param isRead whether the catalog says that the command reads stdin
 */
export function openStdin(mayRepeat: boolean, isRead: boolean): Stdin {
  const stat = statOf(0);
  if (!mayRepeat || !stat) return inherited;
  if (stat.isFile()) {
    const start = offset();
    const file = replaying(() => createReadStream('/proc/self/fd/0', { start }));
    // An upstream that has not touched the file leaves it as it was for the next one, and for the caller.
    return { ...file, mode: () => (offset() === start ? 'inherit' : 'pipe') };
  }
  if (!isRead || !(stat.isFIFO() || stat.isSocket())) return inherited;
  return replaying(() => new Socket({ fd: 0, readable: true, writable: false }));
}

/** For commands whose stdin is not theirs to read. */
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
  /** Set once nothing has to be kept anymore: the latest piece alone. */
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
      // The temporary directory is full: this attempt still gets everything.
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
      // The upstream may close its stdin whenever it likes.
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
