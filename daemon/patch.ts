// Formats the difference between two versions of a file as a patch.
import { createTwoFilesPatch } from 'diff';

/** Returns the exact difference, with lines of the file around each change. It is used for undo and never shown. */
export function patchOf(path: string, before: string | null, after: string): string {
  return createPatch(path, before, after, 2);
}

/**
 * Returns the difference to show to a person: only the lines that change, because other lines may hold secrets.
 * @param before null if there is no file
 */
export function differenceOf(path: string, before: string | null, after: string): string {
  // a missing newline at the end of a file is not a change
  return createPatch(path, before && ended(before), ended(after), 0);
}

/** Hides the text of removed lines in a difference, because a user's file may hold anything. */
export function withoutRemoved(difference: string): string {
  const [head = '', ...hunks] = difference.split(/^(?=@@)/m);
  return head + hunks.map(hunk => hunk.replace(/(?<=^|\n)-[^\n]*/g, '-…')).join('');
}

/** Returns the lines that a change added, from the exact patch that undoes the change. */
export function addedLines(undo: string): string[] {
  const lines = undo
    .split(/^(?=@@)/m)
    .slice(1)
    .join('')
    .split('\n');
  const of = (sign: string) => lines.flatMap(line => (line.startsWith(sign) ? [line.slice(1)] : []));
  const restored = of('+');
  return of('-').filter(line => !restored.includes(line));
}

const ended = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

function createPatch(path: string, before: string | null, after: string, context: number): string {
  return createTwoFilesPatch(before === null ? '/dev/null' : path, path, before ?? '', after, '', '', {
    context,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
  });
}
