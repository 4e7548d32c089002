// Wraps labels of buttons, which must not make a narrow window wider, and keeps hyphens out of names and addresses.
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { setName, within } from './a11y/accessible.ts';

/** A check button whose words wrap. */
export function checkButton(label: string): Gtk.CheckButton {
  const button = new Gtk.CheckButton({ label });
  for (const child of within(button)) if (child instanceof Gtk.Label) child.wrap = true;
  return button;
}

export function labelButton(button: Gtk.Button, label: string): void {
  // else GTK names the button by it again, in place of its name
  if (button.label === label) return;
  button.label = label;
  if (button.child instanceof Gtk.Label) Object.assign(button.child, { wrap: true, justify: Gtk.Justification.CENTER });
  setName(button, label);
}

/** Attributes of a text that may hold names and addresses. */
export function withoutHyphens(): Pango.AttrList {
  return Pango.AttrList.from_string('0 -1 insert-hyphens false')!;
}
