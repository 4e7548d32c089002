// Builds the rows of the list of routes: a route, its kind and origin, and a button that removes it.
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { type RouteEntry, routeKindName } from '../../../../daemon/view/forms/tunnel/split-tunnel.ts';
import { fill } from '../../../../daemon/view/translator.ts';
import { _, tr } from '../../../i18n.ts';
import { setDescription, setName } from '../../widgets/a11y/accessible.ts';
import { nameListItem } from '../../widgets/compat.ts';
import { rowFactory } from '../../widgets/lists/row-factory.ts';
import { withoutHyphens } from '../../widgets/rows/row-widget.ts';

/** Routes of the rows, by the values that the list holds. */
export interface RouteSource {
  entry(value: string): RouteEntry | undefined;
  canRemove(entry: RouteEntry): boolean;
  /** Why none can be removed, for assistive technology; empty without a reason. */
  reason(): string;
  remove(entry: RouteEntry): void;
}

export interface RouteRows {
  factory: Gtk.SignalListItemFactory;
  /** Shows the present state of the routes in the rows that the list has. */
  renew(): void;
}

interface Row {
  title: Gtk.Label;
  note: Gtk.Label;
  badge: Gtk.Label;
  remove: Gtk.Button;
}

/** Rows for a `GtkStringList` of values. */
export function routeRows(source: RouteSource): RouteRows {
  // a row that the list keeps for reuse has no item
  const entryOf = ({ item }: Gtk.ListItem) => (item ? source.entry((item as Gtk.StringObject).string) : undefined);
  const create = (item: Gtk.ListItem): Row => {
    const row = createRow();
    row.remove.connect('clicked', () => {
      const entry = entryOf(item);
      if (entry) source.remove(entry);
    });
    const text = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, hexpand: true, valign: Gtk.Align.CENTER });
    text.append(row.title);
    text.append(row.note);
    item.child = line(text, row.badge, row.remove);
    item.activatable = false;
    if ('focusable' in item) item.focusable = false;
    return row;
  };
  const show = ({ title, note, badge, remove }: Row, item: Gtk.ListItem) => {
    const entry = entryOf(item);
    if (!entry) return;
    showWrapped(title, entry.value);
    showWrapped(note, entry.note ?? '');
    note.visible = entry.note !== null;
    badge.label = `${routeKindName(entry.kind, tr)} · ${entry.origin}`;
    // Translators: %s is an address or a host name
    const label = fill(_('Remove %s'), entry.value);
    remove.tooltip_text = label;
    setName(remove, label);
    setDescription(remove, source.reason());
    remove.sensitive = source.canRemove(entry);
    nameListItem(item, `${entry.value}, ${badge.label}`);
  };
  const { factory, rows } = rowFactory(create, show);
  return {
    factory,
    renew() {
      for (const [item, row] of rows) show(row, item);
    },
  };
}

function createRow(): Row {
  return {
    title: new Gtk.Label({ xalign: 0, wrap: true, attributes: withoutHyphens() }),
    note: new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] }),
    badge: new Gtk.Label({
      wrap: true,
      natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
      xalign: 1,
      justify: Gtk.Justification.RIGHT,
      css_classes: ['caption', 'dim-label'],
    }),
    remove: new Gtk.Button({ icon_name: 'list-remove-symbolic', css_classes: ['flat'] }),
  };
}

/** Anything up to this length fits a narrow window, also in large letters, in characters: any range of IPv4. */
const SHORT = 18;

/** A long name may have no place to break; to break anywhere takes GTK much longer to measure, in each of 200 rows. */
function showWrapped(label: Gtk.Label, text: string): void {
  const { WORD, WORD_CHAR } = Pango.WrapMode;
  label.wrap_mode = text.length > SHORT ? WORD_CHAR : WORD;
  label.label = text;
}

/** Widgets next to each other. */
export function line(...children: Gtk.Widget[]): Gtk.Box {
  const box = new Gtk.Box({ spacing: 6 });
  for (const child of children) box.append(child);
  return box;
}
