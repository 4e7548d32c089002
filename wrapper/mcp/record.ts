// Stores the record of what `mcp install` changed in the files of clients.

import { reason } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { isRecord, isText, optional, shape } from '../../daemon/core/shape.ts';
import type { Paths } from '../store/paths.ts';
import { updateGateway } from '../store/tokens.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { withLock, writeAtomic } from '../system/files.ts';

/** The original address, and the keys in its URL and header; `''` for none. The file holds references instead of keys. */
export interface Original {
  url: string;
  inUrl: string;
  inHeader: string;
}

/**
 * An original, its file, and the token that replaced its key. A variable has only `inHeader`, the reference that replaced its
 * text, and `asked`, if that text was a question of the client and no key. A command line has only `program`, which was put before it.
 */
export interface Kept extends Original {
  file: string;
  /** The file behind symlinks at the time of the change, in case `file` was a symlink that is gone. */
  real?: string | undefined;
  /** The client's row in the list of clients. */
  client?: string | undefined;
  cli: string;
  token: string;
  asked?: string | undefined;
  program?: string | undefined;
}

/** The fields of a record that has no address. */
export const NO_ADDRESS = { token: '', url: '', inUrl: '', inHeader: '' };

/** Originals by the digest of their placeholder, or of the place of their variable or command line. */
export type Originals = Record<string, Kept>;

const isKept = shape({
  file: isText,
  real: optional(isText),
  client: optional(isText),
  url: isText,
  inUrl: isText,
  inHeader: isText,
  cli: isText,
  token: isText,
  asked: optional(isText),
  program: optional(isText),
});

const isOriginals = (value: unknown): value is Originals => isRecord(value) && Object.values(value).every(isKept);

/** The place of an entry or a variable: its file, the names down to the entry, and the variable's name. */
export type Place = readonly [file: string, ...names: string[]];

/** Returns the place below a file, by the path of the file that a record has for it. @param paths all paths of the file */
export function placeIn(
  originals: Originals,
  paths: readonly string[],
  names: readonly string[],
  digest: (place: Place) => string,
): Place {
  const places = paths.map((file): Place => [file, ...names]);
  return places.find(place => Object.hasOwn(originals, digest(place))) ?? places[0]!;
}

/** Digest of a variable's place: the file, the names down to the entry, and the variable. */
export function digestOf(place: readonly string[]): string {
  return sha256(JSON.stringify(place));
}

/** Digest of a command line's place: the file, and the names down to the entry. */
export function digestOfLine(place: readonly string[]): string {
  return digestOf(['program', ...place]);
}

/**
 * Reads all originals.
 * @throws WrapError `mcp-record-broken`: an empty record in its place would leave entries behind a removal, and an install would overwrite the rest
 */
export function readOriginals({ mcpOriginals: file }: Paths): Originals {
  try {
    const value: unknown = JSON.parse(readOptional(file) ?? '{}');
    if (isOriginals(value)) return value;
    throw new Error('it has another form');
  } catch (error) {
    throw new WrapError(
      'mcp-record-broken',
      EXIT.config,
      `the record of what \`mcp install\` changed, ${file}, can't be read: ${reason(error)}`,
      {
        hint: 'restore the file; without it, put the entries of your clients back by hand and remove it',
        cause: error,
      },
    );
  }
}

/** Keeps an original. */
export function keepOriginal(paths: Paths, digest: string, original: Kept): void {
  update(paths, originals => {
    originals[digest] = original;
  });
}

/** Forgets originals, and revokes their tokens. */
export function forget(paths: Paths, digests: readonly string[]): void {
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

/** @returns the originals before the change */
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
