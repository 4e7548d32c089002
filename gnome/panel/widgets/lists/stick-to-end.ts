// Keeps a list at its newest end until the user scrolls up, and again once they are back there.
import GLib from 'gi://GLib?version=2.0';
import type Gtk from 'gi://Gtk?version=4.0';

/** So near the end counts as being there: rows that are not on screen have estimated heights. */
const NEAR = 24;
/** Some frames, in which rows get their heights. */
const SETTLE_MS = 100;

export interface Follow {
  /** The list has changed, so the user did not cause the next move. */
  changed(): void;
  toEnd(): void;
}

/** @param left is called with whether the user has left the end. */
export function followEnd(scrolled: Gtk.ScrolledWindow, list: Gtk.ListView, left: (away: boolean) => void): Follow {
  const { vadjustment } = scrolled;
  let following = true;
  /** A time and no flag: the engine drops callbacks that come while it sweeps, and a flag would then stay. */
  let settled = 0;
  const follow = (wanted: boolean) => {
    if (wanted !== following) left(!wanted);
    following = wanted;
  };
  // by the list's own action and not by a value, which the list takes for where it already is
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
