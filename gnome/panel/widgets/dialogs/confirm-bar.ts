// Provides a bar across the window while a change waits to be confirmed: what was changed, a countdown, Keep and Revert Now.
import Gtk from 'gi://Gtk?version=4.0';
import type { Command } from '../../../../daemon/view/form.ts';
import { countdownText, type Unconfirmed } from '../../../../daemon/view/states/changes.ts';
import { _, tr } from '../../../i18n.ts';
import { setDescription } from '../a11y/accessible.ts';
import { announce } from '../compat.ts';
import { labelButton } from '../labels.ts';

/** Below this width, in pixels, the buttons are below the text. */
const WIDE = 480;

export interface ConfirmBar {
  widget: Gtk.Widget;
  /** @param width of the window, in pixels. */
  resized(width: number): void;
  /** null takes the bar away. */
  show(unconfirmed: Unconfirmed | null): void;
  /** Moves the countdown. */
  tick(): void;
}

/** @param run carries out what a button asks for, and resolves when that is done. */
export function createConfirmBar(run: (command: Command) => Promise<boolean>): ConfirmBar {
  const heading = label(['heading']);
  heading.label = _('Keep this change?');
  const text = label();
  const countdown = label(['caption', 'numeric']);
  // it changes each second; the buttons' description says when the change reverts
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

  const ask = async (what: 'keep' | 'revert') => {
    if (!shown) return;
    for (const button of [keep, revert]) button.sensitive = false;
    await run(shown[what]);
    for (const button of [keep, revert]) button.sensitive = true;
  };
  keep.connect('clicked', () => void ask('keep'));
  revert.connect('clicked', () => void ask('revert'));

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
