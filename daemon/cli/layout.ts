// Lays text out for a terminal: aligns columns, wraps lines, and converts to ASCII if the locale needs it.
import stringWidth from 'string-width';
import { printable } from '../core/printable.ts';

const GAP = '  ';
/** Minimum width of the last cell of a row; with less room, rows are not aligned. */
const LAST_MIN = 20;

type Paint = (text: string, column: number, row: number) => string;

/**
 * Aligns rows in columns, two spaces apart, without padding the last column. Counts widths as a terminal does: two for each
 * wide character of East Asian scripts and emoji, none for combining marks.
 * @param rows a row of one cell is a heading and does not affect the widths
 * @param paint colors a cell, without affecting the measured widths
 * @param width columns of the terminal: wraps the last cells, or whole rows if there is too little room
 */
export function columns(
  rows: readonly (readonly string[])[],
  paint: Paint = t => t,
  width = Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map(row => row.map(printable));
  const painted = (text: string, column: number, row: number) => (text ? paint(text, column, row) : '');
  const heading = (row: readonly string[], at: number) => wrapped(painted(row[0]!, 0, at), width);
  const widths = cells
    .filter(row => row.length > 1)
    .reduce<number[]>((max, row) => row.map((text, i) => Math.max(stringWidth(text), max[i] ?? 0)), []);
  const last = widths.length - 1;
  const offset = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0);
  const unaligned = (row: readonly string[], at: number) =>
    row.length === 1
      ? heading(row, at)
      : wrapped(
          flowing(row, (text, i) => paint(text, i, at)),
          width,
          4,
        );
  if (offset + Math.min(widths[last] ?? 0, LAST_MIN) > width) return cells.map(unaligned).join('\n');
  return cells
    .flatMap((row, at) => {
      if (row.length === 1) return [heading(row, at)];
      const [first = '', ...more] = wrapped(row[last] ?? '', width - offset, 0).split('\n');
      const padded = row
        .slice(0, last)
        .map((text, i) => painted(text, i, at) + ' '.repeat(widths[i]! - stringWidth(text)));
      const lines = [[...padded, painted(first, last, at)].join(GAP)];
      return [...lines, ...more.map(text => ' '.repeat(offset) + painted(text, last, at))].map(line => line.trimEnd());
    })
    .join('\n');
}

/** Joins the nonempty cells of a row. */
function flowing(row: readonly string[], paint: (text: string, column: number) => string): string {
  return row
    .map((text, i) => [text, paint(text, i)] as const)
    .flatMap(([text, cell]) => (text ? [cell] : []))
    .join(GAP);
}

/** Returns the number of columns of a terminal; infinity for any other output. */
export function widthOf({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

/** A no-break space. Without it, a line break could split a command into halves that run as two commands. */
const UNBROKEN = '\u00a0';

/** Returns a text that stays on one line. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', UNBROKEN);
}

/**
 * Breaks lines wider than `width` at spaces, and indents continuation lines by two more columns.
 * A wider word stays whole, with less indent, so that addresses and paths can be copied; alternatives such as
 * `on|off` break after a bar.
 */
export function wrapped(text: string, width: number, hanging?: number): string {
  const lines = text.split('\n').flatMap(line => (stringWidth(line) <= width ? [line] : broken(line, width, hanging)));
  return lines.join('\n').replaceAll(UNBROKEN, ' ');
}

/** Joins the parts of a line, breaks it between parts if it is wider than `width`, and breaks a wider part at spaces. */
export function folded(parts: readonly string[], separator: string, width: number): string {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = lines.length ? `${lines.at(-1)}${separator}${part}` : part;
    if (lines.length && stringWidth(longer) > width) lines.push(`  ${part}`);
    else lines.splice(-1, 1, longer);
  }
  return lines.map(line => wrapped(line, width, 2)).join('\n');
}

function broken(line: string, width: number, hanging?: number): string[] {
  const [indent = ''] = /^ */.exec(line)!;
  const next = ' '.repeat(Math.min(hanging ?? indent.length + 2, Math.floor(width / 2)));
  const lines: string[] = [];
  let current = indent;
  let isEmpty = true;
  for (const [, gap = '', word = ''] of line.slice(indent.length).matchAll(/( *)([^ ]+)/g)) {
    for (const [part, text] of partsOf(word, width - next.length).entries()) {
      const longer = isEmpty || part > 0 ? current + text : current + gap + text;
      if (isEmpty || stringWidth(longer) <= width) current = longer;
      else {
        lines.push(current);
        current = next.slice(0, Math.max(0, width - stringWidth(text))) + text;
      }
      isEmpty = false;
    }
  }
  return [...lines, current];
}

/** Splits a word after each bar, as in `on|off`, if the word is wider than `width`. */
function partsOf(word: string, width: number): string[] {
  return stringWidth(word) > width ? word.split(/(?<=\|)/) : [word];
}

/** Returns true for a locale that does not name UTF-8 (locale(7)). Without a locale, as in containers, terminals use UTF-8. */
export function isAsciiLocale({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || '';
  return locale !== '' && !/utf-?8/i.test(locale);
}

const LOOKALIKES: readonly [RegExp, string][] = [
  [/[●✓]/g, '*'],
  [/[○]/g, 'o'],
  [/▲/g, '^'],
  [/▼/g, 'v'],
  [/■/g, '#'],
  [/[✗✖×]/g, 'x'],
  [/…/g, '...'],
  [/[\u2010-\u2015·−]/g, '-'],
  [/→/g, '->'],
  [/[‘’]/g, "'"],
  [/[“”„]/g, '"'],
  [/█/g, '#'],
  [/░/g, '.'],
  [/[\u00a0\u2009\u202f]/g, ' '],
  [/[\u2800-\u28ff]/g, '*'],
];

/** Converts text to ASCII: signs become lookalikes, letters lose accents, the rest becomes question marks. */
export function asciiText(text: string): string {
  const similar = LOOKALIKES.reduce((changed, [sign, ascii]) => changed.replace(sign, ascii), text);
  return similar
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\0-\x7f]/gu, '?');
}

/** Converts JSON to ASCII; the value stays the same. */
export function asciiJson(json: string): string {
  return json.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Makes a stream convert the text written to it. Bytes, such as those of a document, pass unchanged. */
export function writeAscii(stream: NodeJS.WriteStream, convert: (text: string) => string): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...more: unknown[]) =>
    write(typeof chunk === 'string' ? convert(chunk) : chunk, ...more);
}
