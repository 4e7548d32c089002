// Fills a long list in steps: the rows that are seen first, the rest over the next frames, so that no frame takes long.
import type Gtk from 'gi://Gtk?version=4.0';

/** About what fits a tall window; more rows than these are made in one frame only while one scrolls. */
const STEP = 16;
/** GTK makes up to 200 rows; what lies beyond them costs nothing until it is scrolled to. */
const MADE = 200;

export interface Fill {
  /** Replaces what is listed; ends what an earlier call left to do. */
  show(items: string[]): void;
  /** Lists at once what is left to do. */
  finish(): void;
}

/** @param end where the list is looked at: the items there come first. */
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
  return {
    show(items) {
      left = [...items];
      list.splice(0, list.get_n_items(), take(STEP));
      if (!left.length || running) return;
      running = true;
      view.add_tick_callback(step);
    },
    finish: () => add(left.length),
  };
}
