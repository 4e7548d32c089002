// Changes files of settings so that they come back byte for byte, with their mode, owner and attributes.
import { existsSync, lstatSync, readFileSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { applyPatch } from 'diff';
import { digest, digestOf, restoreFile, rewriteFile } from '../../core/undo.ts';
import { addedLines, differenceOf, patchOf, withoutRemoved } from '../../patch.ts';
import { makeDirectory, replaceFile } from '../../system/files.ts';
import { TrustError } from '../errors.ts';
import type { FileStep, OpenJournal } from './journal.ts';

export interface FileChange {
  path: string;
  content: string;
}

/** The text of a file; null if it does not exist. @throws TrustError for one that can't be read, or is not UTF-8 */
export function textOf(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    const why = error instanceof TypeError ? 'is not UTF-8 text' : 'can’t be read';
    throw new TrustError('failed', `${path} ${why}, so it was left as it is.`, undefined, error);
  }
}

/** The difference that a person is shown first: what Culvert adds, and no text of the file. */
export function diffOf({ path, content }: FileChange): string {
  return withoutRemoved(differenceOf(path, textOf(path), content));
}

/** Writes a file. @param remember puts the step into the journal, which is saved before the write */
export function changeFile({ path, content }: FileChange, open: OpenJournal, remember: (step: FileStep) => void): void {
  const info = lstatSync(path, { throwIfNoEntry: false });
  // a file behind a link stays behind it
  const target = info?.isSymbolicLink() ? realpathSync(path) : path;
  const before = textOf(target);
  const made = info ? null : firstMissing(dirname(target));
  remember({
    kind: 'file',
    path: target,
    copy: before === null ? null : open.keep(target),
    after: digest(content),
    undo: patchOf(target, content, before ?? ''),
    made,
  });
  open.save();
  if (before !== null) rewriteFile(target, content);
  else {
    makeDirectory(dirname(target), 0o755);
    replaceFile(target, content, { mode: 0o644 });
  }
}

/** The first directory on the way to one that is not there. */
export function firstMissing(directory: string): string | null {
  let missing: string | null = null;
  for (let at = directory; !existsSync(at); at = dirname(at)) missing = at;
  return missing;
}

/** @returns a line that says what was done; null if there was nothing to do @throws TrustError changed */
export function undoFile(step: FileStep, open: OpenJournal): string | null {
  const { path, copy } = step;
  const original = copy === null ? null : open.copyOf(copy);
  const now = digestOf(path);
  if (now === (original && digestOf(original))) return null;
  if (now === step.after) {
    if (original) restoreFile(original, path);
    else removeWithDirectories(path, step.made);
    return original ? `restored ${path}` : `removed ${path}`;
  }
  if (now === null) return null; // the user removed it
  const text = applyPatch(textOf(path) ?? '', step.undo, { fuzzFactor: 0 });
  if (text === false)
    throw new TrustError(
      'changed',
      `${path} was changed since, so it was left as it is.`,
      `Undo it by hand. Culvert added:\n${addedLines(step.undo).join('\n')}`,
    );
  rewriteFile(path, text);
  return `undid the change of ${path}`;
}

/** @param made the first directory that was made for the file; null without one */
export function removeWithDirectories(path: string, made: string | null): void {
  rmSync(path, { force: true });
  if (made === null) return;
  try {
    for (let at = dirname(path); at.startsWith(made); at = dirname(at)) rmdirSync(at);
  } catch {
    // something else is in it now
  }
}
