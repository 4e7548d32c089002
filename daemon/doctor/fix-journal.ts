// Keeps the journal of fixes that can be undone, and copies of the files that they replaced. Writes both before each change,
// so that a killed process loses nothing. Finds the repair program that packages install for root, and reads its journal.
import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { ACTION_NAMES } from '../api/actions.ts';
import type { Undoable } from '../api/doctor.ts';
import { Message } from '../api/values.ts';
import { Failure } from '../core/errors.ts';
import { assertOwn, makeDirectory, readText, replaceFile } from '../core/files.ts';
import { acquireLock } from '../core/lock.ts';
import { parseJson } from '../core/shape.ts';
import { type Copies, contentOf, digestOf, keepCopy as keepCopyIn, removeCopies } from '../core/undo.ts';
import { REPAIR_PROGRAMS } from '../view/fix.ts';

/** Failures of a fix, with the API's problem for each. */
export const FIX_FAILURES = {
  /** Only an administrator can apply the fix. */
  privileged: 'fix-needs-administrator',
  /** The file was changed after the fix. */
  changed: 'fix-failed',
  nothing: 'fix-failed',
  failed: 'fix-failed',
  /** A signal ended the command, which may have taken effect. */
  ended: 'fix-failed',
  busy: 'busy',
} as const;

export function fixFailure(code: keyof typeof FIX_FAILURES, message: string, hint?: string, cause?: unknown): Failure {
  return new Failure(message, { code, hint, cause });
}

/** Marks a change that was about to be made, and may be missing. */
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
/** One fix, with the steps that undo it, in order. */
export type Entry = z.infer<typeof Entry>;
const HandedOver = z.object({
  ...Label,
  /** Shell lines that undo the commands. */
  shell: z.array(z.string()),
  /** The file that the commands change, with the digest of its old content. */
  file: z.nullable(z.object({ path: z.string(), before: z.nullable(z.string()) })),
});
/** Commands that were printed for an administrator. */
export type HandedOver = z.infer<typeof HandedOver>;

const MAX_ENTRIES = 50;
const LOCK_WAIT_MS = 2_000;

/** Returns the fixes in effect, newest first. Omits fixes that were killed before their first change. */
export function entriesOf(journal: string): Entry[] {
  return load(journal, Entry).filter(({ steps }) => steps.some(step => happened(journal, step)));
}

/** Returns false if the file shows that a step has no change to undo. */
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

/** Returns commands that an administrator may have run, newest first, unless their file is unchanged. */
export function handedOver(journal: string): HandedOver[] {
  return load(handedOverFile(journal), HandedOver).filter(({ file }) => !file || digestOf(file.path) !== file.before);
}

/** Remembers commands that are printed for an administrator. Ignores a full disk, so they are still printed. */
export function handOver(journal: string, entry: HandedOver): void {
  const same = (other: HandedOver) => other.id === entry.id && other.shell.join() === entry.shell.join();
  quietly(() => update(handedOverFile(journal), HandedOver, all => [entry, ...all.filter(other => !same(other))]));
}

/**
 * Adds the undo step before a change is made.
 * @param undo makes the step; runs under the journal's lock, so that no other process deletes a copy that it makes
 * @throws Failure `busy`, FileError, before anything was changed
 */
export function begin(journal: string, entry: Entry, undo: () => Step): void {
  update(journal, Entry, all => {
    entry.steps.unshift({ ...undo(), begun: true });
    return withEntry(journal, entry, all);
  });
}

/** Marks the newest change as made. Undo works even if the mark can't be written. */
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

/** False if the file shows that the newest change, which failed, was not made. */
export function newestHappened(journal: string, { steps: [step] }: Entry): boolean {
  return step !== undefined && happened(journal, step);
}

/** Removes a step that was undone; with the last step, the fix. @throws Failure `busy`, FileError */
export function forgetStep(journal: string, entry: Entry, step: Step): void {
  const steps = entry.steps.filter(each => each !== step);
  const change = (all: Entry[]) => withEntry(journal, { ...entry, steps }, all);
  update(journal, Entry, change, remaining => quietly(() => keepNeeded(journal, remaining)));
  entry.steps = steps;
}

function keepNeeded(journal: string, entries: readonly Entry[]): void {
  const steps = entries.flatMap(entry => entry.steps);
  removeCopies(
    copiesOf(journal),
    steps.flatMap(step => (step.kind === 'file' ? [step.copy] : [])),
  );
}

/** Puts an entry first. Drops entries without a change that was made: the new change could make them look made. */
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
    // the step stays marked as begun, and undo handles such steps
  }
}

function handedOverFile(journal: string): string {
  return journal.replace(/(\.json)?$/, '-administrator.json');
}

/** Reads the entries of a file. A damaged file counts as empty. */
function load<T>(path: string, schema: z.ZodMiniType<T>): T[] {
  return z.safeParse(z.array(schema), parseJson(readText(path))).data ?? [];
}

/** Replaces the entries of a file under its lock. @param onWritten also runs under the lock */
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

/** Returns the mode of a journal: as readable as the directory for root, private for a user. */
function modeBelow(directory: string): number {
  const { uid, mode } = statSync(directory);
  return uid === 0 ? mode & 0o644 : 0o600;
}

/** Journal of root's changes that can be undone, readable by every user. */
export const REPAIR_JOURNAL = '/var/lib/culvert-repair/undo.json';

/** Exit code of `culvert-repair` after an explained failure; sudo and pkexec use other codes. */
export const REPAIR_FAILED = 3;

/** Returns the program that root runs for a repair, or null if no package installed it. */
export function repairProgram(): string | null {
  return REPAIR_PROGRAMS.find(isRoots) ?? null;
}

function isRoots(path: string): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false });
  return info?.isFile() === true && info.uid === 0 && (info.mode & 0o022) === 0;
}

/** Returns the user's and root's fixes that can be undone, newest first. */
export function undoableByAnyone(own: readonly Undoable[], repairs: readonly Undoable[] = repairsDone()): Undoable[] {
  return [...own, ...repairs].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

/** Returns the changes that `culvert-repair` made, newest first. @param journal another file in a test */
export function repairsDone(journal: string = REPAIR_JOURNAL): Undoable[] {
  return entriesOf(journal).map(({ steps: _, ...entry }) => ({ ...entry, administrator: true as const }));
}
