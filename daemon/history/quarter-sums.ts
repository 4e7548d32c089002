// Keeps a day's samples summed up by quarters of an hour beside its file, so that an answer need not read them one by one.
// Each section covers a stretch of the file whose lines are of one quarter. It holds the changes as they are, one sample,
// and at its end the line that makes it count:
//
//   {"at":1763775119000,"kind":"state",…}
//   1763775000 900 180 11000 10000 12000 200 222120 102060
//   @ 1763775000 0 9720        start of the quarter; the bytes of the day's file that are covered
import { addTo, copyAt, formatSample, parseSample, type Sample } from './records.ts';
import { bucketOf, QUARTER } from './summarize.ts';

const [NEWLINE, BRACE, AT, HASH, SPACE, ZERO, NINE] = [0x0a, 0x7b, 0x40, 0x23, 0x20, 0x30, 0x39];
/** Longer runs of digits are not ours. */
const MAX_DIGITS = 15;

/** The line that ends a section. */
export interface Section {
  /** Start of the quarter, in seconds since the epoch. */
  at: number;
  from: number;
  to: number;
}

/**
 * Sums up lines of a day's file.
 * @param bytes of the file, from the byte `from` on, which begins a line
 * @returns a section for each stretch that another quarter follows; none for a file that was summed up as a whole
 */
export function sumQuarters(bytes: Buffer, from: number): string {
  if (from === 0 && bytes[0] === HASH) return '';
  let [text, changes] = ['', ''];
  let sum: Sample | null = null;
  let quarter: number | null = null;
  let begin = 0;
  const line = {} as Sample;
  for (let start = 0, end = bytes.indexOf(NEWLINE); end >= 0; start = end + 1, end = bytes.indexOf(NEWLINE, start)) {
    const change = bytes[start] === BRACE ? bytes.toString('utf8', start, end + 1) : null;
    const sample = change === null ? parseSample(bytes, start, end, line) : null;
    const seconds = sample ? sample.at : change === null ? null : secondsOf(change);
    if (seconds === null) continue;
    const at = bucketOf(seconds, QUARTER.bucket);
    if (quarter !== null && at !== quarter) {
      text += `${changes}${sum ? formatSample(sum) : ''}@ ${quarter} ${from + begin} ${from + start}\n`;
      [changes, sum, begin] = ['', null, start];
    }
    quarter = at;
    if (change !== null) changes += change;
    else if (sum) addTo(sum, sample!);
    else sum = copyAt(at, sample!);
  }
  return text;
}

/** When a change was, in whole seconds; null for a line that is none. */
function secondsOf(change: string): number | null {
  const ms = /^\{"at":(\d{1,15})[,}]/.exec(change)?.[1];
  return ms === undefined ? null : Math.floor(Number(ms) / 1000);
}

/**
 * Walks through the sections, as long as each goes on where the one before ended.
 * @param size of the day's file; what covers more of it does not count
 * @param onSection gets the bytes from `start` to `end`: the lines of the section, without the one that ends it
 * @returns how much of the day's file is covered, and where the last section ends
 */
export function walkSections(
  bytes: Buffer,
  size: number,
  onSection: (section: Section, start: number, end: number) => void = () => {},
): { covered: number; end: number } {
  let [covered, sectionStart] = [0, 0];
  for (let start = 0, end = bytes.indexOf(NEWLINE); end >= 0; start = end + 1, end = bytes.indexOf(NEWLINE, start)) {
    if (bytes[start] !== AT) continue;
    const section = readSection(bytes, start, end);
    if (!section || section.from !== covered || section.to <= covered || section.to > size) break;
    onSection(section, sectionStart, start);
    covered = section.to;
    sectionStart = end + 1;
  }
  return { covered, end: sectionStart };
}

/** `@ 1763775000 0 9720`, without a text of it: there are a hundred a day. */
function readSection(bytes: Buffer, start: number, end: number): Section | null {
  const figures = [0, 0, 0];
  let i = start + 1;
  for (let n = 0; n < 3; n++) {
    if (bytes[i++] !== SPACE) return null;
    const first = i;
    for (; i < end && bytes[i]! >= ZERO && bytes[i]! <= NINE; i++) figures[n] = figures[n]! * 10 + bytes[i]! - ZERO;
    if (i === first || i - first > MAX_DIGITS) return null;
  }
  return i === end ? { at: figures[0]!, from: figures[1]!, to: figures[2]! } : null;
}

/** Calls back with each line from a byte to another one, which ends a line. */
export function eachLine(
  bytes: Buffer,
  [first, last]: readonly [first: number, last: number],
  onLine: (bytes: Buffer, start: number, end: number) => void,
): void {
  for (let start = first, end = 0; start < last; start = end + 1) {
    end = bytes.indexOf(NEWLINE, start);
    onLine(bytes, start, end);
  }
}
