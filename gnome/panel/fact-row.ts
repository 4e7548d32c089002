// A row with a title and a value that can be selected, there only while the value is known.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';

export interface FactRow {
  row: Adw.ActionRow;
  /** null takes the row away. */
  show(text: string | null): void;
}

/** @param suffix stands behind the value. */
export function factRow(group: Adw.PreferencesGroup, title: string, suffix?: Gtk.Widget): FactRow {
  const value = new Gtk.Label({
    selectable: true,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
    xalign: 1,
    justify: Gtk.Justification.RIGHT,
    css_classes: ['dim-label', 'numeric'],
  });
  value.can_focus = false;
  const row = new Adw.ActionRow({ title, activatable: false, focusable: true });
  row.add_suffix(value);
  if (suffix) row.add_suffix(suffix);
  group.add(row);
  const show = (text: string | null) => {
    row.visible = text !== null;
    value.label = text ?? '';
    // the title is its name already
    row.update_property([Gtk.AccessibleProperty.DESCRIPTION], [text ?? '']);
  };
  show(null);
  return { row, show };
}
