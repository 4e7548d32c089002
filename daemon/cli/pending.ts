// Reports the changes that can't revert while no daemon runs.
import { existsSync } from 'node:fs';
import type { Change } from '../api/changes.ts';
import { printable } from '../core/printable.ts';
import { type Paths, paths } from '../system/paths.ts';
import { changeText, subjectLabel } from '../view/states/changes.ts';
import { english } from '../view/translator.ts';

/** A pending change, as stored on disk. */
export interface PendingChange extends Change {
  /** True for a change of the demo, without effect on this machine. */
  demo?: true;
}

/** Returns the pending changes on disk, including the demo's. */
export async function pendingChanges(env: NodeJS.ProcessEnv): Promise<PendingChange[]> {
  const [own, ofDemo] = await Promise.all([listChanges(paths(env)), listChanges(paths(env, true))]);
  return [...own, ...ofDemo.map(change => ({ ...change, demo: true as const }))];
}

/** Returns the changes of the file, if it exists. The next daemon reports a file that can't be read. */
async function listChanges({ changes }: Paths): Promise<Change[]> {
  if (!existsSync(changes)) return [];
  const { readChanges, describeChange, readClock } = await import('../changes/changes-file.ts');
  const now = readClock();
  return readChanges(changes).pending.map(entry => describeChange(entry, now));
}

/**
 * Returns one line for each change that remains after the daemon ended.
 * @param isPurged true if the records of the changes are removed too
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
  /** Subjects with a restored previous value. */
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

/** Returns the outcome in lines for people. */
export function outcomeText({ reverted, pending }: Outcome, isPurged = false): string[] {
  return [...revertedText(reverted), ...stayingText(pending, isPurged)];
}

/** Returns the outcome in lines for people, if another daemon runs. */
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
