// Keeps the journal of fixes that can be undone, and copies of the files that they replaced. Both are written before each change, so
// that a kill in between loses nothing. Finds the repair program that packages install for root, and reads its journal.
import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { ACTION_NAMES } from '../api/actions.ts';
import type { Undoable } from '../api/doctor.ts';
import { Message } from '../api/values.ts';
import { Failure } from '../core/errors.ts';
import { assertOwn, makeDirectory, readText, replaceFile } from '../core/files.ts';
import { acquireLock } from '../core/lock.ts';
import { type Copies, contentOf, digestOf, keepCopy as keepCopyIn, removeCopies } from '../core/undo.ts';
import { REPAIR_PROGRAMS } from '../view/fix.ts';

/** The failures of a fix, with their problems of the API. */
export const FIX_FAILURES = {
  /** Only an administrator can do it. */
  privileged: 'fix-needs-administrator',
  /** The file was changed after the fix. */
  changed: 'fix-failed',
  nothing: 'fix-failed',
  failed: 'fix-failed',
  busy: 'busy',
} as const;

export function fixFailure(code: keyof typeof FIX_FAILURES, message: string, hint?: string, cause?: unknown): Failure {
  return new Failure(message, { code, hint, cause });
}

/** The change was about to be made, and may not have been. */
const Begun = { begun: z.optional(z.literal(true)) };
const Step = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    path: z.string(),
    /** Name of the copy, in the directory of the journal; null if there was no file. */
    copy: z.nullable(z.string()),
    /** Content after the fix, as `contentOf` describes it. */
    after: z.string(),
    ...Begun,
  }),
  z.object({ kind: z.literal('command'), argv: z.array(z.string()), ...Begun }),
  z.object({ kind: z.literal('action'), action: z.enum(ACTION_NAMES), value: z.optional(z.string()), ...Begun }),
]);
/** One step of an undo. */
export type Step = z.infer<typeof Step>;
const Label = { id: z.string(), label: z.string(), wording: z.optional(Message), at: z.string() };
const Entry = z.object({ ...Label, steps: z.array(Step) });
/** One fix, with the steps that undo it, in their order. */
export type Entry = z.infer<typeof Entry>;
const HandedOver = z.object({
  ...Label,
  /** Lines for a shell that undo it. */
  shell: z.array(z.string()),
  /** The file that it changes, with the digest of the content before. */
  file: z.nullable(z.object({ path: z.string(), before: z.nullable(z.string()) })),
});
/** Commands that were printed for an administrator. */
export type HandedOver = z.infer<typeof HandedOver>;

const MAX_ENTRIES = 50;
const LOCK_WAIT_MS = 2_000;

/** Fixes whose changes are in effect, newest first. A fix that was killed before its first change is not listed. */
export function entriesOf(journal: string): Entry[] {
  return load(journal, Entry).filter(({ steps }) => steps.some(step => happened(journal, step)));
}

/** Reports whether a step has a change to undo, as far as a file shows it. */
function happened(journal: string, step: Step): boolean {
  if (!step.begun || step.kind !== 'file') return true;
  return contentOf(step.path) !== (step.copy && digestOf(join(dirname(journal), step.copy)));
}

const copiesOf = (journal: string): Copies => ({ directory: dirname(journal), prefix: 'before-fix-' });

/**
 * Copies a file with owner, mode and extended attributes to the directory of the journal. Call it in the `undo` of `begin`.
 * @returns the name of the copy @throws Error
 */
export function keepCopy(journal: string, path: string): string {
  assertOwn(dirname(journal));
  makeDirectory(dirname(journal));
  return keepCopyIn(copiesOf(journal), path);
}

/** Commands that an administrator may have run, newest first. Leaves out commands that did not change their file. */
export function handedOver(journal: string): HandedOver[] {
  return load(handedOverFile(journal), HandedOver).filter(({ file }) => !file || digestOf(file.path) !== file.before);
}

/** Remembers commands that are printed for an administrator. They are printed on a full disk as well. */
export function handOver(journal: string, entry: HandedOver): void {
  const same = (other: HandedOver) => other.id === entry.id && other.shell.join() === entry.shell.join();
  quietly(() => update(handedOverFile(journal), HandedOver, all => [entry, ...all.filter(other => !same(other))]));
}

/**
 * Adds the step of a change that is about to be made.
 * @param undo makes the step; runs under the journal's lock, so that no other process deletes a copy that it makes
 * @throws Failure `busy`, FileError; nothing was changed then
 */
export function begin(journal: string, entry: Entry, undo: () => Step): void {
  update(journal, Entry, all => {
    entry.steps.unshift({ ...undo(), begun: true });
    return withEntry(journal, entry, all);
  });
}

/** Marks the newest change as made. It can be undone even where this can't be written. */
export function settle(journal: string, entry: Entry): void {
  delete entry.steps[0]?.begun;
  quietly(() => update(journal, Entry, all => withEntry(journal, entry, all)));
}

/** Removes the newest change, which failed. */
export function abandon(journal: string, entry: Entry): void {
  entry.steps.shift();
  const change = (all: Entry[]) => withEntry(journal, entry, all);
  quietly(() => update(journal, Entry, change, remaining => keepNeeded(journal, remaining)));
}

/** Removes a fix that was undone. */
export function forget(journal: string, entry: Entry): void {
  const change = (all: Entry[]) => all.filter(other => !isSame(other, entry));
  update(journal, Entry, change, remaining => quietly(() => keepNeeded(journal, remaining)));
}

function keepNeeded(journal: string, entries: readonly Entry[]): void {
  const steps = entries.flatMap(entry => entry.steps);
  removeCopies(
    copiesOf(journal),
    steps.flatMap(step => (step.kind === 'file' ? [step.copy] : [])),
  );
}

/** The entries with this one in front. Drops others whose changes were never made: this one could make them look made. */
function withEntry(journal: string, entry: Entry, all: readonly Entry[]): Entry[] {
  const others = all.filter(other => !isSame(other, entry) && other.steps.some(step => happened(journal, step)));
  return entry.steps.length > 0 ? [entry, ...others] : others;
}

function isSame(one: Entry, other: Entry): boolean {
  return one.at === other.at && one.id === other.id;
}

function quietly(write: () => void): void {
  try {
    write();
  } catch {
    // the step then stays marked as begun, which undo handles
  }
}

function handedOverFile(journal: string): string {
  return journal.replace(/(\.json)?$/, '-administrator.json');
}

/** A damaged file counts as empty: nothing can be undone. */
function load<T>(path: string, schema: z.ZodMiniType<T>): T[] {
  try {
    return z.parse(z.array(schema), JSON.parse(readText(path) ?? '[]'));
  } catch {
    return [];
  }
}

/** Replaces the entries of a file under its lock. @param onWritten runs under the lock as well */
function update<T>(
  path: string,
  schema: z.ZodMiniType<T>,
  change: (all: T[]) => T[],
  onWritten: (entries: T[]) => void = () => {},
): void {
  assertOwn(dirname(path));
  makeDirectory(dirname(path));
  const lock = acquireLock(`${path}.lock`, LOCK_WAIT_MS);
  if ('heldBy' in lock) throw fixFailure('busy', `Process ${lock.heldBy} is applying a fix. Try again.`);
  try {
    const entries = change(load(path, schema)).slice(0, MAX_ENTRIES);
    replaceFile(path, `${JSON.stringify(entries, null, 2)}\n`, { mode: modeBelow(dirname(path)) });
    onWritten(entries);
  } finally {
    lock.release();
  }
}

/** Root's journal is as readable as its directory; a user's journal is private. */
function modeBelow(directory: string): number {
  const { uid, mode } = statSync(directory);
  return uid === 0 ? mode & 0o644 : 0o600;
}

/** Journal of root's changes that can be undone, readable by every user. */
export const REPAIR_JOURNAL = '/var/lib/culvert-repair/undo.json';

/** Exit code of root's side after an explained failure; sudo and pkexec use other codes. */
export const REPAIR_FAILED = 3;

/** The program that root runs for a repair, or null if no package installed it. */
export function repairProgram(): string | null {
  return REPAIR_PROGRAMS.find(isRoots) ?? null;
}

function isRoots(path: string): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false });
  return info?.isFile() === true && info.uid === 0 && (info.mode & 0o022) === 0;
}

/** Fixes that can be undone, of a user and of root's side, newest first. */
export function undoableByAnyone(own: readonly Undoable[], repairs: readonly Undoable[] = repairsDone()): Undoable[] {
  return [...own, ...repairs].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

/** Changes of root's side, newest first. @param journal another file in a test */
export function repairsDone(journal: string = REPAIR_JOURNAL): Undoable[] {
  return entriesOf(journal).map(({ steps: _, ...entry }) => ({ ...entry, administrator: true as const }));
}
