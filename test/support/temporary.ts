// Directories that end with the test.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What can run something at the end: a test's context, or `{ after }` of node:test for a whole file. */
export interface Ends {
  after(end: () => unknown): unknown;
}

/**
 * An empty directory, removed with everything in it when the test ends.
 * @param name part of the directory's name, for whoever finds one that was left behind
 * @returns its real path
 */
export function temporary(t: Ends, name = 'test'): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), `culvert-${name}-`)));
  t.after(() => removeTree(directory));
  return directory;
}

/** Removes a directory in which a process that is just ending may write once more. */
export function removeTree(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
