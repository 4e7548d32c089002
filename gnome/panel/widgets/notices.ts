// Shows notices around the page of a window: toasts, a change that waits to be confirmed, and why controls can't be used.
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

/** A line of a toast holds about this many characters in a narrow window; longer errors get their own dialog. */
const FITS = 35;
/** Maximum lines of a longer text. The longest name of a host has 253 characters. */
const LINES = 8;
/** Pixels of a narrow window that the text of a toast can't use: margins, padding, and the close button. */
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
      // the short title of the code says more than "That did not work"
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
    attributes: withoutHyphens(), // a hyphen would look like a part of the name
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

/** Below this width, in pixels, the buttons are below the text. */
const WIDE = 480;

export interface ConfirmBar {
  widget: Gtk.Widget;
  /** @param width of the window, in pixels. */
  resized(width: number): void;
  /** Null hides the bar. */
  show(unconfirmed: Unconfirmed | null): void;
  /** Moves the countdown. */
  tick(): void;
}

/**
 * A bar across the window while a change waits to be confirmed: what was changed, a countdown, Keep and Revert Now.
 * @param run carries out what a button asks for, and resolves when that is done.
 */
export function createConfirmBar(run: (command: Command) => Promise<boolean>): ConfirmBar {
  const heading = label(['heading']);
  heading.label = _('Keep this change?');
  const text = label();
  const countdown = label(['caption', 'numeric']);
  // it changes each second; the description of the buttons says when the change reverts
  countdown.accessible_role = Gtk.AccessibleRole.PRESENTATION;
  const words = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, hexpand: true });
  for (const child of [heading, text, countdown]) words.append(child);
  const revert = new Gtk.Button({ valign: Gtk.Align.CENTER });
  const keep = new Gtk.Button({ valign: Gtk.Align.CENTER, css_classes: ['suggested-action'] });
  labelButton(revert, _('Revert Now'));
  labelButton(keep, _('Keep'));
  // else GTK takes two lines even where there is room for one
  for (const { child } of [revert, keep])
    if (child instanceof Gtk.Label) child.natural_wrap_mode = Gtk.NaturalWrapMode.NONE;
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

/** Time in which the note appears, in ms: most changes end within it. */
const APPEAR_MS = 400;

/**
 * Why controls of the page can't be used: a line above the page, or for a moment a note over its end, which moves nothing.
 * @param page lies below the note
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
    /** @param reason null if every control can be used, or the window already says why not */
    show(reason: Reason | null): void {
      line.show(reason && !reason.passing ? reason.text : null, null, false);
      if (reason?.passing) {
        note ??= makeNote();
        note.label.label = reason.text;
      }
      // it disappears without a transition
      if (note) note.revealer.visible = reason?.passing ?? false;
      if (note) note.revealer.reveal_child = reason?.passing ?? false;
    },
  };
}
