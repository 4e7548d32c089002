// A command for a terminal, with a button that copies it.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _ } from '../i18n.ts';
import { fill } from '../words.ts';

/**
 * @param purpose what the command is for.
 * @param copied is called after it was put on the clipboard.
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
  const name = fill(_('Copy “%s”'), command);
  const button = new Gtk.Button({
    icon_name: 'edit-copy-symbolic',
    tooltip_text: _('Copy'),
    valign: Gtk.Align.CENTER,
    css_classes: ['flat'],
  });
  button.update_property([Gtk.AccessibleProperty.LABEL], [name]);
  button.connect('clicked', () => {
    const value = new GObject.Value();
    value.init(GObject.TYPE_STRING);
    value.set_string(command);
    button.get_clipboard().set_content(Gdk.ContentProvider.new_for_value(value));
    copied();
  });
  const line = new Gtk.Box({ spacing: 6, css_classes: ['card', 'culvert-command'] });
  line.append(label);
  line.append(button);
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  box.append(new Gtk.Label({ label: purpose, xalign: 0, wrap: true, css_classes: ['dim-label'] }));
  box.append(line);
  return box;
}
