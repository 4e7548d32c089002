// Digests files, so that a fix is undone only where nothing else has changed them.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The SHA-256 digest of a file's bytes, or null when it can't be read for any reason. */
export function digestOf(path: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch {
    return null;
  }
}
