// Writes the difference of two texts of a file as a patch.
import { createTwoFilesPatch } from 'diff';

/** The exact difference. It has lines of the file around the change, so that it is for an undo, and never shown. */
export function patchOf(path: string, before: string | null, after: string): string {
  return createPatch(path, before, after, 2);
}

/**
 * The difference as a person is shown it: the lines that change, and no other line of the file, which may hold secrets.
 * @param before null if there is no file
 */
export function differenceOf(path: string, before: string | null, after: string): string {
  // a last line without an end is no change of this line
  return createPatch(path, before && ended(before), ended(after), 0);
}

/** A difference without the text of the lines that go: in a file of the user, they may hold anything. */
export function withoutRemoved(difference: string): string {
  const [head = '', ...hunks] = difference.split(/^(?=@@)/m);
  return head + hunks.map(hunk => hunk.replace(/(?<=^|\n)-[^\n]*/g, '-…')).join('');
}

/** The lines that a change added, of the exact patch that undoes it. */
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
