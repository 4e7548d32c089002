// Disables what a device that was paired for reading only may not ask for.
import type { Ask, ClientTask } from '../../view/forms/form.ts';

const CHANGES: ReadonlySet<Ask['kind']> = new Set([
  'action',
  'kill-switch',
  'config',
  'fix',
  'undo-fix',
  'change',
  'extend',
  'tool-accounts',
]);
const CHANGING_TASKS: readonly ClientTask[] = ['apply-update', 'roll-back', 'apply-settings', 'undo-settings'];

/** Whether a request changes something, which a device that was paired to read only may not do. */
export function isChange(ask: Ask): boolean {
  if (ask.kind === 'work') return ask.changes;
  return CHANGES.has(ask.kind) || (ask.kind === 'client' && CHANGING_TASKS.includes(ask.task));
}
