// One command in the console: when, what, how it went; its output unfolds below.
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { LogEntry } from '../../daemon/api/schema.ts';
import { asText, commandLine, outcome, outputOf } from '../console.ts';
import { _, words } from '../i18n.ts';
import { fill } from '../words.ts';
import { nameListItem } from './compat.ts';
import { copyButton } from './copy.ts';

/** What the rows show, by the ids that the list holds: a GObject with state per entry would burden the engine. */
export interface LogSource {
  entry(id: string): LogEntry | undefined;
  /** Ids of entries whose output is unfolded. */
  expanded: Set<string>;
}

interface Row {
  expander: Gtk.Expander;
  time: Gtk.Label;
  command: Gtk.Label;
  outcome: Gtk.Label;
  output: Gtk.Label;
}

/**
 * Rows for a `GtkStringList` of ids.
 * @param copied is called after an entry went to the clipboard.
 */
export function logRows(source: LogSource, copied: () => void): Gtk.SignalListItemFactory {
  // not a WeakMap: the engine drops its side of a widget that nothing else here points to, and would forget the row
  const rows = new Map<Gtk.ListItem, Row>();
  const factory = new Gtk.SignalListItemFactory();
  factory.connect('setup', (_factory, listItem: Gtk.ListItem) => {
    const row = createRow(listItem, source, copied);
    rows.set(listItem, row);
    listItem.child = row.expander;
    listItem.activatable = false;
    listItem.selectable = false;
    // the expander has the keyboard's focus itself
    if ('focusable' in listItem) listItem.focusable = false;
  });
  factory.connect('bind', (_factory, listItem: Gtk.ListItem) => showEntry(rows.get(listItem)!, listItem, source));
  return factory;
}

function createRow(listItem: Gtk.ListItem, source: LogSource, copied: () => void): Row {
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
  const copy = copyButton(_('Copy this command and its output'), () => textOf(listItem, source), copied);
  copy.valign = Gtk.Align.START;
  const body = new Gtk.Box({ spacing: 6, css_classes: ['culvert-output'] });
  body.append(output);
  body.append(copy);
  const expander = new Gtk.Expander({ label_widget: head, child: body });
  const row = { expander, time, command, outcome: result, output };
  expander.connect('notify::expanded', () => {
    const id = idOf(listItem);
    if (id === null) return;
    if (expander.expanded) source.expanded.add(id);
    else source.expanded.delete(id);
    showOutput(row, source.entry(id), expander.expanded);
  });
  return row;
}

function showEntry(row: Row, listItem: Gtk.ListItem, source: LogSource): void {
  const id = idOf(listItem)!;
  const entry = source.entry(id);
  if (!entry) return;
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
  const expanded = source.expanded.has(id);
  row.expander.expanded = expanded;
  showOutput(row, entry, expanded);
}

/** Only what is unfolded is laid out: an output may be 32 KiB. */
function showOutput({ output }: Row, entry: LogEntry | undefined, expanded: boolean): void {
  output.label = entry && expanded ? (outputOf(entry) ?? _('It printed nothing.')) : '';
}

function textOf(listItem: Gtk.ListItem, source: LogSource): string {
  const entry = source.entry(idOf(listItem) ?? '');
  return entry ? asText(entry, words) : '';
}

function idOf(listItem: Gtk.ListItem): string | null {
  return (listItem.item as Gtk.StringObject | null)?.string ?? null;
}
