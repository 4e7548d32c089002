// Shows the state whose end comes next: the ring around the icon, its end in words, the time left, and what changes the end.
import Gtk from 'gi://Gtk?version=4.0';
import type { Command } from '../../../daemon/view/form.ts';
import type { Span } from '../../../daemon/view/states/changes.ts';
import { type Countdown, describeCountdown, timeLeftText } from '../../../daemon/view/states/timed.ts';
import type { View } from '../../../daemon/view/view.ts';
import { tr } from '../../i18n.ts';
import { setDescription } from '../widgets/accessible.ts';
import { labelButton } from '../widgets/buttons.ts';
import { Ring } from '../widgets/graph.ts';

/** @param toggle takes the focus over from a button that goes away, and ends a pause itself. */
export function createCountdown(toggle: Gtk.Widget, run: (command: Command) => void) {
  const ring = new Ring();
  const text = new Gtk.Label({
    wrap: true,
    natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
    justify: Gtk.Justification.CENTER,
  });
  // it changes each second, and says nothing that the text does not
  const left = new Gtk.Label({
    css_classes: ['dim-label', 'numeric'],
    accessible_role: Gtk.AccessibleRole.PRESENTATION,
  });
  const words = new Gtk.Box({ spacing: 12, halign: Gtk.Align.CENTER, visible: false });
  words.append(text);
  words.append(left);
  const end = new Gtk.Button();
  const extend = new Gtk.Button();
  const buttons = new Gtk.Box({ spacing: 12, halign: Gtk.Align.CENTER, margin_top: 6, visible: false });
  for (const button of [end, extend]) buttons.append(button);
  let shown: Countdown | null = null;
  let span: Span | null = null;
  end.connect('clicked', () => shown && run(shown.end.command));
  extend.connect('clicked', () => shown?.extend && run(shown.extend.command));

  const tick = () => {
    const now = Date.now();
    ring.plot(span, now);
    if (shown) left.label = timeLeftText(shown.span, now, tr);
  };
  return {
    ring,
    words,
    buttons,
    tick,
    /** Shows the next end, or that of an unconfirmed change, whose words are in the bar of the window. */
    show({ client, unconfirmed }: View): Countdown | null {
      shown = describeCountdown(client, tr);
      span = shown?.span ?? unconfirmed;
      if (!shown && (buttons.root as Gtk.Window | null)?.get_focus()?.is_ancestor(buttons)) toggle.grab_focus();
      for (const box of [words, buttons]) box.visible = shown !== null;
      if (shown) {
        text.label = shown.isSaid ? '' : shown.text;
        text.visible = !shown.isSaid;
        end.visible = !shown.pause;
        labelButton(end, shown.end.label);
        setDescription(end, shown.text);
        extend.visible = shown.extend !== null;
        labelButton(extend, shown.extend?.label ?? '');
        setDescription(extend, shown.text);
      }
      tick();
      return shown;
    },
  };
}
