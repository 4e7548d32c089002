// Reports the changes that can't revert while no daemon runs.
import type { Change } from '../api/schema/changes.ts';
import { listChanges } from '../changes/list-changes.ts';
import { paths } from '../system/paths.ts';
import { printable } from '../system/printable.ts';
import { changeText, subjectLabel } from '../view/states/changes.ts';
import { english } from '../view/translator.ts';

/** Pending changes on disk, of the demo as well. */
export function pendingChanges(env: NodeJS.ProcessEnv): Promise<Change[]> {
  return listChanges([paths(env), paths(env, true)]);
}

/** One line for each change that stays until the daemon runs again. */
export function stayingText(changes: readonly Change[]): string[] {
  return changes.map(change => `Reverts only when Culvert runs again: ${printable(changeText(change, english))}`);
}

/** The outcome of the changes that were pending before the daemon ended. */
export interface Outcome {
  /** Subjects whose previous value was set again. */
  reverted: Change['subject'][];
  /** Changes that stay until the daemon runs again. */
  pending: Change[];
}

export async function outcomeOf(before: readonly Change[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const pending = await pendingChanges(env);
  const remaining = new Set(pending.map(({ subject }) => subject));
  const reverted = before.filter(({ confirmBy, subject }) => confirmBy !== null && !remaining.has(subject));
  return { reverted: reverted.map(({ subject }) => subject), pending };
}

/** The outcome in lines for people. */
export function outcomeText({ reverted, pending }: Outcome): string[] {
  const labels = reverted.map(subject => subjectLabel(subject, english));
  const lines = labels.length ? [`Reverted, because it was not confirmed: ${labels.join(', ')}`] : [];
  return [...lines, ...stayingText(pending)];
}
