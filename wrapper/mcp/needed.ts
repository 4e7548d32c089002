// Finds the files that still need a record of `mcp install`, and forgets the other records.
import { sha256 } from '../../daemon/core/hash.ts';
import type { Paths } from '../store/paths.ts';
import type { ClientContent } from './client-content.ts';
import type { ClientFile } from './client-list.ts';
import { isOurs } from './entry.ts';
import { forget, type Kept, type Originals, readOriginals } from './record.ts';

/** A file that still needs records. */
export interface Needing {
  file: string;
  /** True if a record holds a key, or the reference to one. */
  isForKey: boolean;
  /** True if the file is missing or can't be read, so that it may not need them. */
  isUnread: boolean;
}

/** The files of all clients, including those that a record names, before and after an uninstall. */
export interface Contents {
  before: readonly ClientContent[];
  after: readonly ClientContent[];
}

/**
 * Forgets the originals that no file needs anymore, and revokes their tokens.
 * @returns the files that still need the remaining originals
 */
export function forgetRestored(paths: Paths, contents: Contents): Needing[] {
  const originals = readOriginals(paths);
  const all = Object.entries(originals).map(([digest, kept]) => ({
    digest,
    needing: filesNeeding(digest, originals, contents).map(({ file: { file }, problem }) => ({
      file,
      isForKey: kept.program === undefined,
      isUnread: problem !== undefined,
    })),
  }));
  forget(
    paths,
    all.filter(({ needing }) => needing.length === 0).map(({ digest }) => digest),
  );
  return all.flatMap(({ needing }) => needing);
}

/** Returns the recorded command lines that are not at their place. */
export function movedPrograms(originals: Originals, contents: readonly ClientContent[]): Kept[] {
  return Object.entries(originals).flatMap(([digest, kept]) => {
    const own = contentOf(kept, contents);
    const isMoved = own && own.problem === undefined && !isBehind(digest, own);
    return kept.program !== undefined && isMoved ? [kept] : [];
  });
}

/** Reports whether an entry that was moved or renamed may be in this file. */
export function mayBeIn(kept: Kept, { names, isShared }: ClientFile): boolean {
  // anyone may write an entry into the file of a project
  return names.includes(kept.file) || !isShared;
}

/** Returns the files that need an original. */
function filesNeeding(digest: string, originals: Originals, { before, after }: Contents): ClientContent[] {
  const kept = originals[digest]!;
  const own = contentOf(kept, after);
  // the file may come back, as after a mount
  if (own?.problem !== undefined) return [own];
  const others = after.filter(({ file }) => mayBeIn(kept, file));
  if (kept.program === undefined) return others.filter(({ text }) => isNeededIn(text, digest, kept));
  if (own && isBehind(digest, own)) return [own];
  if (isBehind(digest, contentOf(kept, before))) return [];
  const isUnrecorded = (digests: readonly string[]) => !digests.some(each => Object.hasOwn(originals, each));
  const { program } = kept;
  const written = [program, JSON.stringify(program).slice(1, -1)];
  return others.filter(({ problem, text, entries }) =>
    problem === undefined
      ? entries.some(({ line, digests }) => line && isOurs(line) && line.command === program && isUnrecorded(digests))
      : written.some(each => text.includes(each)),
  );
}

function contentOf(kept: Kept, contents: readonly ClientContent[]): ClientContent | undefined {
  return contents.find(({ file }) => file.names.includes(kept.file));
}

/** Reports whether the entry at the place of a recorded command line is behind the program. */
function isBehind(digest: string, content: ClientContent | undefined): boolean {
  const line = content?.entries.find(({ digests }) => digests.includes(digest))?.line;
  return line !== undefined && isOurs(line);
}

/** Reports whether a text has the placeholder or reference that replaced an original. */
function isNeededIn(text: string, digest: string, { url, inHeader }: Kept): boolean {
  if (url === '')
    return text
      .split(inHeader)
      .slice(1)
      .some(after => !/^[\w.+-]/.test(after));
  return text.split(/[^\w-]+/).some(word => sha256(word) === digest);
}
