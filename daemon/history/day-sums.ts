// Keeps a file beside each day of the history: its quarters of an hour as one sample each, so that a long time is read fast.
import { rmSync } from 'node:fs';
import { type OnLine, readLines, readPiece, readSmall, sizeOf, writeAt, writing } from './line-files.ts';
import { eachLine, sumQuarters, walkSections } from './quarter-sums.ts';
import { QUARTER } from './summarize.ts';

/** So much of a day is summed up at once; a day that was written by an earlier version takes several turns. */
const SUMMED_AT_ONCE = 131_072;
/** A day of sums has some 30 kB. */
const MAX_SUMS = 1_000_000;

/** @param fileOf the path of a day's lines */
export function createDaySums(directory: string, fileOf: (day: string) => string) {
  const sumsOf = (day: string) => `${directory}/${day}.sums`;
  const sums = (day: string) => readSmall(sumsOf(day), MAX_SUMS);

  /**
   * Reads the lines of a day. Quarters of an hour that lie within a time, or outside it, are given as one sample each,
   * where they were summed up.
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
      else readLines(fileOf(day), onLine, from, to);
    });
    readLines(fileOf(day), onLine, covered);
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
      const text = sumQuarters(readPiece(fileOf(day), covered, length), covered);
      if (text) writeAt(path, end, text);
    });
    return covered + length < size;
  }

  return { readSums, sumUp, drop: (day: string) => rmSync(sumsOf(day), { force: true }) };
}
