// Toasts over a window: what was done, and what failed with its details behind a button.
import Adw from 'gi://Adw?version=1';
import type Gtk from 'gi://Gtk?version=4.0';
import { ApiError } from '../../daemon/api/client.ts';
import { _ } from '../i18n.ts';
import { ask } from './compat.ts';

export interface Toasts {
  overlay: Adw.ToastOverlay;
  say(text: string): void;
  complain(error: unknown): void;
}

/** @param parent of the dialog with the details. */
export function createToasts(parent: Gtk.Window): Toasts {
  const overlay = new Adw.ToastOverlay();
  let last: Adw.Toast | null = null;
  // toasts queue, and the newest result is the one that matters
  const show = (toast: Adw.Toast) => {
    last?.dismiss();
    last = toast;
    overlay.add_toast(toast);
  };
  return {
    overlay,
    say: text => show(new Adw.Toast({ title: markup(text) })),
    complain(error) {
      const problem = error instanceof ApiError ? error.problem : null;
      const title = problem?.detail ?? (error instanceof Error ? error.message : String(error));
      const toast = new Adw.Toast({ title: markup(title), timeout: 8, button_label: _('Details') });
      toast.connect('button-clicked', () => {
        void ask(parent, {
          heading: problem?.title ?? _('That did not work'),
          body: [title, problem?.hint, problem?.stderr?.trim()].filter(Boolean).join('\n\n'),
          responses: [['ok', _('OK')]],
        });
      });
      show(toast);
    },
  };
}

/** Toast titles are Pango markup. */
function markup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
