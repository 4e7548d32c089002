// Toasts over a window: what was done, and what failed with its details behind a button.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { ApiError } from '../../../../daemon/api/client.ts';
import { errorText, problemText, problemTitle } from '../../../../daemon/view/states/problems.ts';
import { _, tr } from '../../../i18n.ts';
import { ask } from '../compat.ts';

export interface Toasts {
  overlay: Adw.ToastOverlay;
  toast(text: string, undo?: () => void): void;
  showError(error: unknown): void;
}

/** A line of a toast holds about this many characters in a narrow window; longer errors get their own dialog. */
const FITS = 35;
/** Maximum lines of a longer text. The longest name of a host has 253 characters. */
const LINES = 8;
/** Pixels of a narrow window that the text of a toast can't have: margins, paddings, and the button that closes it. */
const BESIDE = 120;

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
    toast(text, undo) {
      const toast = new Adw.Toast({ title: markup(text) });
      if (text.length > FITS) toast.custom_title = wrapped(text, parent.get_width());
      if (undo) {
        toast.button_label = _('Undo');
        toast.connect('button-clicked', undo);
      }
      show(toast);
    },
    showError(error) {
      const problem = error instanceof ApiError ? error.problem : null;
      const text = problem ? problemText(problem, tr) : errorText(error, tr);
      // the short words of its code say more than that something failed
      const words = [text, problem ? problemTitle(problem, tr) : text];
      const title = words.find(each => each.length <= FITS) ?? _('That did not work');
      const detail = problem?.wording || problem?.detail === text ? null : problem?.detail;
      const toast = new Adw.Toast({ title: markup(title), timeout: 8, button_label: _('Details') });
      toast.connect('button-clicked', () => {
        void ask(parent, {
          heading: _('That did not work'),
          body: [text, detail, problem?.hint, problem?.stderr?.trim()].filter(Boolean).join('\n\n'),
          responses: [['ok', _('OK')]],
        });
      });
      show(toast);
    },
  };
}

/** A text that is too long for one line, such as the name of a host, in a window of this width. */
function wrapped(text: string, width: number): Gtk.Widget {
  const label = new Gtk.Label({
    label: text,
    xalign: 0,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    attributes: Pango.AttrList.from_string('0 -1 insert-hyphens false')!, // they would be read as a part of the name
    css_classes: ['heading'],
    lines: LINES,
    ellipsize: Pango.EllipsizeMode.END,
  });
  // a toast is as high as its text at the width that the text would like
  const letter = label.get_pango_context().get_metrics(null, null).get_approximate_char_width() / Pango.SCALE;
  label.max_width_chars = Math.floor((width - BESIDE) / letter);
  return label;
}

/** Toast titles are Pango markup. */
function markup(text: string): string {
  return GLib.markup_escape_text(text.replaceAll('\n', ' '), -1);
}
