// Keeps the keyboard's focus on a control that is insensitive for a while, such as one that waits for the daemon.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

/**
 * Gives the focus back to the control that lost it by becoming insensitive, once that can take it; not if it is elsewhere by then.
 * @returns what has another control take it in the same way, such as the first of a window whose state is still to come.
 */
export function keepFocus(window: Gtk.Window): (widget: Gtk.Widget) => void {
  let focused: Gtk.Widget | null = null;
  let awaited: { widget: Gtk.Widget; handlers: number[] } | null = null;
  const forget = () => {
    for (const id of awaited?.handlers ?? []) awaited!.widget.disconnect(id);
    awaited = null;
  };
  const settle = () => {
    if (!awaited?.widget.get_mapped() || !awaited.widget.is_sensitive()) return;
    const { widget } = awaited;
    forget();
    if (!window.get_focus()) widget.grab_focus();
  };
  // not within the change of a state, which GTK still passes on to the widgets below
  const later = () => void Promise.resolve().then(settle);
  const wait = (widget: Gtk.Widget) => {
    forget();
    awaited = { widget, handlers: [widget.connect('state-flags-changed', later), widget.connect('map', later)] };
  };
  window.connect('notify::focus-widget', () => {
    const before = focused;
    const onRow = isOnListRow(window);
    focused = onRow ? null : window.get_focus();
    if (focused || onRow) forget();
    else if (before && !before.is_sensitive()) wait(before);
  });
  return wait;
}

const parent = Gtk.PropertyExpression.new(
  Gtk.Widget.$gtype,
  Gtk.PropertyExpression.new(Gtk.Window.$gtype, null, 'focus-widget'),
  'parent',
);
const parentName = Gtk.PropertyExpression.new(Gtk.Widget.$gtype, parent, 'css-name');

/** True while the focus is on the row of a list view, which must not be touched: see `within` in accessible.ts. */
function isOnListRow(window: Gtk.Window): boolean {
  const name = new GObject.Value();
  return parentName.evaluate(window, name) && name.get_string() === 'listview';
}
