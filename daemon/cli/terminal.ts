// What people see: colour, aligned columns, and text from outside made safe for a terminal.

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** Select Graphic Rendition codes of ECMA-48, each with the one that ends it. */
const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

/** A style that colours, or one that leaves text as it is. */
export function createStyle(colour: boolean): Style {
  const paint = ([on, off]: readonly [number, number]) =>
    colour ? (text: string) => `\x1b[${on}m${text}\x1b[${off}m` : (text: string) => text;
  return Object.fromEntries(Object.entries(CODES).map(([name, codes]) => [name, paint(codes)])) as unknown as Style;
}

export const plain = createStyle(false);

/** Whether to colour a stream: terminals only, and not against the user's wish (https://no-color.org). */
export function wantsColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

/** Text from outside (names, reasons, output) on one line, unable to steer the terminal. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
}

/**
 * Rows as aligned columns, two spaces apart, the last one ragged.
 * @param paint colours a cell after it was measured.
 */
export function columns(
  rows: readonly (readonly string[])[],
  paint: (text: string, column: number) => string = t => t,
) {
  const clean = rows.map(row => row.map(printable));
  const widths = clean.reduce<number[]>((max, row) => row.map((cell, i) => Math.max(cell.length, max[i] ?? 0)), []);
  return clean
    .map(row =>
      row
        .map((cell, i) => paint(cell, i) + (i === row.length - 1 ? '' : ' '.repeat(widths[i]! - cell.length)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `1.5 MiB` for 1572864. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

/** Local wall clock time of an ISO time: `14:03:21`. */
export function clock(iso: string): string {
  const at = new Date(iso);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(n => String(n).padStart(2, '0')).join(':');
}

/** Local date and time of an ISO time: `2026-11-21 14:03:21`. */
export function dateTime(iso: string): string {
  const at = new Date(iso);
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(n => String(n).padStart(2, '0')).join('-');
  return `${day} ${clock(iso)}`;
}
