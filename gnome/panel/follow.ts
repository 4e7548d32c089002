// Keeps a list at its newest end until the user scrolls up, and again once they are back there.
import type Gtk from 'gi://Gtk?version=4.0';

/** So near the end counts as being there: rows that are not on screen have estimated heights. */
const NEAR = 24;

export interface Follow {
  /** The list is about to change by itself: what moves now was not the user. */
  changing(): void;
  toEnd(): void;
}

/** @param left is called with whether the user has left the end. */
export function followEnd(scrolled: Gtk.ScrolledWindow, left: (away: boolean) => void): Follow {
  const { vadjustment } = scrolled;
  let following = true;
  let settling = 0;
  const toEnd = () => {
    vadjustment.value = vadjustment.upper - vadjustment.page_size;
  };
  const follow = (wanted: boolean) => {
    if (wanted !== following) left(!wanted);
    following = wanted;
  };
  /** Rows get their true heights over the next frames. */
  const settle = () => {
    const running = settling > 0;
    settling = 4;
    if (running) return;
    scrolled.add_tick_callback(() => {
      if (following) toEnd();
      return --settling > 0;
    });
  };
  vadjustment.connect('value-changed', () => {
    if (settling > 0) return;
    follow(vadjustment.value >= vadjustment.upper - vadjustment.page_size - NEAR);
  });
  vadjustment.connect('changed', () => {
    if (following) settle();
  });
  scrolled.connect('map', settle);
  return {
    changing: settle,
    toEnd() {
      follow(true);
      settle();
    },
  };
}
