// Writes the line of a status for a terminal, within its width.
import { type Shown, separator, statusParts } from '../../../state/status-line.ts';
import type { Context } from '../../context.ts';
import { folded } from '../../terminal/fit.ts';

/** @param taken columns that something before the text takes @param now in ms since the epoch */
export function statusText(
  { style, width }: Pick<Context, 'style' | 'width'>,
  shown: Shown,
  taken = 0,
  now = Date.now(),
): string {
  return folded(statusParts(shown, style, now), separator(style), width - taken).replaceAll(
    '\n',
    `\n${' '.repeat(taken)}`,
  );
}
