// Digests files, so that a fix is undone only where nothing else has changed them.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';

/** The SHA-256 digest of a file's bytes, or null when it can't be read for any reason. */
export function digestOf(path: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch {
    return null;
  }
}

/** The digest of a regular file, the target of a symbolic link (`linkTo`), or null for a path that can't be read. */
export function contentOf(path: string): string | null {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink ? linkTo(readlinkSync(path)) : digestOf(path);
}

export function linkTo(target: string): string {
  return `link to ${target}`;
}

/** The digest that `digestOf` has for a file with this text. */
export function textDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
