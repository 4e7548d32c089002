// Shows why controls of the page can't be used: a line above it, or for a moment a note over its end, which moves nothing.
import Gtk from 'gi://Gtk?version=4.0';
import type { Reason } from '../../../daemon/view/forms/availability.ts';
import { createBanner } from '../widgets/compat.ts';

/** Time in which the note appears, in ms: most changes end within it. */
const APPEAR_MS = 400;

/** @param page lies below the note */
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
    /** @param reason null if each control can be used, or something else says why not */
    show(reason: Reason | null): void {
      line.show(reason && !reason.passing ? reason.text : null, null, false);
      if (reason?.passing) {
        note ??= makeNote();
        note.label.label = reason.text;
      }
      // one that goes stays for no moment
      if (note) note.revealer.visible = reason?.passing ?? false;
      if (note) note.revealer.reveal_child = reason?.passing ?? false;
    },
  };
}
