// Keeps the history in one file per day (UTC): appends, reads, summarizes and deletes records.
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  futimesSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { errno, FileError } from '../core/errors.ts';
import { makeDirectory, namesIn, replaceFile } from '../core/files.ts';
import type { Left } from './observe.ts';
import { type Counters, parseCounters } from './records.ts';
import { FULL, MAX_BYTES, MINUTE, summarize, tierIn, tierOf } from './summarize.ts';

const NAME = /^(\d{4}-\d{2}-\d{2})\.log$/;
const EQUALS = 0x3d;
/** Lines of counters. A summary omits them, but the next start of today's recording needs the last line. */
const COUNTERS = /^= .*\n/gm;

export type DayFiles = ReturnType<typeof createDayFiles>;

/** @param directory path of the files; its parent must exist */
export function createDayFiles(directory: string) {
  const fileOf = (day: string) => `${directory}/${day}.log`;
  const cleared = `${directory}.cleared`;
  // a kill may have interrupted `clear`
  rmSync(cleared, { recursive: true, force: true });

  /** Returns the days that have a file, such as `2026-11-21`, oldest first. */
  function days(): string[] {
    const days = namesIn(directory).flatMap(name => NAME.exec(name)?.[1] ?? []);
    return days.filter(day => !Number.isNaN(Date.parse(day))).sort();
  }

  /** Adds whole lines to a day. @throws FileError */
  function append(day: string, text: string): void {
    const path = fileOf(day);
    writing(path, () => {
      makeDirectory(directory);
      appendLines(path, text);
      if (sizeOf(path) <= FULL.bytes) return;
      const lines = readFileSync(path, 'utf8');
      replaceFile(path, summarize(lines, MINUTE) + (lines.match(COUNTERS)?.at(-1) ?? ''));
    });
  }

  /** Reads the whole lines of a day; none if the file can't be read. */
  const read = (day: string, onLine: OnLine) => readLines(fileOf(day), onLine);

  /** Returns the last records of an earlier run in the newest files up to a day. A kill may have left the newest file empty. */
  function left(today: string): Left {
    const written = days().filter(day => day <= today && sizeOf(fileOf(day)) > 0);
    const newest = written.at(-1);
    const lastAt = newest === undefined ? null : Math.round(statSync(fileOf(newest)).mtimeMs);
    let counters: Counters | null = null;
    const onLine: OnLine = (bytes, start, end) => {
      if (bytes[start] === EQUALS) counters = parseCounters(bytes.toString('latin1', start, end)) ?? counters;
    };
    for (const day of written.slice(-2)) readLines(fileOf(day), onLine, Math.max(0, sizeOf(fileOf(day)) - PIECE));
    return { counters, lastAt };
  }

  /** Records that the last written state still applies. @param now ms since the epoch */
  function touch(now: number): void {
    const newest = days().at(-1);
    if (newest !== undefined) utimesSync(fileOf(newest), now / 1000, now / 1000);
  }

  /** Summarizes and deletes old records, and limits the total size. @throws FileError */
  function maintain(today: string): void {
    // earlier versions stored daily sums in separate files
    for (const name of namesIn(directory)) if (name.endsWith('.sums')) rmSync(`${directory}/${name}`, { force: true });
    for (const day of days()) {
      const [path, tier] = [fileOf(day), tierOf(day, today)];
      writing(path, () => {
        if (tier === FULL) return;
        if (!tier) return rmSync(path, { force: true });
        const text = readFileSync(path, 'utf8');
        if (tierIn(text).bucket < tier.bucket || text.length > tier.bytes) replaceFile(path, summarize(text, tier));
      });
    }
    const sizes = days().map(day => ({ day, bytes: sizeOf(fileOf(day)) }));
    let total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { day, bytes } of sizes) {
      if (total <= MAX_BYTES || day === today) break;
      rmSync(fileOf(day), { force: true });
      total -= bytes;
    }
  }

  return {
    days,
    append,
    read,
    left,
    touch,
    maintain,
    /** Returns true if a day already has lines. */
    has: (day: string) => sizeOf(fileOf(day)) > 0,
    /** Deletes all files, atomically for readers. @throws FileError */
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

const { O_RDONLY, O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
const NEWLINE = 0x0a;
/** Files are read in pieces of this size; no line is longer. */
const PIECE = 65_536;

/** Reused buffer for the lines of one file: memory outside V8's heap is freed late. */
let readInto: Buffer | undefined;

/** Receives a line as the bytes from `start` to `end`, without its line break. The bytes are valid only during the call. */
export type OnLine = (bytes: Buffer, start: number, end: number) => void;

/** Appends lines, and overwrites the incomplete line of a killed write. */
function appendLines(path: string, text: string): void {
  const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const bytes = Buffer.from(text);
    const { atime, mtime } = fstatSync(fd);
    const end = endOfLines(fd);
    ftruncateSync(fd, end);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, end + done);
    } catch (error) {
      ftruncateSync(fd, end); // all lines or none
      futimesSync(fd, atime, mtime); // `left` takes it for the time of the last record
      throw error;
    }
  } finally {
    closeSync(fd);
  }
}

/** Returns the end of the last whole line. Overwrites a file without a line break in its last piece: it is not ours. */
function endOfLines(fd: number): number {
  const { size } = fstatSync(fd);
  const piece = Buffer.allocUnsafe(Math.min(size, PIECE));
  const start = size - piece.length;
  const length = readSync(fd, piece, 0, piece.length, start);
  const last = piece.subarray(0, length).lastIndexOf(NEWLINE);
  return last < 0 ? 0 : start + last + 1;
}

/** Reads whole lines from an offset; none if the file can't be read. */
function readLines(path: string, onLine: OnLine, from = 0): void {
  const fd = openToRead(path);
  if (fd === null) return;
  try {
    readFrom(fd, onLine, from);
  } finally {
    closeSync(fd);
  }
}

function openToRead(path: string): number | null {
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW);
  } catch {
    return null;
  }
}

function readFrom(fd: number, onLine: OnLine, from: number): void {
  readInto ??= Buffer.allocUnsafe(PIECE);
  const piece = readInto;
  let [held, at] = [0, from];
  for (;;) {
    const length = readSync(fd, piece, held, PIECE - held, at);
    if (length === 0) return;
    at += length;
    const end = held + length;
    let start = 0;
    for (let newline = piece.indexOf(NEWLINE); newline >= 0 && newline < end; newline = piece.indexOf(NEWLINE, start)) {
      onLine(piece, start, newline);
      start = newline + 1;
    }
    // a line that fills a piece is not ours
    held = end - start < PIECE ? end - start : 0;
    piece.copyWithin(0, end - held, end);
  }
}

/** Runs work on a file. @throws FileError with the path */
function writing(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw error instanceof FileError ? error : new FileError(path, error);
  }
}

/** Returns the size of a file; 0 if it does not exist. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
