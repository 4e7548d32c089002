// Holds the page's toasts, and its one dialog.
import { signal } from '@preact/signals';
import type { DialogContent, Messages, OpenDialog, Toast } from './app.ts';

export function createMessages(): Messages {
  const toasts = signal<readonly Toast[]>([]);
  const dialog = signal<OpenDialog | null>(null);
  let nextId = 1;
  function askFor(content: DialogContent): Promise<string[] | null> {
    dialog.value?.answer(null);
    return new Promise(resolve => {
      const answer = (secrets: string[] | null) => {
        dialog.value = null;
        resolve(secrets);
      };
      dialog.value = { content, answer };
    });
  }
  return {
    toasts,
    dialog,
    toast(text, { error = false, undo } = {}) {
      toasts.value = [...toasts.value.slice(-2), { id: nextId++, text, error, undo: undo ?? null }];
    },
    dismiss(id) {
      toasts.value = toasts.value.filter(toast => toast.id !== id);
    },
    ask: async content => (await askFor(content)) !== null,
    askFor,
  };
}
