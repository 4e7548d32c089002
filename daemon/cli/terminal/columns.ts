// Prints rows as aligned columns.
import stringWidth from 'string-width';
import { printable } from '../../system/printable.ts';

/**
 * Rows as aligned columns, two spaces apart, the last one ragged. Measures what a terminal shows: two cells for each
 * wide character of East Asian scripts and emoji, none for combining marks.
 * @param paint colors a cell after it was measured.
 */
export function columns(
  rows: readonly (readonly string[])[],
  paint: (text: string, column: number) => string = t => t,
): string {
  const cells = rows.map(row => row.map(printable).map(text => ({ text, width: stringWidth(text) })));
  const widths = cells.reduce<number[]>((max, row) => row.map(({ width }, i) => Math.max(width, max[i] ?? 0)), []);
  return cells
    .map(row =>
      row
        .map(({ text, width }, i) => paint(text, i) + (i === row.length - 1 ? '' : ' '.repeat(widths[i]! - width)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
