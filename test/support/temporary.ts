// Directories that end with the test.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';

/** The context of a test, or `{ after }` of node:test for a whole file. */
export interface Ends {
  after(end: () => unknown): unknown;
}

/**
 * An empty directory, removed with everything in it when the test ends.
 * @param name part of the directory's name, by which a leftover can be recognized
 * @returns its real path
 */
export function temporary(t: Ends, name = 'test'): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), `culvert-${name}-`)));
  t.after(() => removeTree(directory));
  return directory;
}

/** A path where nothing is: it was made for this, and removed. */
export function missing(t: Ends): string {
  const path = temporary(t, 'missing');
  rmSync(path, { recursive: true });
  return path;
}

/**
 * Removes a directory in which a process that is just ending may write once more. The retries of `rmSync` don't help there: they
 * do not remove new files.
 */
export function removeTree(directory: string): void {
  for (let left = 20; ; left--)
    try {
      rmSync(directory, { recursive: true, force: true });
      return;
    } catch (error) {
      if (errno(error) !== 'ENOTEMPTY' || left === 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
}
