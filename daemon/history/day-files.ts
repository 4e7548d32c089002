// The files of the history, one for each day in UTC: appending, reading line by line, summing up and deleting.
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { errno, FileError } from '../system/errno.ts';
import { replaceFile } from '../system/files.ts';
import type { Left } from './observe.ts';
import { eachLine, sumQuarters, walkSections } from './quarter-sums.ts';
import { type Counters, parseCounters } from './records.ts';
import { FULL, MAX_BYTES, MINUTE, QUARTER, summarize, tierIn, tierOf } from './summarize.ts';

const { O_RDONLY, O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
const NAME = /^(\d{4}-\d{2}-\d{2})\.log$/;
const NEWLINE = 0x0a;
const EQUALS = 0x3d;
/** Files are read in pieces of this size; no line is longer. */
const PIECE = 65_536;
/** So much of a day is summed up at once; a day that was written by an earlier version takes several turns. */
const SUMMED_AT_ONCE = 131_072;
/** A day of sums has some 30 kB. */
const MAX_SUMS = 1_000_000;

const NOTHING = Buffer.alloc(0);
/** What lines are read into, one file at a time: memory outside V8's heap is freed late. */
let readInto: Buffer | undefined;

/** Gets a line as the bytes from `start` to `end`, without its line end. The bytes are valid during the call only. */
export type OnLine = (bytes: Buffer, start: number, end: number) => void;

/** @param directory its parent must exist */
export type DayFiles = ReturnType<typeof createDayFiles>;

export function createDayFiles(directory: string) {
  const fileOf = (day: string) => `${directory}/${day}.log`;
  const sumsOf = (day: string) => `${directory}/${day}.sums`;
  const dropSums = (day: string) => rmSync(sumsOf(day), { force: true });
  const cleared = `${directory}.cleared`;
  // a kill may have interrupted `clear`
  rmSync(cleared, { recursive: true, force: true });

  /** Days that have a file, such as `2026-11-21`, oldest first. */
  function days(): string[] {
    const found = namesIn(directory).flatMap(name => NAME.exec(name)?.[1] ?? []);
    return found.filter(day => !Number.isNaN(Date.parse(day))).sort();
  }

  /** Adds whole lines to a day. @throws FileError */
  function append(day: string, text: string): void {
    const path = fileOf(day);
    writing(path, () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      appendLines(path, text, () => dropSums(day));
      if (sizeOf(path) <= FULL.bytes) return;
      dropSums(day);
      replaceFile(path, summarize(readFileSync(path, 'utf8'), MINUTE));
    });
  }

  /** The whole lines of a day; none where it can't be read. */
  function read(day: string, onLine: OnLine, from = 0, until = Number.POSITIVE_INFINITY): void {
    let fd: number;
    try {
      fd = openSync(fileOf(day), O_RDONLY | O_NOFOLLOW);
    } catch {
      return;
    }
    try {
      readLines(fd, onLine, from, until);
    } finally {
      closeSync(fd);
    }
  }

  /** The sums of a day, as bytes. */
  function sums(day: string): Buffer {
    const path = sumsOf(day);
    const size = sizeOf(path);
    if (size === 0 || size > MAX_SUMS) return NOTHING;
    let fd: number;
    try {
      fd = openSync(path, O_RDONLY | O_NOFOLLOW);
    } catch {
      return NOTHING;
    }
    try {
      return readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  /**
   * As `read`, but quarters of an hour that lie within a time, or outside it, are given as one sample each, where they
   * were summed up.
   * @param range in seconds since the epoch
   */
  function readSums(day: string, range: { from: number; until: number }, onLine: OnLine): void {
    const bytes = sums(day);
    const { from: first, until: last } = range;
    const { covered } = walkSections(bytes, sizeOf(fileOf(day)), ({ at, from, to }, start, end) => {
      // whole within it, or whole outside it
      const cutAtStart = at < first && at + QUARTER.bucket > first;
      const cutAtEnd = at < last && at + QUARTER.bucket > last;
      if (!cutAtStart && !cutAtEnd) eachLine(bytes, [start, end], onLine);
      else read(day, onLine, from, to);
    });
    read(day, onLine, covered);
  }

  /**
   * Sums up the quarters of a day that are over and not summed up yet.
   * @returns whether more is left to be summed up at once
   * @throws FileError
   */
  function sumUp(day: string): boolean {
    const [path, size] = [sumsOf(day), sizeOf(fileOf(day))];
    const { covered, end } = walkSections(sums(day), size);
    const length = Math.min(SUMMED_AT_ONCE, size - covered);
    if (length <= 0) return false;
    writing(path, () => {
      const fd = openSync(fileOf(day), O_RDONLY | O_NOFOLLOW);
      const piece = Buffer.allocUnsafe(length);
      try {
        readSync(fd, piece, 0, length, covered);
      } finally {
        closeSync(fd);
      }
      const text = sumQuarters(piece, covered);
      if (text) writeAt(path, end, text);
    });
    return covered + length < size;
  }

  /** What an earlier run left in the newest files up to a day. A kill may have left the newest one empty. */
  function left(today: string): Left {
    const written = days().filter(day => day <= today && sizeOf(fileOf(day)) > 0);
    const newest = written.at(-1);
    const lastAt = newest === undefined ? null : Math.round(statSync(fileOf(newest)).mtimeMs);
    let counters: Counters | null = null;
    for (const day of written.slice(-2))
      read(
        day,
        (bytes, start, end) => {
          if (bytes[start] === EQUALS) counters = parseCounters(bytes.toString('latin1', start, end)) ?? counters;
        },
        Math.max(0, sizeOf(fileOf(day)) - PIECE),
      );
    return { counters, lastAt };
  }

  /** Notes that what was written last still holds. @param now ms since the epoch */
  function touch(now: number): void {
    const newest = days().at(-1);
    if (newest !== undefined) utimesSync(fileOf(newest), now / 1000, now / 1000);
  }

  /** Sums up and deletes what is older than it is kept for, and keeps the whole within its size. @throws FileError */
  function maintain(today: string): void {
    for (const day of days()) {
      const [path, tier] = [fileOf(day), tierOf(day, today)];
      writing(path, () => {
        if (tier === FULL) return;
        dropSums(day);
        if (!tier) return rmSync(path, { force: true });
        const text = readFileSync(path, 'utf8');
        if (tierIn(text).bucket < tier.bucket || text.length > tier.bytes) replaceFile(path, summarize(text, tier));
      });
    }
    const sizes = days().map(day => ({ day, bytes: sizeOf(fileOf(day)) }));
    let total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { day, bytes } of sizes) {
      if (total <= MAX_BYTES || day === today) break;
      dropSums(day);
      rmSync(fileOf(day), { force: true });
      total -= bytes;
    }
  }

  return {
    ...{ days, append, read, readSums, sumUp, left, touch, maintain },
    /** Whether a day has lines already. */
    has: (day: string) => sizeOf(fileOf(day)) > 0,
    /** Deletes everything, all at once for whoever reads. @throws FileError */
    clear(): void {
      writing(directory, () => {
        rmSync(cleared, { recursive: true, force: true });
        try {
          renameSync(directory, cleared);
        } catch (error) {
          if (errno(error) !== 'ENOENT') throw error;
        }
        rmSync(cleared, { recursive: true, force: true });
      });
    },
  };
}

/** Appends, after what a killed write left behind was cut off: half a line. */
/** @param onFirst called before the first lines of a file */
function appendLines(path: string, text: string, onFirst: () => void): void {
  const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const bytes = Buffer.from(text);
    const end = endOfLines(fd);
    if (end === 0) onFirst();
    ftruncateSync(fd, end);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, end + done);
  } finally {
    closeSync(fd);
  }
}

/** Writes at a byte of a file, in the place of all that follows. */
function writeAt(path: string, at: number, text: string): void {
  const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const bytes = Buffer.from(text);
    ftruncateSync(fd, at);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
  } finally {
    closeSync(fd);
  }
}

/** Where the last whole line ends. A file without a line end in its last piece is none of ours, and is overwritten. */
function endOfLines(fd: number): number {
  const { size } = fstatSync(fd);
  const piece = Buffer.allocUnsafe(Math.min(size, PIECE));
  const start = size - piece.length;
  const length = readSync(fd, piece, 0, piece.length, start);
  const last = piece.subarray(0, length).lastIndexOf(NEWLINE);
  return last < 0 ? 0 : start + last + 1;
}

/** @param until an end of a line, or infinity */
function readLines(fd: number, onLine: OnLine, from: number, until: number): void {
  readInto ??= Buffer.allocUnsafe(PIECE);
  const piece = readInto;
  let [held, at] = [0, from];
  for (;;) {
    const length = readSync(fd, piece, held, Math.min(PIECE - held, until - at), at);
    if (length === 0) return;
    at += length;
    const end = held + length;
    let start = 0;
    for (let newline = piece.indexOf(NEWLINE); newline >= 0 && newline < end; newline = piece.indexOf(NEWLINE, start)) {
      onLine(piece, start, newline);
      start = newline + 1;
    }
    // a line that fills a piece is none of ours
    held = end - start < PIECE ? end - start : 0;
    piece.copyWithin(0, end - held, end);
  }
}

function writing(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw error instanceof FileError ? error : new FileError(path, error);
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
