// Two children side by side where there is room, else one below the other; libadwaita 1.2 has no breakpoints.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

/** From this width on there are two columns. */
const WIDE = 720;
const GAP = 36;

export class Columns extends Gtk.LayoutManager {
  static {
    GObject.registerClass({ GTypeName: 'CulvertColumns' }, Columns);
  }

  override vfunc_get_request_mode(): Gtk.SizeRequestMode {
    return Gtk.SizeRequestMode.HEIGHT_FOR_WIDTH;
  }

  override vfunc_measure(
    widget: Gtk.Widget,
    orientation: Gtk.Orientation,
    forSize: number,
  ): [number, number, number, number] {
    const children = shown(widget);
    if (orientation === Gtk.Orientation.HORIZONTAL) {
      const sizes = children.map(child => child.measure(orientation, -1));
      return [Math.max(0, ...sizes.map(size => size[0])), sum(sizes.map(size => size[1])) + GAP, -1, -1];
    }
    const wide = isWide(children, forSize);
    const sizes = children.map(child => child.measure(orientation, wide ? half(forSize) : forSize));
    const total = (which: 0 | 1) => {
      const lengths = sizes.map(size => size[which]);
      return wide ? Math.max(0, ...lengths) : sum(lengths) + GAP * Math.max(0, children.length - 1);
    };
    return [total(0), total(1), -1, -1];
  }

  override vfunc_allocate(widget: Gtk.Widget, width: number, height: number, _baseline: number): void {
    const children = shown(widget);
    const wide = isWide(children, width);
    let y = 0;
    children.forEach((child, i) => {
      if (wide) {
        const x = widget.get_direction() === Gtk.TextDirection.RTL ? children.length - 1 - i : i;
        place(child, x * (half(width) + GAP), 0, half(width), height);
      } else {
        const needed = child.measure(Gtk.Orientation.VERTICAL, width);
        place(child, 0, y, width, needed[1]);
        y += needed[1] + GAP;
      }
    });
  }
}

function shown(widget: Gtk.Widget): Gtk.Widget[] {
  const children: Gtk.Widget[] = [];
  for (let child = widget.get_first_child(); child; child = child.get_next_sibling())
    if (child.should_layout()) children.push(child);
  return children;
}

function isWide(children: Gtk.Widget[], width: number): boolean {
  return children.length > 1 && width >= WIDE;
}

function half(width: number): number {
  return Math.floor((width - GAP) / 2);
}

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

function place(child: Gtk.Widget, x: number, y: number, width: number, height: number): void {
  const area = { x, y, width, height };
  child.size_allocate(Object.assign(new Gdk.Rectangle(), area), -1);
}
