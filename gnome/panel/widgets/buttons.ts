// Creates buttons with wrapping labels, buttons that copy text, and boxes with terminal commands.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { fill } from '../../../daemon/view/translator.ts';
import { _ } from '../../i18n.ts';
import { setName, within } from './accessible.ts';

/** Creates a check button with a label that wraps. */
export function checkButton(label: string): Gtk.CheckButton {
  const button = new Gtk.CheckButton({ label });
  for (const child of within(button)) if (child instanceof Gtk.Label) child.wrap = true;
  return button;
}

export function labelButton(button: Gtk.Button, label: string): void {
  // if the same label were set again, GTK would replace the button's name with the label
  if (button.label === label) return;
  button.label = label;
  if (button.child instanceof Gtk.Label) Object.assign(button.child, { wrap: true, justify: Gtk.Justification.CENTER });
  setName(button, label);
}

/** Returns attributes that prevent hyphenation, for text with names and addresses. */
export function withoutHyphens(): Pango.AttrList {
  return Pango.AttrList.from_string('0 -1 insert-hyphens false')!;
}

/** @param widget any widget on the clipboard's display. */
export function copyText(widget: Gtk.Widget, text: string): void {
  const value = new GObject.Value();
  value.init(GObject.TYPE_STRING);
  value.set_string(text);
  widget.get_clipboard().set_content(Gdk.ContentProvider.new_for_value(value));
}

/**
 * Creates a button that copies text.
 * @param name name of the button, for screen readers.
 * @param text returns the text to copy.
 * @param copied called after a copy.
 */
export function copyButton(name: string, text: () => string, copied: () => void): Gtk.Button {
  const button = new Gtk.Button({
    icon_name: 'edit-copy-symbolic',
    tooltip_text: _('Copy'),
    valign: Gtk.Align.CENTER,
    css_classes: ['flat'],
  });
  setName(button, name);
  button.connect('clicked', () => {
    copyText(button, text());
    copied();
  });
  return button;
}

/**
 * Shows a terminal command with a button that copies the command.
 * @param purpose text above the command.
 * @param copied called after a copy.
 */
export function commandBox(purpose: string, command: string, copied: () => void): Gtk.Widget {
  const label = new Gtk.Label({
    label: command,
    selectable: true,
    wrap: true,
    xalign: 0,
    hexpand: true,
    css_classes: ['monospace'],
  });
  const line = new Gtk.Box({ spacing: 6, css_classes: ['card', 'culvert-command'] });
  line.append(label);
  line.append(copyButton(fill(_('Copy “%s”'), command), () => command, copied));
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  box.append(new Gtk.Label({ label: purpose, xalign: 0, wrap: true, css_classes: ['dim-label'] }));
  box.append(line);
  return box;
}
