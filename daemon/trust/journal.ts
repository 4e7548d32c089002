// Records the changes for each tool in a journal, with copies of the original files, and undoes changes of files byte for byte.
// It writes the journal before each change.
import { existsSync, lstatSync, readFileSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { applyPatch } from 'diff';
import * as z from 'zod/mini';
import { Failure } from '../core/errors.ts';
import { assertOwn, makeDirectory, readText, replaceFile } from '../core/files.ts';
import { sha256 } from '../core/hash.ts';
import { acquireLock } from '../core/lock.ts';
import { digestOf, keepCopy, removeCopies, restoreFile, rewriteFile } from '../core/undo.ts';
import { addedLines, differenceOf, patchOf, withoutRemoved } from '../patch.ts';
import { parseCertificates } from './certificates.ts';

const FileStep = z.object({
  kind: z.literal('file'),
  path: z.string(),
  /** Name of the copy of the original; null if there was no file. */
  copy: z.nullable(z.string()),
  /** Digest of the file after the change. */
  after: z.string(),
  /** Patch that undoes the change if the file has other changes since. */
  undo: z.string(),
  /** The topmost directory that was created for the file, or null. */
  made: z.nullable(z.string()),
});
export type FileStep = z.infer<typeof FileStep>;

const VariableStep = z.object({ kind: z.literal('variable'), name: z.string(), value: z.string() });

const NssStep = z.object({
  kind: z.literal('nss'),
  directory: z.string(),
  /** The topmost directory that was created for the database, or null. */
  made: z.nullable(z.string()),
  /** Names of the certificates that Culvert added. */
  names: z.array(z.string()),
  /** The database's files, with the original's copy and the digest after the change; each is null if there is no file. */
  files: z.array(z.object({ name: z.string(), copy: z.nullable(z.string()), after: z.nullable(z.string()) })),
});
export type NssStep = z.infer<typeof NssStep>;

/** One change with its undo data. */
const Step = z.discriminatedUnion('kind', [FileStep, VariableStep, NssStep]);

/**
 * Certificates, whose fingerprint, name and validity come from `pem` when the journal is read. The file keeps these properties
 * because earlier versions of Culvert require them. A text that is not a certificate is dropped, so that an undo still works.
 */
const Certificates = z.pipe(
  z.array(z.object({ pem: z.string() })),
  z.transform(all => all.flatMap(({ pem }) => parseCertificates(pem))),
);

const Journal = z.object({
  /** Changes by tool. */
  tools: z.record(z.string(), z.array(Step)),
  /** Files that hold the variables of all tools. */
  environment: z.array(FileStep),
  /** Variables that were set in the user's service manager, with their previous values. */
  session: z.array(z.object({ name: z.string(), before: z.nullable(z.string()) })),
  /** Certificates that Culvert made tools trust. */
  known: Certificates,
  /** Certificates that the user confirmed by fingerprint. */
  confirmed: Certificates,
});
export type Journal = z.infer<typeof Journal>;

const LOCK_WAIT_MS = 5_000;

export const journalFile = (directory: string) => join(directory, 'trust.json');

/** Reads the journal. @throws Failure for a damaged file, which is kept because it contains the undo data */
export function readJournal(directory: string): Journal {
  const text = readText(journalFile(directory));
  if (text === null) return { tools: {}, environment: [], session: [], known: [], confirmed: [] };
  try {
    return z.parse(Journal, JSON.parse(text));
  } catch (error) {
    throw trustFailure('failed', `${journalFile(directory)} is damaged.`, 'Restore it from a backup.', error);
  }
}

/** The journal while this process holds its lock. */
export interface OpenJournal {
  readonly journal: Journal;
  /** Writes the journal. */
  save(): void;
  /** Copies a file. @returns the name of the copy */
  keep(path: string): string;
  /** Returns the path of a copy. */
  copyOf(name: string): string;
}

/** Runs work with the locked journal. @throws Failure `busy`, `failed` */
export async function withJournal<T>(directory: string, work: (open: OpenJournal) => Promise<T>): Promise<T> {
  assertOwn(directory);
  makeDirectory(directory);
  const lock = acquireLock(join(directory, 'lock'), LOCK_WAIT_MS);
  if ('heldBy' in lock) throw trustFailure('busy', `Process ${lock.heldBy} is changing what tools trust. Try again.`);
  try {
    const journal = readJournal(directory);
    const copies = { directory, prefix: 'before-' };
    const result = await work({
      journal,
      copyOf: name => join(directory, name),
      save: () => replaceFile(journalFile(directory), `${JSON.stringify(journal, null, 2)}\n`),
      keep: path => keepCopy(copies, path),
    });
    removeCopies(copies, copiesIn(journal));
    return result;
  } finally {
    lock.release();
  }
}

/** Returns the copies that an undo needs. */
function copiesIn({ tools, environment }: Journal): (string | null)[] {
  return [...Object.values(tools).flat(), ...environment].flatMap(step => {
    if (step.kind === 'nss') return step.files.map(({ copy }) => copy);
    return step.kind === 'file' ? [step.copy] : [];
  });
}

export interface FileChange {
  path: string;
  content: string;
}

/** Returns the text of a file, or null if it does not exist. @throws Failure if it can't be read or is not UTF-8 */
export function textOf(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    const why = error instanceof TypeError ? 'is not UTF-8 text' : 'can’t be read';
    throw trustFailure('failed', `${path} ${why}, so it was left as it is.`, undefined, error);
  }
}

/** Returns the difference to show before a change: the lines that Culvert adds, without removed text. */
export function diffOf({ path, content }: FileChange): string {
  return withoutRemoved(differenceOf(path, textOf(path), content));
}

/** Writes a file. @param remember adds the step to the journal, which is saved before the write */
export function changeFile({ path, content }: FileChange, open: OpenJournal, remember: (step: FileStep) => void): void {
  const info = lstatSync(path, { throwIfNoEntry: false });
  // keep a symbolic link, and write the file that it names
  const target = info?.isSymbolicLink() ? realpathSync(path) : path;
  const before = textOf(target);
  const made = info ? null : firstMissing(dirname(target));
  remember({
    kind: 'file',
    path: target,
    copy: before === null ? null : open.keep(target),
    after: sha256(content),
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

/** Returns the topmost missing directory in a path, or null if the directory exists. */
export function firstMissing(directory: string): string | null {
  let missing: string | null = null;
  for (let at = directory; !existsSync(at); at = dirname(at)) missing = at;
  return missing;
}

/** Undoes a change of a file. @returns a line about the undo, or null without changes to undo @throws Failure `changed` */
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
    throw trustFailure(
      'changed',
      `${path} was changed since, so it was left as it is.`,
      `Undo it by hand. Culvert added:\n${addedLines(step.undo).join('\n')}`,
    );
  rewriteFile(path, text);
  return `undid the change of ${path}`;
}

/** @param made the topmost directory that was created for the file, or null */
export function removeWithDirectories(path: string, made: string | null): void {
  rmSync(path, { force: true });
  if (made === null) return;
  try {
    for (let at = dirname(path); at.startsWith(made); at = dirname(at)) rmdirSync(at);
  } catch {
    // the directory contains other files now
  }
}

/** The API problem codes of a change's failures. */
export const TRUST_FAILURES = {
  /** There is nothing to do. */
  nothing: 'trust-refused',
  /** A file differs from Culvert's version. */
  changed: 'trust-refused',
  refused: 'trust-refused',
  failed: 'trust-refused',
  /** Another process holds the journal. */
  busy: 'busy',
} as const;

export function trustFailure(code: keyof typeof TRUST_FAILURES, message: string, hint?: string, cause?: unknown) {
  return new Failure(message, { code, hint, cause });
}
