// Follows the rights of this device, and says which commands need more than the right to read.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Model } from '../../view/client/model.ts';
import type { Ask, ClientTask } from '../../view/form.ts';

const CHANGES: ReadonlySet<Ask['kind']> = new Set([
  'action',
  'kill-switch',
  'config',
  'proof',
  'fix',
  'undo-fix',
  'acknowledge',
  'change',
  'extend',
  'tool-accounts',
  'networks',
  'restart',
]);
const CHANGING_TASKS: readonly ClientTask[] = ['apply-update', 'roll-back', 'apply-settings', 'undo-settings'];

/** True for a request that changes something, which a device that was paired to read only may not do. */
export function isChange(ask: Ask): boolean {
  if (ask.kind === 'work') return ask.changes;
  return CHANGES.has(ask.kind) || (ask.kind === 'client' && CHANGING_TASKS.includes(ask.task));
}

/** True while this device may only read; read again whenever a stream begins. On the daemon's machine everything is allowed. */
export function followRights(model: Model): ReadonlySignal<boolean> {
  const readOnly = signal(false);
  const read = async () => {
    try {
      readOnly.value = (await model.call('GET /api/session')).rights === 'read';
    } catch {
      // the stream reports that the daemon is gone
    }
  };
  model.onEvent(({ event, data }) => {
    if (event === 'snapshot' && data.remoteAccess) void read();
  });
  return readOnly;
}
