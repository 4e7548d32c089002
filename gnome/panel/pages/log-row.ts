// Builds the rows of the log: each shows a command with its time and result, and unfolds the output.
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { LogEntry } from '../../../daemon/api/schema.ts';
import { formatDate, formatLatency, formatTime } from '../../../daemon/view/format.ts';
import { asText, commandLine, endOf, outcome, outputOf, shortCommand } from '../../../daemon/view/log.ts';
import { _, tr } from '../../i18n.ts';
import { setName } from '../widgets/accessible.ts';
import { copyButton } from '../widgets/buttons.ts';
import { nameListItem } from '../widgets/compat.ts';
import { rowFactory } from '../widgets/lists.ts';

/** Entries by ID. The list holds only IDs: a GObject with state for each entry would burden the engine. */
export interface LogSource {
  entry(id: string): LogEntry | undefined;
  /** IDs of the entries with unfolded output. */
  expanded: Set<string>;
}

interface Row {
  /** Current style of the row: a comparison costs less than setting a class, and most entries look alike. */
  ok: boolean | null;
  expander: Gtk.Expander;
  /** Label with the time, the result and the command: GTK creates 200 rows, and a widget takes about 5 kB. */
  head: Gtk.Label;
  /** Label of the output; null until the row is first unfolded. */
  output: Gtk.Label | null;
}

/**
 * Creates rows for a `GtkStringList` of IDs.
 * @param copied called after an entry was copied to the clipboard.
 */
export function logRows(source: LogSource, copied: () => void): Gtk.SignalListItemFactory {
  const create = (listItem: Gtk.ListItem): Row => {
    const row = createRow();
    followExpander(row, listItem, source, copied);
    listItem.child = row.expander;
    listItem.activatable = false;
    listItem.selectable = false;
    // the expander takes the keyboard focus itself
    if ('focusable' in listItem) listItem.focusable = false;
    return row;
  };
  return rowFactory(create, (row, listItem) => showEntry(row, listItem, source)).factory;
}

function createRow(): Row {
  const head = new Gtk.Label({
    xalign: 0,
    hexpand: true,
    ellipsize: Pango.EllipsizeMode.END,
    use_markup: true,
    css_classes: ['monospace'],
  });
  return { ok: null, expander: new Gtk.Expander({ label_widget: head }), head, output: null };
}

/** Creates the unfolding part; a separate function, since a closure that holds the row would keep the expander forever. */
function createBody(listItem: Gtk.ListItem, source: LogSource, copied: () => void) {
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
  return { body, output };
}

function followExpander(row: Row, listItem: Gtk.ListItem, source: LogSource, copied: () => void): void {
  const { expander } = row;
  // creates the tooltip on demand, not for each row that scrolls past
  expander.has_tooltip = true;
  expander.connect('query-tooltip', (...[, , , , tooltip]) => {
    const entry = source.entry(idOf(listItem) ?? '');
    if (!entry) return false;
    const took = formatLatency(Math.round(entry.durationMs), tr);
    tooltip.set_text(`${formatDate(endOf(entry), tr)}\n${commandLine(entry)}, ${outcome(entry, tr)}, ${took}`);
    return true;
  });
  expander.connect('notify::expanded', () => {
    const id = idOf(listItem);
    if (id === null) return;
    if (expander.expanded) source.expanded.add(id);
    else source.expanded.delete(id);
    if (expander.expanded && !row.output) {
      const { body, output } = createBody(listItem, source, copied);
      expander.child = body;
      row.output = output;
    }
    showOutput(row, source.entry(id), expander.expanded);
  });
}

function showEntry(row: Row, listItem: Gtk.ListItem, source: LogSource): void {
  const id = idOf(listItem)!;
  const entry = source.entry(id);
  if (!entry) return;
  const line = commandLine(entry);
  row.head.label = headOf(entry);
  if (row.ok !== entry.ok) {
    row.ok = entry.ok;
    row.head.css_classes = entry.ok ? ['monospace'] : ['monospace', 'error'];
  }
  const name = `${line}, ${outcome(entry, tr)}`;
  setName(row.expander, name);
  nameListItem(listItem, name);
  const expanded = source.expanded.has(id);
  if (row.expander.expanded !== expanded) row.expander.expanded = expanded;
  else showOutput(row, entry, expanded);
}

/** Width of the outcome column, in characters; enough for most outcomes. */
const OUTCOME = 8;
let timeWidth: number | null = null;

/** Returns the width of a time of day with the most digits, in characters. */
function widthOfTimes(): number {
  timeWidth ??= formatTime(new Date(2000, 0, 1, 22, 58, 58).getTime(), tr).length;
  return timeWidth;
}

/** Returns Pango markup of the end time, the duration or failure, and the command; the tooltip has the full line. */
function headOf(entry: LogEntry): string {
  const command = shortCommand(entry);
  const took = entry.ok ? formatLatency(Math.round(entry.durationMs), tr) : outcome(entry, tr);
  const about = `${formatTime(endOf(entry), tr).padStart(widthOfTimes())}  ${took.padStart(OUTCOME)}`;
  return `<span size="small" alpha="${entry.ok ? 70 : 100}%">${GLib.markup_escape_text(about, -1)}</span>  ${GLib.markup_escape_text(command, -1)}`;
}

/** Shows the output only while it is unfolded: GTK would lay out up to 32 KiB of hidden text. */
function showOutput({ output }: Row, entry: LogEntry | undefined, expanded: boolean): void {
  const text = entry && expanded ? (outputOf(entry) ?? _('No output')) : '';
  if (output && output.label !== text) output.label = text;
}

function textOf(listItem: Gtk.ListItem, source: LogSource): string {
  const entry = source.entry(idOf(listItem) ?? '');
  return entry ? asText(entry, tr) : '';
}

function idOf(listItem: Gtk.ListItem): string | null {
  return (listItem.item as Gtk.StringObject | null)?.string ?? null;
}
