// List view rows built in code: created once, then reused for each item that they are bound to.
import Gtk from 'gi://Gtk?version=4.0';

export interface RowFactory<R> {
  factory: Gtk.SignalListItemFactory;
  /** The rows that the list holds now. */
  rows: ReadonlyMap<Gtk.ListItem, R>;
}

/**
 * @param create makes the widgets of a row and sets the item's child.
 * @param show has them show the item; may return without a change.
 */
export function rowFactory<R>(
  create: (item: Gtk.ListItem) => R,
  show: (row: R, item: Gtk.ListItem) => void,
): RowFactory<R> {
  // not a WeakMap: the engine drops its side of a widget that nothing else here points to, and would forget the row
  const rows = new Map<Gtk.ListItem, R>();
  const factory = new Gtk.SignalListItemFactory();
  factory.connect('setup', (_factory, item: Gtk.ListItem) => {
    rows.set(item, create(item));
  });
  factory.connect('bind', (_factory, item: Gtk.ListItem) => {
    const row = rows.get(item);
    if (row) show(row, item);
  });
  // a list that is filled again makes new rows; without this the old ones would stay, since item, row and handlers refer
  // to each other partly from C, where the engine sees no cycle
  factory.connect('teardown', (_factory, item: Gtk.ListItem) => {
    rows.delete(item);
    item.set_child(null);
  });
  return { factory, rows };
}

/**
 * Drops the rows of lists whose window closes. Else they are torn down when the engine collects the lists, and it must not
 * call back then.
 */
export function dropRows(...lists: (Gtk.ListView | Gtk.DropDown)[]): void {
  for (const list of lists) list.factory = null!;
}
