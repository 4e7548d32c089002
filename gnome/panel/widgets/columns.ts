// Lays out children in two columns if they fit, or else in one column, since libadwaita 1.2 has no breakpoints.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';

/** Minimum width for two columns, in pixels. */
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
      const natural = columns(children).map(column =>
        Math.max(0, ...column.map(child => child.measure(orientation, -1)[1])),
      );
      return [Math.max(0, ...sizes.map(size => size[0])), sum(natural) + GAP, -1, -1];
    }
    const wide = isWide(children, forSize);
    const total = (which: 0 | 1) =>
      wide
        ? Math.max(...columns(children).map(column => stacked(column, half(forSize), which)))
        : stacked(children, forSize, which);
    return [total(0), total(1), -1, -1];
  }

  override vfunc_allocate(widget: Gtk.Widget, width: number, height: number, _baseline: number): void {
    const children = shown(widget);
    if (!isWide(children, width)) {
      pile(children, 0, 0, width);
      return;
    }
    const rtl = widget.get_direction() === Gtk.TextDirection.RTL;
    columns(children).forEach((column, i) => {
      const x = rtl ? 1 - i : i;
      const spare = Math.max(0, height - stacked(column, half(width), 1));
      // GTK focuses the child with the higher middle first, so rounding must not move the second column's middle higher
      const y = i === 0 ? Math.floor(spare / 2) : Math.ceil(spare / 2);
      pile(column, x * (half(width) + GAP), y, half(width));
    });
  }
}

/** Assigns the second child to the second column, and all other children to the first column. */
function columns([first, second, ...rest]: Gtk.Widget[]): Gtk.Widget[][] {
  return [first ? [first, ...rest] : [], second ? [second] : []];
}

function stacked(children: Gtk.Widget[], width: number, which: 0 | 1): number {
  const heights = children.map(child => child.measure(Gtk.Orientation.VERTICAL, width)[which]);
  return sum(heights) + GAP * Math.max(0, children.length - 1);
}

function pile(children: Gtk.Widget[], x: number, y: number, width: number): void {
  for (const child of children) {
    const height = child.measure(Gtk.Orientation.VERTICAL, width)[1];
    place(child, { x, y, width, height });
    y += height + GAP;
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

function place(child: Gtk.Widget, area: { x: number; y: number; width: number; height: number }): void {
  child.size_allocate(Object.assign(new Gdk.Rectangle(), area), -1);
}

export function vertical(spacing: number): Gtk.Box {
  return new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing });
}
