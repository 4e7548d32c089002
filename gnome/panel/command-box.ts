// A command for a terminal, with a button that copies it.
import Gtk from 'gi://Gtk?version=4.0';
import { _ } from '../i18n.ts';
import { fill } from '../words.ts';
import { copyButton } from './copy.ts';

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
  const line = new Gtk.Box({ spacing: 6, css_classes: ['card', 'culvert-command'] });
  line.append(label);
  line.append(copyButton(fill(_('Copy “%s”'), command), () => command, copied));
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  box.append(new Gtk.Label({ label: purpose, xalign: 0, wrap: true, css_classes: ['dim-label'] }));
  box.append(line);
  return box;
}
