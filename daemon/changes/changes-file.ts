// Keeps the file of pending changes, written before each change so that the previous value survives a kill.
import { existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import type { Change } from '../api/changes.ts';
import { errno, FileError, reason } from '../core/errors.ts';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import type { Paths } from '../system/paths.ts';
import { textOf, Value } from './values.ts';

const Deadline = z.object({
  bootId: z.string(),
  /** Uptime since the boot `bootId`. */
  uptimeMs: z.number(),
  /** The same time for users, and for use after a reboot. */
  at: z.iso.datetime(),
});
type Deadline = z.infer<typeof Deadline>;

const Pending = z.object({
  /** The value to restore. */
  previous: Value,
  /** The new value, in readable form. */
  value: z.nullable(z.string()),
  setAt: z.iso.datetime(),
  /** True for an unfinished change. If the daemon finds such a change at its start, it reverts the change. */
  making: z.boolean(),
  confirmBy: z.nullable(Deadline),
  endsAt: z.nullable(Deadline),
});
export type Pending = z.infer<typeof Pending>;

const File = z.object({ version: z.literal(1), pending: z.array(Pending) });

/** Reads the file without changing it. A missing file means no changes. @returns `problem` if it can't be read */
export function readChanges(path: string): { pending: Pending[]; problem: string | null } {
  if (!existsSync(path)) return { pending: [], problem: null };
  try {
    // reading a pipe would block
    if (!statSync(path).isFile()) return { pending: [], problem: 'It is not a file' };
    return { pending: z.parse(File, JSON.parse(readFileSync(path, 'utf8'))).pending, problem: null };
  } catch (error) {
    const problem = errno(error) ? reason(error) : 'It is damaged, or another version of Culvert wrote it';
    return { pending: [], problem };
  }
}

/**
 * Reads the file at the daemon's start. Renames an unreadable file to `….broken`; it keeps that name until the user
 * acknowledges the loss of its changes.
 * @param say called with a message about a broken file
 * @returns `lost`: the broken file, or null
 */
export function openChanges(
  { changes, brokenChanges }: Pick<Paths, 'changes' | 'brokenChanges'>,
  say: (line: string) => void,
): { pending: Pending[]; lost: string | null } {
  const { pending, problem } = readChanges(changes);
  if (problem === null) return { pending, lost: existsSync(brokenChanges) ? brokenChanges : null };
  let lost = brokenChanges;
  let whereabouts = `The file is kept as ${brokenChanges}.`;
  try {
    renameSync(changes, brokenChanges);
  } catch (error) {
    lost = changes;
    whereabouts = `It could not be renamed either: ${reason(error)}.`;
  }
  say(
    `${changes} can't be read: ${problem}. ${whereabouts} Changes that were to be reverted stay: check mode and connection.`,
  );
  return { pending, lost };
}

/** Renames a broken file, so that the next start does not report it again. If renaming fails, the next start reports it. */
export function acknowledgeBroken({ changes, brokenChanges }: Pick<Paths, 'changes' | 'brokenChanges'>): void {
  try {
    renameSync(brokenChanges, `${changes}.acknowledged`);
  } catch {
    // the file is missing, or the directory is read-only
  }
}

/** Replaces the file, or removes it when nothing is pending. @throws FileError */
export function saveChanges(path: string, pending: readonly Pending[]): void {
  if (pending.length === 0) {
    try {
      rmSync(path, { force: true });
    } catch (error) {
      throw new FileError(path, error);
    }
    return;
  }
  makeDirectory(dirname(path));
  replaceFile(path, `${JSON.stringify({ version: 1, pending })}\n`);
}

/** Time before a change ends at which clients remind the user, in milliseconds. */
export const SOON_MS = 60_000;

/** Reason why a value could not be restored, as in `Change`. */
export type Failure = Pick<Change, 'problem' | 'problemCode' | 'wording'>;

export function describeChange(entry: Pending, now: Clock, failure: Failure = { problem: null }): Change {
  const { previous, value, setAt, confirmBy, endsAt } = entry;
  return {
    subject: previous.subject,
    value,
    previous: textOf(previous),
    setAt,
    confirmBy: confirmBy?.at ?? null,
    endsAt: endsAt?.at ?? null,
    endingSoon: endsAt !== null && remainingMs(endsAt, now) <= SOON_MS,
    ...failure,
  };
}

/** A clock that allows for a daemon restart, a suspended machine, a reboot and a time correction. */
export interface Clock {
  /** Content of /proc/sys/kernel/random/boot_id. */
  bootId: string;
  /** Time since boot, including suspended time (CLOCK_BOOTTIME). */
  uptimeMs: number;
  /** Time since the epoch. */
  wallMs: number;
}

export function readClock(): Clock {
  const uptime = Number(readText('/proc/uptime')?.split(' ')[0]);
  return {
    bootId: readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '',
    // without /proc, uses the process's own clock, which stops while the machine sleeps
    uptimeMs: Number.isFinite(uptime) ? uptime * 1000 : performance.timeOrigin + performance.now(),
    wallMs: Date.now(),
  };
}

export function deadlineIn(seconds: number, { bootId, uptimeMs, wallMs }: Clock): Deadline {
  return { bootId, uptimeMs: uptimeMs + seconds * 1000, at: new Date(wallMs + seconds * 1000).toISOString() };
}

/**
 * Returns the milliseconds until a deadline, negative once it has passed. A clock correction only matters after a reboot.
 */
export function remainingMs({ bootId, uptimeMs, at }: Deadline, clock: Clock): number {
  return bootId === clock.bootId ? uptimeMs - clock.uptimeMs : Date.parse(at) - clock.wallMs;
}
