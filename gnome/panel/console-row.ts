// One command in the console: when, what, how it went; its output unfolds below.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { LogEntry } from '../../daemon/api/schema.ts';
import { asText, commandLine, outcome, outputOf } from '../console.ts';
import { _, words } from '../i18n.ts';
import { fill } from '../words.ts';
import { nameListItem } from './compat.ts';
import { copyButton } from './copy.ts';

/** A log entry in a list model. */
export class LogItem extends GObject.Object {
  static {
    GObject.registerClass({ GTypeName: 'CulvertLogItem' }, LogItem);
  }
  entry!: LogEntry;
  expanded = false;
}

export function logItem(entry: LogEntry): LogItem {
  const item = new LogItem();
  item.entry = entry;
  return item;
}

interface Row {
  expander: Gtk.Expander;
  time: Gtk.Label;
  command: Gtk.Label;
  outcome: Gtk.Label;
  output: Gtk.Label;
}

/** @param copied is called after an entry went to the clipboard. */
export function logRows(copied: () => void): Gtk.SignalListItemFactory {
  const rows = new WeakMap<Gtk.Widget, Row>();
  const factory = new Gtk.SignalListItemFactory();
  factory.connect('setup', (_factory, listItem: Gtk.ListItem) => {
    const row = createRow(listItem, copied);
    rows.set(row.expander, row);
    listItem.child = row.expander;
    listItem.activatable = false;
    listItem.selectable = false;
    // the expander has the keyboard's focus itself
    if ('focusable' in listItem) listItem.focusable = false;
  });
  factory.connect('bind', (_factory, listItem: Gtk.ListItem) => showEntry(rows.get(listItem.child)!, listItem));
  return factory;
}

function createRow(listItem: Gtk.ListItem, copied: () => void): Row {
  const time = new Gtk.Label({ css_classes: ['dim-label', 'numeric', 'caption'] });
  const command = new Gtk.Label({
    xalign: 0,
    hexpand: true,
    ellipsize: Pango.EllipsizeMode.END,
    css_classes: ['monospace'],
  });
  const result = new Gtk.Label({ css_classes: ['numeric', 'caption'] });
  const head = new Gtk.Box({ spacing: 9, hexpand: true });
  for (const label of [time, command, result]) head.append(label);
  const output = new Gtk.Label({
    xalign: 0,
    hexpand: true,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    selectable: true,
    css_classes: ['monospace', 'caption'],
  });
  const copy = copyButton(_('Copy this command and its output'), () => asText(entryOf(listItem), words), copied);
  copy.valign = Gtk.Align.START;
  const body = new Gtk.Box({ spacing: 6, css_classes: ['culvert-output'] });
  body.append(output);
  body.append(copy);
  const expander = new Gtk.Expander({ label_widget: head, child: body });
  const row = { expander, time, command, outcome: result, output };
  expander.connect('notify::expanded', () => {
    const item = listItem.item as LogItem | null;
    if (!item) return;
    item.expanded = expander.expanded;
    showOutput(row, item);
  });
  return row;
}

function showEntry(row: Row, listItem: Gtk.ListItem): void {
  const item = listItem.item as LogItem;
  const { entry } = item;
  const at = new Date(entry.at);
  row.time.label = at.toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false,
  });
  row.command.label = commandLine(entry);
  // Translators: milliseconds; %s is a number
  const took = fill(_('%s ms'), Math.round(entry.durationMs));
  row.outcome.label = entry.ok ? took : outcome(entry, words);
  row.outcome.css_classes = ['numeric', 'caption', entry.ok ? 'dim-label' : 'error'];
  row.command.css_classes = entry.ok ? ['monospace'] : ['monospace', 'error'];
  const name = `${commandLine(entry)}, ${outcome(entry, words)}`;
  row.expander.tooltip_text = `${at.toLocaleString()}\n${name}, ${took}`;
  row.expander.update_property([Gtk.AccessibleProperty.LABEL], [name]);
  nameListItem(listItem, name);
  row.expander.expanded = item.expanded;
  showOutput(row, item);
}

/** Only what is unfolded is laid out: an output may be 32 KiB. */
function showOutput({ output }: Row, { entry, expanded }: LogItem): void {
  const text = expanded ? outputOf(entry) : null;
  output.label = text ?? (expanded ? _('It printed nothing.') : '');
}

function entryOf(listItem: Gtk.ListItem): LogEntry {
  return (listItem.item as LogItem).entry;
}
