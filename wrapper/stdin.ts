// Hands stdin to one attempt after another: passed on as it arrives, kept in memory and then in an unlinked file.
import {
  createReadStream,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { readText } from './store.ts';

export interface Stdin {
  /** What the next attempt gets: descriptor 0 itself, nothing, or a pipe to be fed. */
  mode(): 'inherit' | 'ignore' | 'pipe';
  /** Feeds an attempt from the first byte on. Returns how to stop. */
  feed(target: Writable): () => void;
  /** No further attempt will need what has been passed on. */
  forget(): void;
}

const IN_MEMORY = 1024 * 1024;

/**
 * @param mayReplay whether a second attempt is possible at all
 */
export function openStdin(mayReplay: boolean): Stdin {
  const stat = statOf(0);
  if (!mayReplay || !stat || !(stat.isFIFO() || stat.isSocket() || stat.isFile())) return inherited;
  if (!stat.isFile()) return replaying(() => new Socket({ fd: 0, readable: true, writable: false }));
  const start = offset();
  const file = replaying(() => createReadStream('/proc/self/fd/0', { start }));
  // An upstream that has not touched the file leaves it as it was for the next one, and for the caller.
  return { ...file, mode: () => (offset() === start ? 'inherit' : 'pipe') };
}

/** For commands whose stdin is not theirs to read. */
export const noStdin: Stdin = { mode: () => 'ignore', feed: () => () => {}, forget: () => {} };

const inherited: Stdin = { ...noStdin, mode: () => 'inherit' };

function statOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    return undefined;
  }
}

function offset(): number {
  return Number(/^pos:\s*(\d+)/.exec(readText('/proc/self/fdinfo/0') ?? '')?.[1] ?? 0);
}

function replaying(open: () => Readable): Stdin {
  const kept = keptBytes();
  let source: Readable | undefined;
  let ended = false;
  let wake = () => {};

  const readMore = () => {
    if (!source) {
      source = open();
      source.on('data', (chunk: Buffer) => {
        source!.pause();
        kept.append(chunk);
        wake();
      });
      const end = () => {
        ended = true;
        wake();
      };
      source.on('end', end).on('error', end);
    } else source.resume();
  };

  return {
    mode: () => 'pipe',
    forget: kept.forget,
    feed: target => {
      let at = 0;
      let waiting = false;
      const step = (): void => {
        if (waiting || target.destroyed) return;
        const chunk = kept.read(at);
        if (chunk) {
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

/** A growing byte string that is read from any offset, until `forget`: from then on only what is appended last. */
function keptBytes() {
  let chunks: Buffer[] = [];
  let inMemory = 0;
  let total = 0;
  let spill: number | undefined;
  let keep = true;
  let latest: { at: number; chunk: Buffer } | undefined;
  return {
    append: (chunk: Buffer) => {
      latest = { at: total, chunk };
      if (keep && spill === undefined && inMemory + chunk.length <= IN_MEMORY) {
        chunks.push(chunk);
        inMemory += chunk.length;
      } else if (keep) {
        if (spill === undefined) {
          spill = unlinkedFile();
          writeSync(spill, Buffer.concat(chunks), 0, undefined, 0);
          chunks = [];
        }
        writeSync(spill, chunk, 0, chunk.length, total);
      }
      total += chunk.length;
    },
    read: (at: number): Buffer | undefined => {
      if (at >= total) return undefined;
      if (latest && at >= latest.at) return latest.chunk.subarray(at - latest.at);
      if (spill !== undefined) {
        const buffer = Buffer.alloc(Math.min(65_536, total - at));
        return buffer.subarray(0, readSync(spill, buffer, 0, buffer.length, at));
      }
      const all = Buffer.concat(chunks);
      chunks = [all];
      return all.subarray(at);
    },
    forget: () => {
      keep = false;
    },
  };
}

function unlinkedFile(): number {
  const dir = mkdtempSync(join(process.getBuiltinModule('node:os').tmpdir(), 'culvert-wrap-'));
  const file = join(dir, 'stdin');
  const fd = openSync(file, 'wx+', 0o600);
  unlinkSync(file);
  rmdirSync(dir);
  return fd;
}
