// Lines as they are: the difference of a file, commands, a report.
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';

/** A label that keeps its lines, can be selected, and wraps rather than being cut. */
export function preformatted(label = ''): Gtk.Label {
  const text = new Gtk.Label({
    label,
    xalign: 0,
    selectable: true,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    css_classes: ['monospace', 'caption'],
  });
  // commands and differences run from left to right in every language
  text.set_direction(Gtk.TextDirection.LTR);
  return text;
}
