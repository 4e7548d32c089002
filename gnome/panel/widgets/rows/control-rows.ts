// Provides rows with one control: a switch, a button, or a list of values.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../../../daemon/view/host.ts';
import { _ } from '../../../i18n.ts';
import { mendTree, setDescription, setName, within } from '../a11y/accessible.ts';
import { Choice } from './confirmed-combo-row.ts';
import { confirmSwitch } from './confirmed-switch.ts';
import { actionRow, type RowOf, type RowWidget, showWords, showWordsOf } from './row-widget.ts';

export function switchRow(first: RowOf<'switch'>, host: Host): RowWidget<'switch'> {
  const widget = actionRow();
  const toggle = new Gtk.Switch({ valign: Gtk.Align.CENTER });
  let now = first;
  const confirmed = confirmSwitch(toggle, () => void host.run(now.command));
  widget.add_suffix(toggle);
  widget.activatable_widget = toggle;
  return {
    widget,
    show(row) {
      now = row;
      showWordsOf(widget, toggle, row);
      confirmed.show(row.on, row.sensitive ?? true);
    },
  };
}

export function buttonRow(first: RowOf<'button'>, host: Host): RowWidget<'button'> {
  const widget = actionRow();
  const button = new Gtk.Button({ valign: Gtk.Align.CENTER });
  const spinner = new Gtk.Spinner({ spinning: true, visible: false });
  let now = first;
  button.connect('clicked', () => void host.run(now.command));
  widget.add_suffix(spinner);
  widget.add_suffix(button);
  return {
    widget,
    show(row) {
      now = row;
      showWords(widget, row);
      setDescription(widget, row.subtitle ?? '');
      // else GTK names the button by it again, in place of the name below
      if (button.label !== row.label) button.label = row.label;
      button.css_classes = row.style ? [`${row.style}-action`] : [];
      setName(button, `${row.title}: ${row.label}`);
      setDescription(button, row.subtitle ?? '');
      button.sensitive = (row.sensitive ?? true) && !row.busy;
      spinner.visible = row.busy ?? false;
      setName(spinner, _('In progress'));
    },
  };
}

export function selectRow(first: RowOf<'select'>, host: Host): RowWidget<'select'> {
  const widget = new Adw.ComboRow();
  widget.use_markup = false;
  for (const list of within(widget)) if (list instanceof Gtk.ListView) setName(list, first.title);
  mendTree(widget, first.title);
  let now = first;
  const labelOf = (value: string) => now.options.find(option => option.value === value)?.label ?? value;
  const values = () => now.options.map(({ value }) => value);
  const choice = new Choice(widget, values(), labelOf, value => void host.run(now.command(value)));
  return {
    widget,
    show(row) {
      now = row;
      showWords(widget, row);
      choice.offer(values(), labelOf);
      choice.show(row.value, row.sensitive ?? true);
      setDescription(widget, [labelOf(row.value), row.subtitle].filter(Boolean).join('. '));
    },
  };
}
