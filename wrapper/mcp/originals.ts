// Keeps what `mcp install` has replaced in the entries of MCP clients: `mcp uninstall` restores that, and nothing else.
import type { Paths } from '../store/paths.ts';
import { updateGateway } from '../store/tokens.ts';
import { readText, withLock, writeAtomic } from '../system/files.ts';
import { sha256 } from '../system/hash.ts';
import { isRecord, isText, shape } from '../system/shape.ts';

/** An address before, and the keys in it and in its header; `''` for none. References to accounts stand in the place of keys in the file. */
export interface Original {
  url: string;
  inUrl: string;
  inHeader: string;
}

/** An original, its file, and the token that stands in its place. A variable has neither address nor token: its key is `inHeader`. */
export interface Kept extends Original {
  file: string;
  cli: string;
  token: string;
}

/** By the digest of the placeholder, or of the place of a variable. */
export type Originals = Record<string, Kept>;

const isKept = shape<Kept>({ file: isText, url: isText, inUrl: isText, inHeader: isText, cli: isText, token: isText });

/** Digest of a variable's place: the file, the names down to the entry, and the variable. */
export function digestOf(place: readonly string[]): string {
  return sha256(JSON.stringify(place));
}

/** All originals. Damaged ones are left out. */
export function readOriginals({ mcpOriginals: file }: Paths): Originals {
  try {
    const value: unknown = JSON.parse(readText(file) ?? '{}');
    const entries = isRecord(value) ? Object.entries(value) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, Kept] => isKept(entry[1])));
  } catch {
    return {};
  }
}

/** Keeps an original. */
export function keepOriginal(paths: Paths, digest: string, original: Kept): void {
  update(paths, originals => {
    originals[digest] = original;
  });
}

/**
 * Forgets the originals that no file needs anymore, and revokes their tokens.
 * @param own other files of the user, into which an entry may have been moved
 * @returns the files that need the others
 */
export function forgetRestored(paths: Paths, own: readonly string[]): string[] {
  const all = Object.entries(readOriginals(paths)).map(([digest, kept]) => ({
    digest,
    files: [...new Set([kept.file, ...own])].filter(file => isNeededIn(file, digest, kept)),
  }));
  forget(
    paths,
    all.filter(({ files }) => files.length === 0).map(({ digest }) => digest),
  );
  return all.flatMap(({ files }) => files);
}

/** Reports whether a file still has what stands in the place of an original. */
function isNeededIn(file: string, digest: string, { url, inHeader }: Kept): boolean {
  const text = readText(file) ?? '';
  // in quotes: the name of another account may begin with this one
  if (url === '') return text.includes(JSON.stringify(inHeader));
  return text.split(/[^\w-]+/).some(word => sha256(word) === digest);
}

function forget(paths: Paths, digests: readonly string[]): void {
  if (digests.length === 0) return;
  const ended = update(paths, originals => {
    for (const digest of digests) delete originals[digest];
  });
  for (const cli of new Set(digests.flatMap(digest => ended[digest]?.cli ?? []))) {
    updateGateway(paths, cli, gateway => {
      gateway.tokens = gateway.tokens.filter(({ digest }) => !digests.includes(digest));
    });
  }
}

/** @returns those before the change */
function update(paths: Paths, change: (originals: Originals) => void): Originals {
  const { mcpOriginals: file } = paths;
  return withLock(file, () => {
    const before = readOriginals(paths);
    const originals = { ...before };
    change(originals);
    writeAtomic(file, `${JSON.stringify(originals)}\n`);
    return before;
  });
}
