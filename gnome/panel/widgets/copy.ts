// Copying text to the clipboard.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _ } from '../../i18n.ts';
import { setName } from './a11y/accessible.ts';

/** @param widget any, of the display whose clipboard is meant. */
export function copyText(widget: Gtk.Widget, text: string): void {
  const value = new GObject.Value();
  value.init(GObject.TYPE_STRING);
  value.set_string(text);
  widget.get_clipboard().set_content(Gdk.ContentProvider.new_for_value(value));
}

/**
 * @param name for screen readers: what is copied.
 * @param text what goes to the clipboard.
 * @param copied is called afterwards.
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
