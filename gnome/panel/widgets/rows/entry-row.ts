// Provides rows for text: a field that is checked after each key, with a button, and an area of many lines.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../../../daemon/view/host.ts';
import { _ } from '../../../i18n.ts';
import { setDescription, setName } from '../accessible.ts';
import type { RowOf, RowWidget } from './row-widget.ts';

export function entryRow(first: RowOf<'entry'>, host: Host): RowWidget<'entry'> {
  const title = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] });
  const entry = first.secret ? new Gtk.PasswordEntry({ show_peek_icon: true }) : new Gtk.Entry();
  entry.hexpand = true;
  // leaves room for the button in large letters; by default, GTK reserves 150 pixels for the field
  entry.width_chars = 6;
  const button = new Gtk.Button();
  const wrong = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['error'] });
  const why = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['caption', 'dim-label'] });
  const line = new Gtk.Box({ spacing: 6 });
  line.append(entry);
  line.append(button);
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-entry'] });
  for (const child of [title, line, wrong, why]) box.append(child);
  const widget = new Adw.PreferencesRow({ child: box, activatable: false, focusable: false });
  widget.use_markup = false;
  let now = first;
  const text = () => entry.text.trim();
  let missing = false;
  /** Text of the running request; the event with its effect may arrive before the reply. */
  let sent: string | null = null;
  const check = () => {
    const problem =
      (text() === sent ? null : now.check(text())) ??
      (missing && text() === '' ? _('Fill in this field first.') : null);
    wrong.label = problem ?? '';
    wrong.visible = problem !== null;
    const isFree = now.sensitive ?? true;
    why.label = now.subtitle ?? '';
    why.visible = Boolean(now.subtitle);
    for (const widget of [entry, button]) setDescription(widget, [problem, now.subtitle].filter(Boolean).join('. '));
    button.sensitive = isFree && (problem === null || text() === '');
    // Enter in the field has the same effect, so the Tab key skips the button of an empty field
    button.focusable = text() !== '';
  };
  const submit = async () => {
    const given = text();
    if (!button.sensitive || given === sent) return;
    missing = given === '';
    if (missing) {
      check();
      entry.grab_focus();
      return;
    }
    sent = given;
    const isDone = await host.run(now.command(given));
    sent = null;
    // keep text that was typed since
    if (isDone && text() === given) entry.text = '';
    else check();
  };
  entry.connect('changed', () => {
    missing = false;
    now.type?.(entry.text);
    check();
  });
  entry.connect('activate', () => void submit());
  button.connect('clicked', () => void submit());
  return {
    widget,
    show(row) {
      now = row;
      title.label = row.title;
      widget.title = row.title;
      setName(widget, row.title);
      // setting the same label again would make GTK replace the name below with it
      if (button.label !== row.label) button.label = row.label;
      if (entry instanceof Gtk.Entry) entry.placeholder_text = row.placeholder ?? '';
      setName(entry, row.title);
      setName(button, row.name ?? `${row.title}: ${row.label}`);
      entry.sensitive = row.sensitive ?? true;
      check();
    },
  };
}

export function areaRow(first: RowOf<'area'>): RowWidget<'area'> {
  const field = new Gtk.TextView({
    monospace: true,
    wrap_mode: Gtk.WrapMode.WORD_CHAR,
    // otherwise the Tab key would not leave the field
    accepts_tab: false,
    top_margin: 9,
    bottom_margin: 9,
    left_margin: 12,
    right_margin: 12,
  });
  const { buffer } = field;
  const child = new Gtk.ScrolledWindow({
    child: field,
    height_request: 220,
    css_classes: ['culvert-text'],
    hscrollbar_policy: Gtk.PolicyType.NEVER,
  });
  const widget = new Adw.PreferencesRow({ child, activatable: false, focusable: false });
  widget.use_markup = false;
  let now = first;
  // a copy, since reading 5,000 lines from the buffer takes milliseconds
  let text = '';
  let isReplaced = false;
  buffer.connect('changed', () => {
    if (isReplaced) return;
    text = buffer.text;
    now.type(text);
  });
  return {
    widget,
    show(row) {
      now = row;
      widget.title = row.title;
      for (const each of [widget, child, field]) setName(each, row.title);
      field.editable = row.sensitive ?? true;
      if (text === row.text) return;
      text = row.text;
      isReplaced = true;
      buffer.text = text;
      isReplaced = false;
    },
  };
}
