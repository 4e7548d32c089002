// Lays out a page in one column, or in two if they fit, and buttons in a line if they fit: libadwaita 1.2 has no breakpoints.
import Gdk from 'gi://Gdk?version=4.0';
import GObject from 'gi://GObject?version=2.0';
import Graphene from 'gi://Graphene?version=1.0';
import Gsk from 'gi://Gsk?version=4.0';
import Gtk from 'gi://Gtk?version=4.0';

/** Width of every page with its margins, in pixels. */
const PAGE_WIDTH = 640;
/** Properties of a clamp with this width. Without the threshold, the content would be narrower before it has to be. */
export const CLAMP = { maximum_size: PAGE_WIDTH, tightening_threshold: PAGE_WIDTH };
/** Margin of a page's content at both sides, in pixels. */
export const PAGE_MARGIN = 12;
const CONTENT = PAGE_WIDTH - 2 * PAGE_MARGIN;
/** Minimum width for two columns, which a window of 1,100 pixels has, and maximum of both, in pixels. */
const WIDE = 840;
const WIDEST = 980;
const GAP = 36;
/** Gap between buttons, in pixels. */
const BUTTON_GAP = 12;

type Measures = [minimum: number, natural: number, minimumBaseline: number, naturalBaseline: number];

/** Puts the children below each other. If `two` is set and there is room, the second child is next to the first. */
export class Columns extends Gtk.LayoutManager {
  static {
    GObject.registerClass({ GTypeName: 'CulvertColumns' }, Columns);
  }
  two = false;

  override vfunc_get_request_mode(): Gtk.SizeRequestMode {
    return Gtk.SizeRequestMode.HEIGHT_FOR_WIDTH;
  }

  override vfunc_measure(widget: Gtk.Widget, orientation: Gtk.Orientation, forSize: number): Measures {
    const children = shown(widget);
    if (orientation === Gtk.Orientation.HORIZONTAL) return [widest(children, 0), widest(children, 1), -1, -1];
    const { isWide, width } = this.#fit(children, forSize);
    const heights = ([0, 1] as const).map(which =>
      isWide
        ? Math.max(...children.map(child => stacked([child], width, which)))
        : stacked(children, width < 0 ? -1 : width, which),
    );
    return [heights[0]!, heights[1]!, -1, -1];
  }

  override vfunc_allocate(widget: Gtk.Widget, width: number, height: number, _baseline: number): void {
    const children = shown(widget);
    const { isWide, width: column } = this.#fit(children, width);
    const left = Math.floor((width - (isWide ? 2 * column + GAP : column)) / 2);
    const spare = (column: Gtk.Widget[], width: number) => Math.max(0, height - stacked(column, width, 1));
    if (!isWide) {
      // a status without groups is in the middle of the page
      const top = children.length === 1 && children[0]!.valign === Gtk.Align.CENTER ? spare(children, column) / 2 : 0;
      pile(children, left, Math.floor(top), column);
      return;
    }
    const isRtl = widget.get_direction() === Gtk.TextDirection.RTL;
    for (const [i, child] of children.entries()) {
      const x = left + (isRtl ? 1 - i : i) * (column + GAP);
      // GTK focuses the child with the higher middle first, so rounding must not move the second column's middle higher
      const y = i === 0 ? Math.floor(spare([child], column) / 2) : Math.ceil(spare([child], column) / 2);
      pile([child], x, y, column);
    }
  }

  /** Returns the width of a column. */
  #fit(children: Gtk.Widget[], width: number): { isWide: boolean; width: number } {
    const isWide = this.two && children.length === 2 && width >= WIDE;
    return { isWide, width: isWide ? Math.floor((Math.min(width, WIDEST) - GAP) / 2) : Math.min(width, CONTENT) };
  }
}

/** Draws its child smaller if there is less room than the child wants. */
export class Shrinking extends Gtk.LayoutManager {
  static {
    GObject.registerClass({ GTypeName: 'CulvertShrinking' }, Shrinking);
  }
  /** Minimum height, in pixels. */
  least = Number.POSITIVE_INFINITY;

  override vfunc_measure(widget: Gtk.Widget, orientation: Gtk.Orientation, _forSize: number): Measures {
    const size = widest(shown(widget), 1);
    const least = orientation === Gtk.Orientation.VERTICAL ? Math.min(size, this.least) : size;
    return [least, least, -1, -1];
  }

  override vfunc_allocate(widget: Gtk.Widget, width: number, height: number, _baseline: number): void {
    const [child] = shown(widget);
    const size = naturalWidth(child!);
    const scale = Math.min(1, height / size);
    const corner = new Graphene.Point({ x: (width - scale * size) / 2, y: height - scale * size });
    child!.allocate(size, size, -1, new Gsk.Transform().translate(corner)!.scale(scale, scale));
  }
}

/** Puts buttons next to each other in the middle, on as many lines as they need. */
export class ButtonLine extends Gtk.LayoutManager {
  static {
    GObject.registerClass({ GTypeName: 'CulvertButtonLine' }, ButtonLine);
  }

  override vfunc_get_request_mode(): Gtk.SizeRequestMode {
    return Gtk.SizeRequestMode.HEIGHT_FOR_WIDTH;
  }

  override vfunc_measure(widget: Gtk.Widget, orientation: Gtk.Orientation, forSize: number): Measures {
    const children = shown(widget);
    if (orientation === Gtk.Orientation.HORIZONTAL) return [widest(children, 0), lineWidth(children), -1, -1];
    const lines = linesOf(children, forSize < 0 ? Infinity : forSize);
    const height = sum(lines.map(line => lineHeight(line, forSize))) + BUTTON_GAP * Math.max(0, lines.length - 1);
    return [height, height, -1, -1];
  }

  override vfunc_allocate(widget: Gtk.Widget, width: number, height: number, _baseline: number): void {
    const lines = linesOf(shown(widget), width);
    const isRtl = widget.get_direction() === Gtk.TextDirection.RTL;
    let y = 0;
    for (const line of lines) {
      const tall = lines.length === 1 ? height : lineHeight(line, width);
      let x = Math.max(0, Math.floor((width - lineWidth(line)) / 2));
      for (const child of isRtl ? line.reverse() : line) {
        const own = Math.min(naturalWidth(child), width);
        const high = child.measure(Gtk.Orientation.VERTICAL, own)[1];
        place(child, { x, y: y + Math.floor((tall - high) / 2), width: own, height: high });
        x += own + BUTTON_GAP;
      }
      y += tall + BUTTON_GAP;
    }
  }
}

/** Fills lines from the last button on, so that the menu, which is last, has a button next to it. */
function linesOf(children: Gtk.Widget[], width: number): Gtk.Widget[][] {
  const lines: Gtk.Widget[][] = [];
  for (const child of children.reverse()) {
    const [line] = lines;
    if (line && lineWidth([child, ...line]) <= width) line.unshift(child);
    else lines.unshift([child]);
  }
  return lines;
}

function lineHeight(line: Gtk.Widget[], width: number): number {
  const high = (child: Gtk.Widget) =>
    child.measure(Gtk.Orientation.VERTICAL, width < 0 ? -1 : Math.min(naturalWidth(child), width))[1];
  return Math.max(...line.map(high));
}

const naturalWidth = (child: Gtk.Widget) => child.measure(Gtk.Orientation.HORIZONTAL, -1)[1];

function lineWidth(children: Gtk.Widget[]): number {
  return sum(children.map(naturalWidth)) + BUTTON_GAP * Math.max(0, children.length - 1);
}

function widest(children: Gtk.Widget[], which: 0 | 1): number {
  return Math.max(0, ...children.map(child => child.measure(Gtk.Orientation.HORIZONTAL, -1)[which]));
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

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

function place(child: Gtk.Widget, area: { x: number; y: number; width: number; height: number }): void {
  child.size_allocate(Object.assign(new Gdk.Rectangle(), area), -1);
}

/** Minimum width of a row's value next to long words, in pixels. */
const VALUE_WIDTH = 150;

/** Reserves width for a value, because long words next to it would otherwise take all of it. */
export function keepValue(value: Gtk.Widget, text: string): void {
  // in pixels: characters of some scripts are twice as wide as others
  const [natural] = value.create_pango_layout(text).get_pixel_size() as [number, number];
  value.width_request = Math.min(natural, VALUE_WIDTH);
}

export function vertical(spacing: number): Gtk.Box {
  return new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing });
}
