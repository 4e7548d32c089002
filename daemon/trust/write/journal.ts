// Keeps what was changed for each tool, with copies of the files from before. It is written before each change.
import { join } from 'node:path';
import * as z from 'zod/mini';
import { keepCopy, removeCopies } from '../../core/undo.ts';
import { makeDirectory, readText, replaceFile } from '../../system/files.ts';
import { acquireLock } from '../../system/lock.ts';
import { assertOwn } from '../../system/own-home.ts';
import { TrustError } from '../errors.ts';

const FileStep = z.object({
  kind: z.literal('file'),
  path: z.string(),
  /** Name of the copy from before; null if there was no file. */
  copy: z.nullable(z.string()),
  /** Digest of the file afterwards. */
  after: z.string(),
  /** Patch that undoes the change where the file was changed since. */
  undo: z.string(),
  /** The first directory that was made for it; null without one. */
  made: z.nullable(z.string()),
});
export type FileStep = z.infer<typeof FileStep>;

const VariableStep = z.object({ kind: z.literal('variable'), name: z.string(), value: z.string() });

const NssStep = z.object({
  kind: z.literal('nss'),
  directory: z.string(),
  /** The first directory that was made for it; null without one. */
  made: z.nullable(z.string()),
  /** Names of the certificates in it that Culvert added. */
  names: z.array(z.string()),
  /** Its files: the copy from before, and the digest afterwards, each null if there is no file. */
  files: z.array(z.object({ name: z.string(), copy: z.nullable(z.string()), after: z.nullable(z.string()) })),
});
export type NssStep = z.infer<typeof NssStep>;

/** One change, with what its undo needs. */
const Step = z.discriminatedUnion('kind', [FileStep, VariableStep, NssStep]);

const Known = z.object({
  fingerprint: z.string(),
  pem: z.string(),
  name: z.string(),
  from: z.number(),
  until: z.number(),
});

const Journal = z.object({
  /** Changes by tool. */
  tools: z.record(z.string(), z.array(Step)),
  /** Files that hold the variables of all tools. */
  environment: z.array(FileStep),
  /** Variables that were set in the user's service manager, with their values from before. */
  session: z.array(z.object({ name: z.string(), before: z.nullable(z.string()) })),
  /** Certificates that tools were made to trust. */
  known: z.array(Known),
  /** Certificates that the user confirmed by their fingerprint. */
  confirmed: z.array(Known),
});
export type Journal = z.infer<typeof Journal>;

const LOCK_WAIT_MS = 5_000;

export const journalFile = (directory: string) => join(directory, 'trust.json');

/** @throws TrustError for a damaged file, which is never replaced: it says what to undo */
export function readJournal(directory: string): Journal {
  const text = readText(journalFile(directory));
  if (text === null) return { tools: {}, environment: [], session: [], known: [], confirmed: [] };
  try {
    return z.parse(Journal, JSON.parse(text));
  } catch (error) {
    throw new TrustError('failed', `${journalFile(directory)} is damaged.`, 'Restore it from a backup.', error);
  }
}

/** The journal while this process alone may change it. */
export interface OpenJournal {
  readonly journal: Journal;
  /** Writes it. */
  save(): void;
  /** Copies a file. @returns the name of the copy */
  keep(path: string): string;
  /** Path of a copy. */
  copyOf(name: string): string;
}

/** @throws TrustError busy, failed */
export async function withJournal<T>(directory: string, work: (open: OpenJournal) => Promise<T>): Promise<T> {
  assertOwn(directory);
  makeDirectory(directory);
  const lock = acquireLock(join(directory, 'lock'), LOCK_WAIT_MS);
  if ('heldBy' in lock) throw new TrustError('busy', `Process ${lock.heldBy} is changing what tools trust. Try again.`);
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

/** The copies that undoing needs. */
function copiesIn({ tools, environment }: Journal): (string | null)[] {
  return [...Object.values(tools).flat(), ...environment].flatMap(step => {
    if (step.kind === 'nss') return step.files.map(({ copy }) => copy);
    return step.kind === 'file' ? [step.copy] : [];
  });
}
