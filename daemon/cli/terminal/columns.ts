// Prints rows as aligned columns.
import stringWidth from 'string-width';
import { printable } from '../../core/printable.ts';
import { wrapped } from './fit.ts';

const GAP = '  ';
/** Columns that the last cell of a row has at least; with less room, rows are not aligned. */
const LAST_MIN = 20;

type Paint = (text: string, column: number, row: number) => string;

/**
 * Rows as aligned columns, two spaces apart, the last one ragged. Measures what a terminal shows: two cells for each
 * wide character of East Asian scripts and emoji, none for combining marks.
 * @param rows a row of one cell is a heading, whose width does not count
 * @param paint colors a cell after it was measured
 * @param width columns of the terminal: the last cells are wrapped within it, or else whole rows
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

/** The cells of a row that are not empty, one after the other. */
function flowing(row: readonly string[], paint: (text: string, column: number) => string): string {
  return row
    .map((text, i) => [text, paint(text, i)] as const)
    .flatMap(([text, cell]) => (text ? [cell] : []))
    .join(GAP);
}
