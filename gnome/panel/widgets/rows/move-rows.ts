// Lets the user order the rows of a group by drag and by Alt with an arrow key.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Group } from '../../../../daemon/view/form.ts';
import { formatCount } from '../../../../daemon/view/format.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { fill } from '../../../../daemon/view/translator.ts';
import { _, tr } from '../../../i18n.ts';
import { textContent } from '../buttons.ts';
import { announce } from '../compat.ts';

/**
 * Makes a row movable while the group's order contains it.
 * @param order returns the present order of the group
 */
export function makeMovable(widget: Gtk.Widget, id: string, order: () => Group['order'], host: Host): void {
  const move = async (moved: string, to: number) => {
    const { ids = [], move: command } = order() ?? {};
    if (!command || !ids.includes(moved) || !ids[to] || ids[to] === moved) return;
    if (await host.run(command(moved, to)))
      // Translators: the new place of a row in its list, such as 2 of 5
      announce(widget, fill(_('%d of %d'), formatCount(to + 1, tr), formatCount(ids.length, tr)));
  };
  const placeOf = (row: string) => order()?.ids.indexOf(row) ?? -1;
  const keys = new Gtk.EventControllerKey({ propagation_phase: Gtk.PropagationPhase.CAPTURE });
  keys.connect('key-pressed', (_keys, key, _code, state) => {
    const step = key === Gdk.KEY_Up ? -1 : key === Gdk.KEY_Down ? 1 : 0;
    if (!step || !(state & Gdk.ModifierType.ALT_MASK) || placeOf(id) < 0) return false;
    void move(id, placeOf(id) + step);
    return true;
  });
  const source = new Gtk.DragSource({ actions: Gdk.DragAction.MOVE });
  source.connect('prepare', (_source, x, y) => {
    if (placeOf(id) < 0) return null as never;
    source.set_icon(new Gtk.WidgetPaintable({ widget }), Math.round(x), Math.round(y));
    return textContent(id);
  });
  const target = Gtk.DropTarget.new(GObject.TYPE_STRING, Gdk.DragAction.MOVE);
  target.connect('drop', (_target, value: unknown) => {
    const [from, to] = [placeOf(String(value)), placeOf(id)];
    if (from < 0 || to < 0) return false;
    void move(String(value), to);
    return true;
  });
  for (const controller of [keys, source, target]) widget.add_controller(controller);
}
