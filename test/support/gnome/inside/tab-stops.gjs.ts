// Walks the stops of the Tab key, and measures where they are.
import Gtk from 'gi://Gtk?version=4.0';
import { inside, main, namesOf } from './widgets.gjs.ts';

// a menu button has another function of that name
export const directionOf = Gtk.Widget.prototype.get_direction;

interface Stop {
  name: string;
  /** In the window, or in the area that scrolls both this stop and the previous stop. */
  box: [left: number, top: number, right: number, bottom: number];
  /** Box of the stop before it; null for the first one of the window, and of a title bar. */
  before: Stop['box'] | null;
  rightToLeft: boolean;
}

/** The controls that the Tab key reaches, once around, from the first control of the window in front. */
export function tabStops(): Stop[] {
  const window =
    (Gtk.Window.list_toplevels() as Gtk.Window[]).find(each => each.get_mapped() && (each.is_active || each.modal)) ??
    main()!;
  window.set_focus(null);
  // containers remember where the keyboard was, and GTK 4.18 goes on from there
  for (const widget of inside(window)) widget.set_focus_child(null);
  // GTK puts the title bar of a window behind its content (gtk_window_focus)
  const bar = window.get_titlebar();
  const isInBar = (widget: Gtk.Widget) => bar !== null && widget.is_ancestor(bar);
  const stops: Stop[] = [];
  const met = new Set<Gtk.Widget>();
  for (let before: Gtk.Widget | null = null; stops.length < 300; ) {
    // the signal that the Tab key sends
    window.emit('move-focus', Gtk.DirectionType.TAB_FORWARD);
    const now = window.get_focus();
    if (!now || met.has(now)) break;
    met.add(now);
    const previous = before && isInBar(now) && !isInBar(before) ? null : before;
    const [from, here] = previous ? level(previous, now) : [null, now];
    stops.push({
      name: namesOf(now)[0] ?? namesOf(now.get_parent()!)[0] ?? '',
      box: boxOf(here),
      before: from && boxOf(from),
      rightToLeft: directionOf.call(now) === Gtk.TextDirection.RTL,
    });
    before = now;
  }
  return stops;
}

/** The widgets; where only one of them scrolls, its scrolled area instead, since the place of the widget moves. */
function level(a: Gtk.Widget, b: Gtk.Widget): [Gtk.Widget, Gtk.Widget] {
  const lift = (widget: Gtk.Widget, other: Gtk.Widget) => {
    let area = widget;
    for (let parent = widget.get_parent(); parent; parent = parent.get_parent())
      if (parent instanceof Gtk.ScrolledWindow && !other.is_ancestor(parent)) area = parent;
    return area;
  };
  return [lift(a, b), lift(b, a)];
}

function boxOf(widget: Gtk.Widget): Stop['box'] {
  const root = widget.get_root() as unknown as Gtk.Widget;
  const [, left, top] = widget.translate_coordinates(root, 0, 0) as [boolean, number, number];
  return [left, top, left + widget.get_width(), top + widget.get_height()];
}
