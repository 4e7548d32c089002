// Reads and writes files of lines: a write that a kill cut off leaves half a line, which the next one replaces.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { FileError } from '../system/errno.ts';

const { O_RDONLY, O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
const NEWLINE = 0x0a;
/** Files are read in pieces of this size; no line is longer. */
export const PIECE = 65_536;

/** Buffer for lines, one file at a time: memory outside V8's heap is freed late. */
let readInto: Buffer | undefined;

/** Gets a line as the bytes from `start` to `end`, without its line end. The bytes are valid during the call only. */
export type OnLine = (bytes: Buffer, start: number, end: number) => void;

/** Appends, in the place of half a line that a killed write left behind. */
export function appendLines(path: string, text: string): void {
  const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const bytes = Buffer.from(text);
    const end = endOfLines(fd);
    ftruncateSync(fd, end);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, end + done);
  } finally {
    closeSync(fd);
  }
}

/** End of the last whole line. A file without a line end in its last piece is not ours, and is overwritten. */
function endOfLines(fd: number): number {
  const { size } = fstatSync(fd);
  const piece = Buffer.allocUnsafe(Math.min(size, PIECE));
  const start = size - piece.length;
  const length = readSync(fd, piece, 0, piece.length, start);
  const last = piece.subarray(0, length).lastIndexOf(NEWLINE);
  return last < 0 ? 0 : start + last + 1;
}

/** Reads whole lines from a byte on; empty if the file can't be read. */
export function readLines(path: string, onLine: OnLine, from = 0): void {
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

/** Does work on a file. @throws FileError with the path */
export function writing(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw error instanceof FileError ? error : new FileError(path, error);
  }
}

/** 0 where there is no such file. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
