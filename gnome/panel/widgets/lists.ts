// Makes a list one stop of the keyboard, provides reusable rows for list views, fills long lists in steps, and keeps a log at
// its end.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

/**
 * A list that the Tab key enters and leaves in one step: GTK before 4.12 has no setting for it. Up and Down move between the
 * rows, and Left and Right between the controls of a row.
 */
export class OneStop extends Adw.Bin {
  static {
    GObject.registerClass({ GTypeName: 'CulvertOneStop' }, OneStop);
  }

  constructor(list: Gtk.ListView, child: Gtk.Widget) {
    super({ child });
    const keys = new Gtk.EventControllerKey();
    keys.connect('key-pressed', (_keys, key) => {
      const row = list.get_focus_child();
      const { TAB_FORWARD, TAB_BACKWARD } = Gtk.DirectionType;
      if (key === Gdk.KEY_Left || key === Gdk.KEY_Right) {
        const isBack = (key === Gdk.KEY_Left) === (this.get_direction() !== Gtk.TextDirection.RTL);
        return row?.child_focus(isBack ? TAB_BACKWARD : TAB_FORWARD) ?? false;
      }
      // GTK moves between rows that can have the focus, but not from a control to the next row
      if (!row || row.is_focus() || (key !== Gdk.KEY_Up && key !== Gdk.KEY_Down)) return false;
      const next = key === Gdk.KEY_Down ? row.get_next_sibling() : row.get_prev_sibling();
      return next?.child_focus(TAB_FORWARD) ?? false;
    });
    list.add_controller(keys);
  }

  override vfunc_focus(direction: Gtk.DirectionType): boolean {
    const { TAB_FORWARD, TAB_BACKWARD } = Gtk.DirectionType;
    if ((direction === TAB_FORWARD || direction === TAB_BACKWARD) && this.get_focus_child()) return false;
    return super.vfunc_focus(direction);
  }
}

export interface RowFactory<R> {
  factory: Gtk.SignalListItemFactory;
  /** The list's current rows. */
  rows: ReadonlyMap<Gtk.ListItem, R>;
}

/**
 * Creates rows in code; the list then reuses them for other items.
 * @param create creates the widgets of a row and sets the item's child.
 * @param show shows an item in a row; may return without a change.
 */
export function rowFactory<R>(
  create: (item: Gtk.ListItem) => R,
  show: (row: R, item: Gtk.ListItem) => void,
): RowFactory<R> {
  // a WeakMap would lose a row when the engine drops the JS side of a widget without other references
  const rows = new Map<Gtk.ListItem, R>();
  const factory = new Gtk.SignalListItemFactory();
  factory.connect('setup', (_factory, item: Gtk.ListItem) => {
    rows.set(item, create(item));
  });
  factory.connect('bind', (_factory, item: Gtk.ListItem) => {
    const row = rows.get(item);
    if (row) show(row, item);
  });
  // a list that is filled again creates new rows. Without this, the old rows would stay: item, row and handlers refer to each
  // other partly from C, where the engine sees no cycle
  factory.connect('teardown', (_factory, item: Gtk.ListItem) => {
    rows.delete(item);
    item.set_child(null);
  });
  return { factory, rows };
}

/**
 * Drops the rows of lists in a closing window. Otherwise GTK tears the rows down during the engine's collection, when no
 * callback may run.
 */
export function dropRows(...lists: (Gtk.ListView | Gtk.DropDown)[]): void {
  for (const list of lists) list.factory = null!;
}

/** Number of rows per step, about as many as fit a tall window. Only scrolling creates more rows in one frame. */
const STEP = 16;
/** Maximum number of rows that GTK creates; further items cost nothing until the user scrolls there. */
const MADE = 200;

export interface Fill {
  /** Replaces the items, and cancels the remaining steps of an earlier call. */
  show(items: readonly string[]): void;
  /**
   * Replaces the items; after a small change, the list keeps its scroll position and focus.
   * @returns true if the list kept them; the caller then updates the existing rows.
   */
  update(items: readonly string[]): boolean;
  /** Lists the remaining items immediately. */
  finish(): void;
}

/**
 * Fills a long list in steps, so that no frame takes long: first the visible rows, then the rest over the next frames.
 * @param end visible end of the list, which is filled first.
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

/** Distance from the end that counts as the end, in pixels, since rows off the screen have estimated heights. */
const NEAR = 24;
/** Duration of a few frames, in ms, during which rows get their heights. */
const SETTLE_MS = 100;

export interface Follow {
  /** Reports a change of the list: the user did not cause the next scrolling. */
  changed(): void;
  toEnd(): void;
}

/**
 * Keeps a list at its newest end until the user scrolls up, and again when the user returns to the end.
 * @param left called with true when the user leaves the end, and with false at the return.
 */
export function followEnd(scrolled: Gtk.ScrolledWindow, list: Gtk.ListView, left: (away: boolean) => void): Follow {
  const { vadjustment } = scrolled;
  let following = true;
  /** A time, not a flag: the engine drops callbacks while it sweeps, and a flag would then stay set. */
  let settled = 0;
  const follow = (wanted: boolean) => {
    if (wanted !== following) left(!wanted);
    following = wanted;
  };
  // uses the list's action, since the list would take a new value for its current position
  const toLast = () => {
    const count = list.model?.get_n_items() ?? 0;
    if (following && count > 0) list.activate_action('list.scroll-to-item', GLib.Variant.new_uint32(count - 1));
  };
  let frames = 0;
  /** Scrolls over some frames, since a new row has no position before its layout. */
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
