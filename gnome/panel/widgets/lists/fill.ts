// Fills a long list in steps: the rows that are seen first, the rest over the next frames, so that no frame takes long.
import type Gtk from 'gi://Gtk?version=4.0';

/** About what fits a tall window; more rows than these are made in one frame only while one scrolls. */
const STEP = 16;
/** GTK makes up to 200 rows; what is beyond them costs nothing until it is scrolled to. */
const MADE = 200;

export interface Fill {
  /** Replaces what is listed; ends what an earlier call left to do. */
  show(items: readonly string[]): void;
  /**
   * The same, where a list of which little has changed stays where it is scrolled to, and its focus where it is.
   * @returns whether it does, and the rows that it has are to be renewed.
   */
  update(items: readonly string[]): boolean;
  /** Lists the remaining items immediately. */
  finish(): void;
}

/** @param end the visible end of the list: its items come first. */
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
