// Reports the changes that can't revert while no daemon runs.
import { existsSync } from 'node:fs';
import type { Change } from '../api/changes.ts';
import { printable } from '../core/printable.ts';
import { type Paths, paths } from '../system/paths.ts';
import { changeText, subjectLabel } from '../view/states/changes.ts';
import { english } from '../view/translator.ts';

/** A change on disk. */
export interface PendingChange extends Change {
  /** A change of the demo, which changes nothing on this machine. */
  demo?: true;
}

/** Pending changes on disk, of the demo as well. */
export async function pendingChanges(env: NodeJS.ProcessEnv): Promise<PendingChange[]> {
  const [own, ofDemo] = await Promise.all([listChanges(paths(env)), listChanges(paths(env, true))]);
  return [...own, ...ofDemo.map(change => ({ ...change, demo: true as const }))];
}

/** Changes of the file, if it exists; those of a file that can't be read are left to the next daemon's report. */
async function listChanges({ changes }: Paths): Promise<Change[]> {
  if (!existsSync(changes)) return [];
  const { readChanges, describeChange, readClock } = await import('../changes/changes-file.ts');
  const now = readClock();
  return readChanges(changes).pending.map(entry => describeChange(entry, now));
}

/**
 * One line for each change that the end of the daemon left in place.
 * @param isPurged the records of the changes are removed as well
 */
export function stayingText(changes: readonly PendingChange[], isPurged = false): string[] {
  return changes.map(change => {
    const text = printable(changeText(change, english));
    if (isPurged) return `${change.demo ? 'Demo: n' : 'N'}ot reverted, and --purge removes its record: ${text}`;
    return `${change.demo ? 'Demo: reverts only when the demo' : 'Reverts only when Culvert'} runs again: ${text}`;
  });
}

/** The outcome of the changes that were pending before the daemon ended. */
interface Outcome {
  /** Subjects whose previous value was restored. */
  reverted: Change['subject'][];
  /** Changes that stay until the daemon runs again. */
  pending: PendingChange[];
}

export async function outcomeOf(before: readonly PendingChange[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const pending = await pendingChanges(env);
  const remains = (change: PendingChange) =>
    pending.some(({ subject, demo }) => subject === change.subject && demo === change.demo);
  const reverted = before.filter(change => change.confirmBy !== null && !remains(change));
  return { reverted: reverted.map(({ subject }) => subject), pending };
}

/** The outcome in lines for people. */
export function outcomeText({ reverted, pending }: Outcome, isPurged = false): string[] {
  return [...revertedText(reverted), ...stayingText(pending, isPurged)];
}

/** The outcome if another daemon runs now. */
export function restartText({ reverted, pending }: Outcome): string[] {
  const lines = pending.map(({ demo, ...change }) => {
    return `${demo ? 'Demo: still' : 'Still'} pending: ${printable(changeText(change, english))}`;
  });
  return [...revertedText(reverted), ...lines];
}

function revertedText(reverted: Outcome['reverted']): string[] {
  const labels = reverted.map(subject => subjectLabel(subject, english));
  return labels.length ? [`Reverted, because it was not confirmed: ${labels.join(', ')}`] : [];
}
