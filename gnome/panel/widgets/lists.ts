// Builds list views: rows that are created once and reused, long lists that fill in steps, and a log that stays at its end.
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

export interface RowFactory<R> {
  factory: Gtk.SignalListItemFactory;
  /** The rows that the list holds now. */
  rows: ReadonlyMap<Gtk.ListItem, R>;
}

/**
 * Rows built in code: created once, then reused for each item that they are bound to.
 * @param create makes the widgets of a row and sets the item's child.
 * @param show has them show the item; may return without a change.
 */
export function rowFactory<R>(
  create: (item: Gtk.ListItem) => R,
  show: (row: R, item: Gtk.ListItem) => void,
): RowFactory<R> {
  // not a WeakMap: it would forget the row when the engine drops the JS side of a widget that nothing else points to
  const rows = new Map<Gtk.ListItem, R>();
  const factory = new Gtk.SignalListItemFactory();
  factory.connect('setup', (_factory, item: Gtk.ListItem) => {
    rows.set(item, create(item));
  });
  factory.connect('bind', (_factory, item: Gtk.ListItem) => {
    const row = rows.get(item);
    if (row) show(row, item);
  });
  // a list that is filled again makes new rows. Without this the old ones would stay: item, row and handlers refer to each
  // other partly from C, where the engine sees no cycle
  factory.connect('teardown', (_factory, item: Gtk.ListItem) => {
    rows.delete(item);
    item.set_child(null);
  });
  return { factory, rows };
}

/**
 * Drops the rows of lists whose window closes. Otherwise GTK tears them down while the engine collects the lists and must
 * not be called.
 */
export function dropRows(...lists: (Gtk.ListView | Gtk.DropDown)[]): void {
  for (const list of lists) list.factory = null!;
}

/** About as many rows as fit a tall window. Only scrolling makes more of them in one frame. */
const STEP = 16;
/** GTK makes up to 200 rows; items beyond them cost nothing until the user scrolls there. */
const MADE = 200;

export interface Fill {
  /** Replaces the items, and cancels the remaining steps of an earlier call. */
  show(items: readonly string[]): void;
  /**
   * Replaces the items; a list of which little has changed keeps its scroll position and focus.
   * @returns whether it kept them, so that the caller renews the present rows.
   */
  update(items: readonly string[]): boolean;
  /** Lists the remaining items immediately. */
  finish(): void;
}

/**
 * Fills a long list in steps, so that no frame takes long: first the rows in sight, the rest over the next frames.
 * @param end the visible end of the list: its items come first.
 */
export function stepwise(view: Gtk.Widget, list: Gtk.StringList, end: 'top' | 'bottom' = 'top'): Fill {
  let left: string[] = [];
  let running = false;
  const take = (count: number) =>
    end === 'top' ? left.splice(0, count) : left.splice(Math.max(0, left.length - count));
  const add = (count: number) => list.splice(end === 'top' ? list.get_n_items() : 0, 0, take(count));
  const step = () => {
    add(list.get_n_items() < MADE ? STEP : left.length);
    running = left.length > 0;
    return running;
  };
  const show = (items: readonly string[]) => {
    left = [...items];
    list.splice(0, list.get_n_items(), take(STEP));
    if (!left.length || running) return;
    running = true;
    view.add_tick_callback(step);
  };
  const finish = () => add(left.length);
  return {
    show,
    finish,
    update(items) {
      finish();
      const count = list.get_n_items();
      const shorter = Math.min(count, items.length);
      let before = 0;
      while (before < shorter && list.get_string(before) === items[before]) before++;
      let after = 0;
      while (after < shorter - before && list.get_string(count - 1 - after) === items[items.length - 1 - after])
        after++;
      const [gone, come] = [count - before - after, items.slice(before, items.length - after)];
      if (gone + come.length > STEP || before + after === 0) {
        show(items);
        return false;
      }
      if (gone + come.length > 0) list.splice(before, gone, come);
      return true;
    },
  };
}

/** Distance from the end that counts as the end, in pixels: rows off the screen have estimated heights. */
const NEAR = 24;
/** Time of a few frames, in which rows get their heights. */
const SETTLE_MS = 100;

export interface Follow {
  /** The list has changed, so the user did not cause the next move. */
  changed(): void;
  toEnd(): void;
}

/**
 * Keeps a list at its newest end until the user scrolls up, and again once the user is back there.
 * @param left is called with whether the user has left the end.
 */
export function followEnd(scrolled: Gtk.ScrolledWindow, list: Gtk.ListView, left: (away: boolean) => void): Follow {
  const { vadjustment } = scrolled;
  let following = true;
  /** A time and not a flag: the engine drops callbacks while it sweeps, and a flag would then stay set. */
  let settled = 0;
  const follow = (wanted: boolean) => {
    if (wanted !== following) left(!wanted);
    following = wanted;
  };
  // by the list's action and not by a value, which the list takes for its present position
  const toLast = () => {
    const count = list.model?.get_n_items() ?? 0;
    if (following && count > 0) list.activate_action('list.scroll-to-item', GLib.Variant.new_uint32(count - 1));
  };
  let frames = 0;
  /** Over some frames: a new row has no place before its layout. */
  const settle = () => {
    settled = Date.now() + SETTLE_MS;
    const running = frames > 0;
    frames = 3;
    toLast();
    if (running) return;
    list.add_tick_callback(() => {
      toLast();
      return --frames > 0;
    });
  };
  vadjustment.connect('value-changed', () => {
    if (Date.now() > settled) follow(vadjustment.value >= vadjustment.upper - vadjustment.page_size - NEAR);
  });
  scrolled.connect('map', settle);
  return {
    changed: settle,
    toEnd() {
      follow(true);
      settle();
    },
  };
}
