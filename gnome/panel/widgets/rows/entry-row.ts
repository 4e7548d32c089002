// Provides the row of a text field with its button, which checks the text while it is typed.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import { setDescription, setName } from '../a11y/accessible.ts';
import type { RowHost, RowOf, RowWidget } from './row-widget.ts';

export function entryRow(first: RowOf<'entry'>, host: RowHost): RowWidget<'entry'> {
  const title = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] });
  const entry = first.secret ? new Gtk.PasswordEntry({ show_peek_icon: true }) : new Gtk.Entry();
  entry.hexpand = true;
  // it gives way to its button in large letters, where GTK keeps 150 pixels
  entry.width_chars = 6;
  const button = new Gtk.Button({ sensitive: false });
  const wrong = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['caption', 'error'] });
  const line = new Gtk.Box({ spacing: 6 });
  line.append(entry);
  line.append(button);
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-entry'] });
  for (const child of [title, line, wrong]) box.append(child);
  const widget = new Adw.PreferencesRow({ child: box, activatable: false, focusable: false });
  widget.use_markup = false;
  let now = first;
  const text = () => entry.text.trim();
  const check = () => {
    const problem = now.check(text());
    wrong.label = problem ?? '';
    wrong.visible = problem !== null;
    setDescription(entry, problem ?? '');
    button.sensitive = (now.sensitive ?? true) && text() !== '' && problem === null;
  };
  const submit = async () => {
    const given = text();
    if (!button.sensitive || !(await host.run(now.command(given)))) return;
    // newer text stays
    if (text() === given) entry.text = '';
  };
  entry.connect('changed', check);
  entry.connect('activate', () => void submit());
  button.connect('clicked', () => void submit());
  return {
    widget,
    show(row) {
      now = row;
      title.label = row.title;
      widget.title = row.title;
      setName(widget, row.title);
      // else GTK names the button by it again, in place of the name below
      if (button.label !== row.label) button.label = row.label;
      if (entry instanceof Gtk.Entry) entry.placeholder_text = row.placeholder ?? '';
      setName(entry, row.title);
      setName(button, `${row.title}: ${row.label}`);
      entry.sensitive = row.sensitive ?? true;
      check();
    },
  };
}
