// Reads the catalog that `culvert-wrap catalog update` stored: the wrapper its entries, and the daemon what it says of WARP.
// A file named by its digest holds each catalog as it was signed, and one state file says which of them counts.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import lt from 'semver/functions/lt.js';
import valid from 'semver/functions/valid.js';
import * as z from 'zod/mini';
import { errno, reason } from '../../daemon/core/errors.ts';
import { readUpTo } from '../../daemon/core/files.ts';
import { sha256 } from '../../daemon/core/hash.ts';
import { parseJson, readManifest } from '../../manifest/schema.ts';
import { storedFile, updateStateFile } from './files.ts';

declare const __VERSION__: string | undefined;
declare const __CATALOG_TIME__: number | undefined;

/** The version of this program; empty in the sources. */
export const INSTALLED = typeof __VERSION__ === 'string' ? __VERSION__ : '';
/** Time of the commit whose catalog this program brings, in seconds since 1970; 0 if the build did not know it. */
const SHIPPED_AT = typeof __CATALOG_TIME__ === 'number' ? __CATALOG_TIME__ : 0;

/** Files that a catalog may bring: entries of tools, and the knowledge of WARP in `data/knowledge`. */
export const CATALOG_FILES = ['providers.toml', 'known-issues.toml', 'codes.toml', 'journal.toml'] as const;
export type CatalogFile = (typeof CATALOG_FILES)[number];
/** Name of a catalog as one file. */
export const CATALOG_NAME = 'culvert-catalog.json';
/** Maximum size of that file in bytes, five times that of the first one. */
export const CATALOG_LIMIT = 2 * 1024 * 1024;
const STATE_LIMIT = 64 * 1024;

/**
 * A catalog as one file. Manifest and sidecar are those of a release (manifest/signatures.ts), with the files as the artifacts
 * `culvert-providers.toml` and so on; as texts, so that the signed bytes stay as they are.
 */
const Container = z.strictObject({
  format: z.literal('culvert-catalog 1'),
  manifest: z.string(),
  sidecar: z.string(),
  files: z.strictObject({
    'providers.toml': z.string(),
    'known-issues.toml': z.optional(z.string()),
    'codes.toml': z.optional(z.string()),
    'journal.toml': z.optional(z.string()),
  } satisfies Record<CatalogFile, unknown>),
});
export type Container = z.infer<typeof Container>;

const Digest = z.string().check(z.regex(/^[0-9a-f]{64}$/));
/** The one file whose replacement applies or reverts a catalog. */
const UpdateState = z.strictObject({
  /** Digest of the catalog in use; null for the shipped one. */
  current: z.nullable(Digest),
  /** The catalog before it, likewise; missing if there is nothing to revert. */
  previous: z.optional(z.nullable(Digest)),
  /** The highest serial so far, and the digest of its manifest. */
  serial: z.int().check(z.positive()),
  manifest: Digest,
  /** Ids of keys that a catalog revoked. */
  revoked: z.array(z.string()),
  /** Ids of the keys that signed a catalog, by its digest. */
  signers: z.optional(z.record(Digest, z.array(z.string()))),
  /** The version of the program whose rules checked the catalog in use (`rules.ts`). */
  checkedBy: z.optional(z.string()),
});
export type UpdateState = z.infer<typeof UpdateState>;

/** A catalog that replaces shipped entries. */
interface Updated {
  files: Container['files'];
  /** When it was made. */
  generatedAt: string;
}

/** A program that reads the catalog in use. */
interface Reader {
  version: string;
  /** Time of the catalog that it brings, in seconds since 1970; 0 if unknown. */
  shippedAt?: number | undefined;
  /** The version whose rules the catalog must have passed; missing in the sources. */
  rules?: string | undefined;
}

/**
 * Reads the state.
 * @returns undefined if there was no update yet
 * @throws Error if the file is damaged, or not only this user's to change
 */
export function readUpdateState(directory: string): UpdateState | undefined {
  const bytes = readOwn(updateStateFile(directory), STATE_LIMIT);
  if (!bytes) return undefined;
  const state = UpdateState.safeParse(parseJson(bytes));
  if (!state.success) throw new Error(`${updateStateFile(directory)} has another form`);
  return state.data;
}

/** Reads a catalog's file without its signature. @throws Error if it has another form */
export function readContainer(bytes: Uint8Array): Container {
  const container = Container.safeParse(parseJson(bytes));
  if (!container.success) throw new Error('it is no catalog of this format');
  return container.data;
}

/** True if a catalog of this version is older than the shipped catalog: two builds of a version may differ. */
export function isOlderBuild(
  { tag, generatedAt }: { tag?: string | undefined; generatedAt: string },
  { version, shippedAt = SHIPPED_AT }: Pick<Reader, 'version' | 'shippedAt'>,
): boolean {
  return valid(tag) === version && Date.parse(generatedAt) < shippedAt * 1_000;
}

/**
 * Reads the catalog in use. It was verified before it was stored, under its digest, where only this user can write.
 * @param directory `Paths.catalogUpdates`
 * @param reader by default the wrapper
 * @returns nothing without an update; `outdated` if the shipped catalog is newer, by its version or else by its time; a `problem` if
 *   the update can't be used
 */
export function readUpdated(
  directory: string,
  { version: installed, shippedAt = SHIPPED_AT, rules }: Reader = { version: INSTALLED, rules: INSTALLED || undefined },
): { updated?: Updated; outdated?: boolean; problem?: string } {
  try {
    const state = readUpdateState(directory);
    const current = state?.current;
    if (!current) return {};
    const signers = state.signers?.[current] ?? [];
    if (signers.length > 0 && signers.every(id => state.revoked.includes(id)))
      throw new Error('the key that signed the catalog was revoked');
    const { files, manifest } = readContainer(readStored(directory, current));
    const { tag, generated_at: generatedAt } = readManifest(Buffer.from(manifest));
    const version = valid(tag) ?? '';
    const isEarlier = valid(installed) !== null && lt(version, installed);
    if (isEarlier || isOlderBuild({ tag, generatedAt }, { version: installed, shippedAt })) return { outdated: true };
    if (rules !== undefined && (state.checkedBy ?? '') !== rules)
      throw new Error('another version of Culvert took the catalog; `culvert-wrap catalog update` takes it again');
    return { updated: { files, generatedAt } };
  } catch (error) {
    return { problem: reason(error).split('\n')[0]! };
  }
}

/** Reads a stored catalog as it was signed. @throws Error if it is missing or was changed */
export function readStored(directory: string, digest: string): Buffer {
  const file = storedFile(directory, digest);
  const bytes = readOwn(file, CATALOG_LIMIT);
  if (!bytes) throw new Error(`${file} is missing`);
  if (sha256(bytes) !== digest) throw new Error(`${file} was changed`);
  return bytes;
}

/**
 * Reads a whole file that decides what programs do: a regular file, which only this user or root can change.
 * @returns undefined if it is missing
 */
function readOwn(file: string, limit: number): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new Error(`${file} is not a regular file`);
    if (stat.uid !== 0 && stat.uid !== process.geteuid?.()) throw new Error(`${file} belongs to another user`);
    if ((stat.mode & 0o022) !== 0) throw new Error(`others can change ${file}`);
    return readUpTo(fd, limit, () => new Error(`${file} has more than ${limit} bytes`));
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    if (errno(error) === 'ELOOP') throw new Error(`${file} is a symbolic link`, { cause: error });
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
