// Writes the line of a status for a terminal, within its width.
import { type Shown, separator, statusParts } from '../../../state/status-line.ts';
import type { Context } from '../../context.ts';
import { folded } from '../../terminal/fit.ts';

/** @param taken columns that something before the text takes */
export function statusText({ style, width }: Pick<Context, 'style' | 'width'>, shown: Shown, taken = 0): string {
  return folded(statusParts(shown, style, Date.now()), separator(style), width - taken).replaceAll(
    '\n',
    `\n${' '.repeat(taken)}`,
  );
}
