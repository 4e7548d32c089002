// Draws curves over time with gaps for missing values, time axes, and rings that show the rest of a time span.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import PangoCairo from 'gi://PangoCairo?version=1.0';
import Cairo from 'cairo';
import type { Span } from '../../../daemon/view/form.ts';
import { newestPieces, type Point, piecesOf, type Tick } from '../../../daemon/view/graph.ts';
import { fractionLeft } from '../../../daemon/view/states/changes.ts';
import { textColor } from './compat.ts';

/** Room at both ends of a line, in pixels. */
export const INSET = 5;
/** Minimum gap between the labels of an axis, in pixels. */
const LABEL_GAP = 8;

type Values = readonly (number | null)[];

/** Axes that begin at zero, and at the first time. */
export interface Axes {
  /** Upper end of the values. */
  end: number;
  /** The time of each value, ascending. */
  times: readonly number[];
}

/** Picture that GTK draws by `draw`. */
export class Drawing extends Gtk.DrawingArea {
  static {
    GObject.registerClass({ GTypeName: 'CulvertDrawing' }, Drawing);
  }

  constructor(properties: Partial<Gtk.DrawingArea.ConstructorProps>) {
    super(properties);
    this.set_draw_func((_area, cr, width, height) => {
      this.draw(cr as unknown as Cairo.Context, width, height);
      // otherwise GJS frees the context only with the garbage
      (cr as unknown as { $dispose(): void }).$dispose();
    });
  }

  draw(_cr: Cairo.Context, _width: number, _height: number): void {}
}

export class Graph extends Drawing {
  static {
    GObject.registerClass({ GTypeName: 'CulvertGraph' }, Graph);
  }
  #lines: Values[] = [];
  /** Null for a curve of the newest statistics. */
  #axes: Axes | null = null;

  constructor() {
    super({ accessible_role: Gtk.AccessibleRole.IMG, hexpand: true, css_classes: ['culvert-graph'] });
  }

  /** Shows one line, or two, of which the second is dashed. */
  plot(lines: readonly Values[], axes: Axes | null = null): void {
    this.#lines = [...lines];
    this.#axes = axes;
    this.queue_draw();
  }

  override draw(cr: Cairo.Context, width: number, height: number): void {
    const { red, green, blue } = textColor(this);
    const color = [red, green, blue] as const;
    if (this.#axes) grid(cr, { width, height }, color);
    const lines = this.#lines.map(values => this.#curves(values, width, height));
    const all = lines[0]?.flat() ?? [];
    if (all.length < 2 && !this.#axes) {
      // a dashed line announces the curve
      cr.setSourceRGBA(...color, 0.25);
      cr.setLineWidth(2);
      cr.setDash([2, 6], 0);
      cr.moveTo(0, height / 2);
      cr.lineTo(width, height / 2);
      cr.stroke();
    }
    for (const [i, curves] of lines.entries())
      for (const points of curves) {
        if (points.length > 1) curve(cr, points, i === 0 ? height : null, color);
        // a value between gaps
        else if (points[0]) dot(cr, points[0], color, SINGLE);
      }
    const last = all.at(-1);
    if (last) dot(cr, last, color, NEWEST);
  }

  /** Returns the pieces of a line between gaps, in pixels. */
  #curves(values: Values, width: number, height: number): Point[][] {
    const { end, times = [] } = this.#axes ?? {};
    const [first = 0, last = 0] = [times[0], times.at(-1)];
    const pieces = end ? piecesOf(values, end, i => (times[i]! - first) / (last - first || 1)) : newestPieces(values);
    return pieces.map(points =>
      points.map(({ x, y }) => ({ x: INSET + x * (width - 2 * INSET), y: height - INSET - y * (height - 2 * INSET) })),
    );
  }
}

/** Labels of a time axis, which runs from left to right in every language. The names of pictures tell screen readers the times. */
export class TimeAxis extends Drawing {
  static {
    GObject.registerClass({ GTypeName: 'CulvertTimeAxis' }, TimeAxis);
  }
  readonly #inset: number;
  #ticks: readonly Tick[] = [];

  /** @param inset room at both ends of the picture above, in pixels */
  constructor(inset: number) {
    super({ accessible_role: Gtk.AccessibleRole.PRESENTATION, css_classes: ['caption', 'dim-label', 'numeric'] });
    this.#inset = inset;
  }

  plot(ticks: readonly Tick[]): void {
    this.#ticks = ticks;
    [, this.height_request] = this.create_pango_layout('0').get_pixel_size() as [number, number];
    this.queue_draw();
  }

  /** Draws the labels from the right, and leaves out those without room. */
  override draw(cr: Cairo.Context, width: number): void {
    const { red, green, blue } = textColor(this);
    cr.setSourceRGBA(red, green, blue, 1);
    let right = width;
    for (const { at, label } of [...this.#ticks].reverse()) {
      const layout = this.create_pango_layout(label);
      const [own] = layout.get_pixel_size() as [number, number];
      const middle = this.#inset + at * (width - 2 * this.#inset);
      const x = Math.max(0, Math.min(middle - own / 2, width - own));
      if (x + own > right) continue;
      cr.moveTo(x, 0);
      PangoCairo.show_layout(cr as never, layout);
      right = x - LABEL_GAP;
    }
  }
}

type Color = readonly [red: number, green: number, blue: number];

/** @param height fills the area between the curve and this height; null draws a dashed curve */
function curve(cr: Cairo.Context, points: Point[], height: number | null, color: Color): void {
  if (height !== null) {
    trace(cr, points);
    cr.lineTo(points.at(-1)!.x, height);
    cr.lineTo(points[0]!.x, height);
    cr.closePath();
    const fade = new Cairo.LinearGradient(0, 0, 0, height);
    fade.addColorStopRGBA(0, ...color, 0.3);
    fade.addColorStopRGBA(1, ...color, 0);
    cr.setSource(fade);
    cr.fill();
  }
  trace(cr, points);
  cr.setDash(height === null ? [4, 4] : [], 0);
  cr.setSourceRGBA(...color, 1);
  cr.setLineWidth(2);
  cr.setLineJoin(Cairo.LineJoin.ROUND);
  cr.stroke();
}

function trace(cr: Cairo.Context, points: Point[]): void {
  cr.newPath();
  for (const { x, y } of points) cr.lineTo(x, y);
}

/** Draws lines at zero, the middle and the end of the axis. */
function grid(cr: Cairo.Context, { width, height }: { width: number; height: number }, color: Color): void {
  cr.setSourceRGBA(...color, 0.2);
  cr.setLineWidth(1);
  for (const y of [INSET, height / 2, height - INSET]) {
    cr.moveTo(0, Math.round(y) + 0.5);
    cr.lineTo(width, Math.round(y) + 0.5);
    cr.stroke();
  }
}

/** Radius of the dots for the newest value, and for a value between gaps, in pixels. */
const [NEWEST, SINGLE] = [3.5, 1.5];

function dot(cr: Cairo.Context, { x, y }: Point, color: Color, radius: number): void {
  cr.setDash([], 0);
  cr.newSubPath();
  cr.arc(x, y, radius, 0, 2 * Math.PI);
  cr.setSourceRGBA(...color, 1);
  cr.fill();
}

/** Number of parts of the ring, each about half a pixel long; a change of one part redraws the ring. */
const PARTS = 600;
const WIDTH = 5;

/** Ring that shows the rest of a time span. Screen readers read the text next to the ring. */
export class Ring extends Drawing {
  static {
    GObject.registerClass({ GTypeName: 'CulvertRing' }, Ring);
  }
  #parts = 0;

  constructor() {
    super({
      accessible_role: Gtk.AccessibleRole.PRESENTATION,
      can_target: false,
      visible: false,
      css_classes: ['culvert-ring'],
    });
  }

  /** @param span null hides the ring. @param now in ms since the epoch */
  plot(span: Span | null, now: number): void {
    this.visible = span !== null;
    const parts = span ? Math.round(PARTS * fractionLeft(span, now)) : 0;
    if (parts === this.#parts) return;
    this.#parts = parts;
    this.queue_draw();
  }

  /** Draws the rest clockwise to the top, so that the gap grows clockwise. */
  override draw(cr: Cairo.Context, width: number, height: number): void {
    const { red, green, blue } = textColor(this);
    const radius = (Math.min(width, height) - WIDTH) / 2;
    const top = -Math.PI / 2;
    const arc = (from: number, alpha: number) => {
      cr.newSubPath();
      cr.arc(width / 2, height / 2, radius, from, top + 2 * Math.PI);
      cr.setSourceRGBA(red, green, blue, alpha);
      cr.stroke();
    };
    cr.setLineWidth(WIDTH);
    arc(top, 0.2);
    if (this.#parts > 0) arc(top + 2 * Math.PI * (1 - this.#parts / PARTS), 1);
  }
}
