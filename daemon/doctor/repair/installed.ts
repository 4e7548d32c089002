// Finds the repair program that packages install for root, and lists its changes.
import { lstatSync } from 'node:fs';
import type { Undoable } from '../../api/doctor.ts';
import { REPAIR_PROGRAMS } from '../../view/fix.ts';
import { entriesOf } from '../fix-journal.ts';

/** Journal of root's changes that can be undone, readable by every user. */
export const REPAIR_JOURNAL = '/var/lib/culvert-repair/undo.json';

/** Exit code of root's side where it says why; sudo and pkexec end with others. */
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
