// Lets the user order the rows of a group by drag and by Alt with an arrow key.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { placeText } from '../../../../daemon/view/client/labels.ts';
import type { Group } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { tr } from '../../../i18n.ts';
import { announce } from '../compat.ts';

/** IDs of the movable rows, which a drag carries as widgets, so that no other program takes them. */
const ids = new WeakMap<Gtk.Widget, string>();

/**
 * Makes a row movable while the group's order contains it.
 * @param order returns the present order of the group
 */
export function makeMovable(row: Adw.PreferencesRow, id: string, order: () => Group['order'], host: Host): void {
  ids.set(row, id);
  const placeOf = (widget: Gtk.Widget) => order()?.ids.indexOf(ids.get(widget) ?? '') ?? -1;
  const move = async (moved: Adw.PreferencesRow, to: number) => {
    const { ids: all = [], move: command } = order() ?? {};
    if (!command || placeOf(moved) < 0 || !all[to] || to === placeOf(moved)) return;
    const { title } = moved;
    if (await host.run(command(ids.get(moved)!, to))) announce(row, placeText(title, to + 1, all.length, tr));
  };
  const keys = new Gtk.EventControllerKey({ propagation_phase: Gtk.PropagationPhase.CAPTURE });
  keys.connect('key-pressed', (_keys, key, _code, state) => {
    const step = key === Gdk.KEY_Up ? -1 : key === Gdk.KEY_Down ? 1 : 0;
    if (!step || !(state & Gdk.ModifierType.ALT_MASK) || placeOf(row) < 0) return false;
    void move(row, placeOf(row) + step);
    return true;
  });
  const source = new Gtk.DragSource({ actions: Gdk.DragAction.MOVE });
  source.connect('prepare', (_source, x, y) => {
    if (placeOf(row) < 0) return null as never;
    source.set_icon(new Gtk.WidgetPaintable({ widget: row }), Math.round(x), Math.round(y));
    const value = new GObject.Value();
    value.init(Adw.PreferencesRow.$gtype);
    value.set_object(row);
    return Gdk.ContentProvider.new_for_value(value);
  });
  const target = Gtk.DropTarget.new(Adw.PreferencesRow.$gtype, Gdk.DragAction.MOVE);
  target.connect('drop', (_target, value: unknown) => {
    if (!(value instanceof Adw.PreferencesRow) || placeOf(value) < 0 || placeOf(row) < 0) return false;
    void move(value, placeOf(row));
    return true;
  });
  for (const controller of [keys, source, target]) row.add_controller(controller);
}
