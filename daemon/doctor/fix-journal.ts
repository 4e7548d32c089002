// Keeps the file that remembers how to take fixes back, and copies of the files that they replaced. Both are written before each
// change, so that a kill in between loses nothing.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { ACTION_NAMES } from '../api/actions.ts';
import { Message } from '../api/schema/values.ts';
import { readText, replaceFile } from '../system/files.ts';
import { acquireLock } from '../system/lock.ts';
import { digestOf } from './digest.ts';

/** `privileged`: an administrator has to do it. `changed`: the file is not as the fix left it. */
export type FixErrorCode = 'privileged' | 'failed' | 'changed' | 'nothing' | 'busy';
export class FixError extends Error {
  readonly code: FixErrorCode;
  readonly hint: string | undefined;
  constructor(code: FixErrorCode, message: string, hint?: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'FixError';
    this.code = code;
    this.hint = hint;
  }
}

/** The change was about to be made; whether it was is not known. */
const Begun = { begun: z.optional(z.literal(true)) };
const Step = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    path: z.string(),
    /** Name of the copy, in the directory of the journal; null where there was no file. */
    copy: z.nullable(z.string()),
    /** Digest of what the fix wrote. */
    after: z.string(),
    ...Begun,
  }),
  z.object({ kind: z.literal('command'), argv: z.array(z.string()), ...Begun }),
  z.object({ kind: z.literal('action'), action: z.enum(ACTION_NAMES), value: z.optional(z.string()), ...Begun }),
]);
/** What takes one change back. */
export type Step = z.infer<typeof Step>;
const Label = { id: z.string(), label: z.string(), wording: z.optional(Message), at: z.string() };
const Entry = z.object({ ...Label, steps: z.array(Step) });
/** One fix: the steps that take it back, in their order. */
export type Entry = z.infer<typeof Entry>;
const HandedOver = z.object({
  ...Label,
  /** Lines for a shell that take it back. */
  shell: z.array(z.string()),
  /** The file that it changes, with the digest of what it held before. */
  file: z.nullable(z.object({ path: z.string(), before: z.nullable(z.string()) })),
});
/** Commands that were printed for an administrator. */
export type HandedOver = z.infer<typeof HandedOver>;

const KEPT = 50;
const LOCK_WAIT_MS = 2_000;

/** Fixes whose changes are there, newest first. Of a fix that was killed before its first change nothing is listed. */
export function entriesOf(journal: string): Entry[] {
  return load(journal, Entry).filter(({ steps }) => steps.some(step => happened(journal, step)));
}

/** Whether a step has something to take back, as far as that can be seen. */
function happened(journal: string, step: Step): boolean {
  if (!step.begun || step.kind !== 'file') return true;
  return digestOf(step.path) !== (step.copy && digestOf(join(dirname(journal), step.copy)));
}

const COPY = 'before-fix-';

/**
 * Copies a file with everything that it has (owner, mode, extended attributes) to the directory of the journal.
 * @returns the name of the copy @throws Error
 */
export function keepCopy(journal: string, path: string): string {
  const name = `${COPY}${randomBytes(8).toString('hex')}`;
  mkdirSync(dirname(journal), { recursive: true, mode: 0o700 });
  copyWhole(path, join(dirname(journal), name));
  return name;
}

/** Node copies neither owner nor extended attributes. @throws Error with what cp said */
export function copyWhole(from: string, to: string): void {
  execFileSync('cp', ['-a', '--', from, to], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** What an administrator may have run, newest first; not what was never run, where a file shows that. */
export function handedOver(journal: string): HandedOver[] {
  return load(handedOverFile(journal), HandedOver).filter(({ file }) => !file || digestOf(file.path) !== file.before);
}

/** Remembers what is printed for an administrator. A full disk does not keep it from being printed. */
export function handOver(journal: string, entry: HandedOver): void {
  const same = (other: HandedOver) => other.id === entry.id && other.shell.join() === entry.shell.join();
  quietly(() => update(handedOverFile(journal), HandedOver, all => [entry, ...all.filter(other => !same(other))]));
}

/** Adds the step of a change that is about to be made. @throws FixError busy, FileError; nothing was changed then */
export function begin(journal: string, entry: Entry, step: Step): void {
  entry.steps.unshift({ ...step, begun: true });
  save(journal, entry);
}

/** The newest change was made. It can be taken back even where this can't be written. */
export function settle(journal: string, entry: Entry): void {
  delete entry.steps[0]?.begun;
  quietly(() => save(journal, entry));
}

/** The newest change failed. */
export function abandon(journal: string, entry: Entry): void {
  entry.steps.shift();
  quietly(() => save(journal, entry));
  quietly(() => removeCopies(journal));
}

/** Removes a fix that was taken back. */
export function forget(journal: string, entry: Entry): void {
  update(journal, Entry, all => all.filter(other => !isSame(other, entry)));
  quietly(() => removeCopies(journal));
}

/** Removes copies that no fix needs. */
function removeCopies(journal: string): void {
  const needed = load(journal, Entry).flatMap(({ steps }) => steps.map(step => step.kind === 'file' && step.copy));
  for (const name of readdirSync(dirname(journal)))
    if (name.startsWith(COPY) && !needed.includes(name)) rmSync(join(dirname(journal), name));
}

function save(journal: string, entry: Entry): void {
  update(journal, Entry, all => {
    // what never happened must not look as if it had once this fix has changed the same file
    const others = all.filter(other => !isSame(other, entry) && other.steps.some(step => happened(journal, step)));
    return entry.steps.length > 0 ? [entry, ...others] : others;
  });
}

function isSame(one: Entry, other: Entry): boolean {
  return one.at === other.at && one.id === other.id;
}

function quietly(write: () => void): void {
  try {
    write();
  } catch {
    // a step then stays as begun, which undoing understands
  }
}

function handedOverFile(journal: string): string {
  return journal.replace(/(\.json)?$/, '-administrator.json');
}

/** A damaged file is of no use: nothing can be taken back. */
function load<T>(path: string, schema: z.ZodMiniType<T>): T[] {
  try {
    return z.parse(z.array(schema), JSON.parse(readText(path) ?? '[]'));
  } catch {
    return [];
  }
}

function update<T>(path: string, schema: z.ZodMiniType<T>, change: (all: T[]) => T[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = acquireLock(`${path}.lock`, LOCK_WAIT_MS);
  if ('heldBy' in lock) throw new FixError('busy', `Process ${lock.heldBy} is applying a fix. Try again.`);
  try {
    const kept = change(load(path, schema)).slice(0, KEPT);
    replaceFile(path, `${JSON.stringify(kept, null, 2)}\n`);
  } finally {
    lock.release();
  }
}
