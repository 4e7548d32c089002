// Writes the difference of two texts of a file as a patch.
import { createTwoFilesPatch } from 'diff';

/** @param before null if there is no file */
export function patchOf(path: string, before: string | null, after: string): string {
  return createTwoFilesPatch(before === null ? '/dev/null' : path, path, before ?? '', after, '', '', {
    context: 2,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
  });
}
