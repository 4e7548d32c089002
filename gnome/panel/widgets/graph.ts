// Draws curves over time with gaps for missing values, and rings that show the rest of a time span.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Cairo from 'cairo';
import type { Span } from '../../../daemon/view/form.ts';
import { fractionLeft } from '../../../daemon/view/states/changes.ts';
import { textColor } from './compat.ts';

/** Default number of values that fit the width. */
const CAPACITY = 60;

export class Graph extends Gtk.DrawingArea {
  static {
    GObject.registerClass({ GTypeName: 'CulvertGraph' }, Graph);
  }
  #values: (number | null)[] = [];
  #capacity: number;
  /** Upper end of the axis; null adapts it to the values, which may then begin above zero. */
  #end: number | null = null;

  constructor(capacity = CAPACITY) {
    super({ accessible_role: Gtk.AccessibleRole.IMG, hexpand: true, css_classes: ['culvert-graph'] });
    this.#capacity = capacity;
    this.set_draw_func((_area, cr, width, height) => {
      this.#draw(cr as unknown as Cairo.Context, width, height);
      // otherwise GJS frees the context only with the garbage
      (cr as unknown as { $dispose(): void }).$dispose();
    });
  }

  /**
   * Shows the newest of `values`, oldest first.
   * @param end upper end of an axis that begins at zero; null adapts the axis to the values.
   * @param capacity number of values that fit the width.
   */
  plot(values: (number | null)[], end: number | null = null, capacity = this.#capacity): void {
    this.#capacity = capacity;
    this.#values = values.slice(-this.#capacity);
    this.#end = end;
    this.queue_draw();
  }

  #draw(cr: Cairo.Context, width: number, height: number): void {
    const { red, green, blue } = textColor(this);
    const color = [red, green, blue] as const;
    if (this.#end !== null) grid(cr, { width, height }, color);
    const curves = this.#curves(width, height);
    const all = curves.flat();
    if (all.length < 2) {
      // a dashed line announces the curve
      cr.setSourceRGBA(...color, 0.25);
      cr.setLineWidth(2);
      cr.setDash([2, 6], 0);
      cr.moveTo(0, height / 2);
      cr.lineTo(width, height / 2);
      cr.stroke();
    }
    for (const points of curves.filter(({ length }) => length > 1)) curve(cr, points, height, color);
    const last = all.at(-1);
    if (last) dot(cr, last, color);
  }

  /** Returns the pieces between gaps, the newest at the right. The scale never magnifies a jitter of one millisecond. */
  #curves(width: number, height: number): Point[][] {
    const inset = 5;
    const numbers = this.#values.filter((value): value is number => value !== null);
    const least = this.#end === null ? Math.min(...numbers) : 0;
    const span = this.#end ?? Math.max(Math.max(...numbers) - least, 5, least * 0.2);
    const step = (width - 2 * inset) / (this.#capacity - 1);
    const curves: Point[][] = [[]];
    this.#values.forEach((value, i) => {
      if (value === null) curves.push([]);
      else
        curves.at(-1)!.push({
          x: width - inset - (this.#values.length - 1 - i) * step,
          y: height - inset - ((value - least) / span) * (height - 2 * inset),
        });
    });
    return curves;
  }
}

interface Point {
  x: number;
  y: number;
}
type Color = readonly [red: number, green: number, blue: number];

function curve(cr: Cairo.Context, points: Point[], height: number, color: Color): void {
  trace(cr, points);
  cr.lineTo(points.at(-1)!.x, height);
  cr.lineTo(points[0]!.x, height);
  cr.closePath();
  const fade = new Cairo.LinearGradient(0, 0, 0, height);
  fade.addColorStopRGBA(0, ...color, 0.3);
  fade.addColorStopRGBA(1, ...color, 0);
  cr.setSource(fade);
  cr.fill();
  trace(cr, points);
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
  for (const y of [5, height / 2, height - 5]) {
    cr.moveTo(0, Math.round(y) + 0.5);
    cr.lineTo(width, Math.round(y) + 0.5);
    cr.stroke();
  }
}

function dot(cr: Cairo.Context, { x, y }: Point, color: Color): void {
  cr.setDash([], 0);
  cr.newSubPath();
  cr.arc(x, y, 3.5, 0, 2 * Math.PI);
  cr.setSourceRGBA(...color, 1);
  cr.fill();
}

/** Number of parts of the ring, each about half a pixel long; a change of one part redraws the ring. */
const PARTS = 600;
const WIDTH = 5;

/** Ring that shows the rest of a time span. Screen readers read the text next to the ring. */
export class Ring extends Gtk.DrawingArea {
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
    this.set_draw_func((_area, cr, width, height) => {
      this.#draw(cr as unknown as Cairo.Context, width, height);
      // otherwise GJS frees the context only with the garbage
      (cr as unknown as { $dispose(): void }).$dispose();
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
  #draw(cr: Cairo.Context, width: number, height: number): void {
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
