// Shows notices around a window's page: toasts, an unconfirmed change, and the reason why controls can't be used.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { ApiError } from '../../../daemon/api/client.ts';
import type { Command } from '../../../daemon/view/form.ts';
import type { Reason } from '../../../daemon/view/forms/availability.ts';
import { countdownText, type Unconfirmed } from '../../../daemon/view/states/changes.ts';
import { errorText, problemText, problemTitle } from '../../../daemon/view/states/problems.ts';
import { _, tr } from '../../i18n.ts';
import { setDescription } from './accessible.ts';
import { labelButton, withoutHyphens } from './buttons.ts';
import { announce, ask, createBanner } from './compat.ts';

export interface Toasts {
  overlay: Adw.ToastOverlay;
  toast(text: string, undo?: () => void): void;
  showError(error: unknown): void;
}

/** Number of characters that fit a toast's line in a narrow window; "Details" shows longer errors in a dialog. */
const FITS = 35;
/** Time that a toast offers its undo, as in the browser page. */
const UNDO_SECONDS = 15;
/** Maximum number of lines of a longer text. The longest host name has 253 characters. */
const LINES = 8;
/** Pixels of a narrow window that the text of a toast can't use: margins, padding, and the close button. */
const BESIDE = 120;
/** Pixels of a toast's button besides its label. */
const AROUND = 48;

/** @param parent parent window of the dialog with the details. */
export function createToasts(parent: Gtk.Window): Toasts {
  const overlay = new Adw.ToastOverlay();
  let last: Adw.Toast | null = null;
  // toasts queue, but only the newest result matters
  const show = (toast: Adw.Toast) => {
    last?.dismiss();
    last = toast;
    overlay.add_toast(toast);
  };
  return {
    overlay,
    toast(text, undo) {
      const toast = new Adw.Toast({ title: markup(text), timeout: undo ? UNDO_SECONDS : 5 });
      if (text.length > FITS) toast.custom_title = wrapped(text, parent.get_width(), undo ? _('Undo') : null);
      if (undo) {
        toast.button_label = _('Undo');
        toast.connect('button-clicked', undo);
      }
      show(toast);
    },
    showError(error) {
      const problem = error instanceof ApiError ? error.problem : null;
      const text = problem ? problemText(problem, tr) : errorText(error, tr);
      const words = [text, problem ? problemTitle(problem, tr) : text];
      const title = words.find(each => each.length <= FITS) ?? text;
      const detail = problem?.wording || problem?.detail === text ? null : problem?.detail;
      const toast = new Adw.Toast({ title: markup(title), timeout: 8, button_label: _('Details') });
      if (title.length > FITS) toast.custom_title = wrapped(title, parent.get_width(), _('Details'));
      toast.connect('button-clicked', () => {
        void ask(parent, {
          heading: _('Details'),
          body: [text, detail, problem?.hint, problem?.stderr?.trim()].filter(Boolean).join('\n\n'),
          responses: [['ok', _('OK')]],
        });
      });
      show(toast);
    },
  };
}

/** Creates a label for text that is too long for one line, such as a host name. @param width width of the window */
function wrapped(text: string, width: number, button: string | null): Gtk.Widget {
  const label = new Gtk.Label({
    label: text,
    xalign: 0,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    attributes: withoutHyphens(), // a hyphen would look like a part of the name
    css_classes: ['heading'],
    lines: LINES,
    ellipsize: Pango.EllipsizeMode.END,
  });
  // the height of a toast is that of its text at the text's natural width
  const letter = label.get_pango_context().get_metrics(null, null).get_approximate_char_width() / Pango.SCALE;
  const taken = button === null ? 0 : label.create_pango_layout(button).get_pixel_size()[0]! + AROUND;
  label.max_width_chars = Math.floor((width - BESIDE - taken) / letter);
  return label;
}

/** Escapes a toast's title, which is Pango markup. */
function markup(text: string): string {
  return GLib.markup_escape_text(text.replaceAll('\n', ' '), -1);
}

/** Minimum width for buttons next to the text, in pixels; in a narrower window, they are below it. */
const WIDE = 480;

export interface ConfirmBar {
  widget: Gtk.Widget;
  /** @param width width of the window, in pixels. */
  resized(width: number): void;
  /** Null hides the bar. */
  show(unconfirmed: Unconfirmed | null): void;
  /** Updates the countdown. */
  tick(): void;
}

/**
 * Creates a bar that shows an unconfirmed change, with a countdown and the buttons Keep and Revert Now.
 * @param run carries out a button's command, and resolves when the command is done.
 */
export function createConfirmBar(run: (command: Command) => Promise<boolean>): ConfirmBar {
  const heading = label(['heading']);
  heading.label = _('Keep this change?');
  const text = label();
  const countdown = label(['caption', 'numeric']);
  // the countdown changes each second; the buttons' description says when the change reverts
  countdown.accessible_role = Gtk.AccessibleRole.PRESENTATION;
  const words = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, hexpand: true });
  for (const child of [heading, text, countdown]) words.append(child);
  const revert = new Gtk.Button({ valign: Gtk.Align.CENTER });
  const keep = new Gtk.Button({ valign: Gtk.Align.CENTER, css_classes: ['suggested-action'] });
  labelButton(revert, _('Revert Now'));
  labelButton(keep, _('Keep'));
  const buttons = new Gtk.Box({ spacing: 6, halign: Gtk.Align.END });
  for (const button of [revert, keep]) buttons.append(button);
  const box = new Gtk.Box({ spacing: 12, css_classes: ['culvert-banner'] });
  for (const child of [words, buttons]) box.append(child);
  const revealer = new Gtk.Revealer({ child: box, visible: false, css_classes: ['caution'] });
  let shown: Unconfirmed | null = null;

  const answer = async (what: 'keep' | 'revert') => {
    if (!shown) return;
    for (const button of [keep, revert]) button.sensitive = false;
    await run(shown[what]);
    for (const button of [keep, revert]) button.sensitive = true;
  };
  keep.connect('clicked', () => void answer('keep'));
  revert.connect('clicked', () => void answer('revert'));

  const tick = () => {
    if (shown) countdown.label = countdownText(shown, Date.now(), tr);
  };
  return {
    widget: revealer,
    resized(width) {
      box.orientation = width < WIDE ? Gtk.Orientation.VERTICAL : Gtk.Orientation.HORIZONTAL;
    },
    show(unconfirmed) {
      const fresh = unconfirmed && unconfirmed.text !== shown?.text;
      shown = unconfirmed;
      revealer.visible = unconfirmed !== null;
      revealer.reveal_child = unconfirmed !== null;
      if (!unconfirmed) return;
      text.label = unconfirmed.text;
      tick();
      if (!fresh) return;
      for (const button of [keep, revert]) setDescription(button, `${unconfirmed.text}. ${countdown.label}`);
      announce(box, `${heading.label} ${unconfirmed.text}. ${countdown.label}`);
    },
    tick,
  };
}

function label(css_classes: string[] = []): Gtk.Label {
  return new Gtk.Label({ xalign: 0, wrap: true, css_classes });
}

/** Duration of the note's appearance, in ms; most changes end earlier. */
const APPEAR_MS = 400;

/**
 * Shows why the page's controls can't be used: in a line above the page or, for a short time, in a note over its end, which
 * moves nothing. @param page widget under the note
 */
export function createReason(page: Gtk.Widget) {
  const line = createBanner();
  const over = new Gtk.Overlay({ child: page });
  let note: { revealer: Gtk.Revealer; label: Gtk.Label } | null = null;
  const makeNote = () => {
    const label = new Gtk.Label({ wrap: true, css_classes: ['osd', 'culvert-note'] });
    const revealer = new Gtk.Revealer({
      child: label,
      transition_type: Gtk.RevealerTransitionType.CROSSFADE,
      transition_duration: APPEAR_MS,
      halign: Gtk.Align.CENTER,
      valign: Gtk.Align.END,
      can_target: false,
    });
    over.add_overlay(revealer);
    return { revealer, label };
  };
  return {
    line: line.widget,
    over,
    /** @param reason null if every control can be used, or if the window already shows the reason */
    show(reason: Reason | null): void {
      line.show(reason && !reason.passing ? reason.text : null, null, false);
      if (reason?.passing) {
        note ??= makeNote();
        note.label.label = reason.text;
      }
      // the note disappears without a transition
      if (note) note.revealer.visible = reason?.passing ?? false;
      if (note) note.revealer.reveal_child = reason?.passing ?? false;
    },
  };
}
