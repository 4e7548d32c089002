// A small live curve of the latency, so that a change is seen and not only read.

import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Cairo from 'cairo';
import { textColour } from './compat.ts';

/** At one figure every 5 s, five minutes. */
const CAPACITY = 60;

export class Graph extends Gtk.DrawingArea {
  static {
    GObject.registerClass({ GTypeName: 'CulvertGraph' }, Graph);
  }
  #values: number[] = [];

  constructor(params: Partial<Gtk.DrawingArea.ConstructorProps> = {}) {
    super({ accessible_role: Gtk.AccessibleRole.IMG, ...params });
    this.set_draw_func((_area, cr, width, height) => {
      this.#draw(cr as unknown as Cairo.Context, width, height);
      // GJS frees the context only with the garbage otherwise
      (cr as unknown as { $dispose(): void }).$dispose();
    });
  }

  /** Adds a figure at the right end. */
  push(value: number): void {
    this.#values = [...this.#values, value].slice(-CAPACITY);
    this.queue_draw();
  }

  clear(): void {
    this.#values = [];
    this.queue_draw();
  }

  /** Least, mean and greatest of what is shown, or null before the first figure. */
  range(): { least: number; mean: number; greatest: number } | null {
    if (!this.#values.length) return null;
    const total = this.#values.reduce((a, b) => a + b, 0);
    return {
      least: Math.min(...this.#values),
      mean: total / this.#values.length,
      greatest: Math.max(...this.#values),
    };
  }

  #draw(cr: Cairo.Context, width: number, height: number): void {
    const { red, green, blue } = textColour(this);
    const points = this.#points(width, height);
    if (points.length < 2) {
      // a base line says that a curve will come
      cr.setSourceRGBA(red, green, blue, 0.25);
      cr.setLineWidth(2);
      cr.setDash([2, 6], 0);
      cr.moveTo(0, height / 2);
      cr.lineTo(width, height / 2);
      cr.stroke();
      if (points[0]) dot(cr, points[0], [red, green, blue]);
      return;
    }
    const last = points.at(-1)!;
    trace(cr, points);
    cr.lineTo(last.x, height);
    cr.lineTo(points[0]!.x, height);
    cr.closePath();
    const fade = new Cairo.LinearGradient(0, 0, 0, height);
    fade.addColorStopRGBA(0, red, green, blue, 0.3);
    fade.addColorStopRGBA(1, red, green, blue, 0);
    cr.setSource(fade);
    cr.fill();
    trace(cr, points);
    cr.setSourceRGBA(red, green, blue, 1);
    cr.setLineWidth(2);
    cr.setLineJoin(Cairo.LineJoin.ROUND);
    cr.stroke();
    dot(cr, last, [red, green, blue]);
  }

  /** Newest at the right; the scale has room above, and never magnifies a jitter of a millisecond. */
  #points(width: number, height: number): Point[] {
    const inset = 5;
    const least = Math.min(...this.#values);
    const span = Math.max(Math.max(...this.#values) - least, 5, least * 0.2);
    const step = (width - 2 * inset) / (CAPACITY - 1);
    return this.#values.map((value, i) => ({
      x: width - inset - (this.#values.length - 1 - i) * step,
      y: height - inset - 4 - ((value - least) / span) * (height - 2 * inset - 8),
    }));
  }
}

interface Point {
  x: number;
  y: number;
}

function trace(cr: Cairo.Context, points: Point[]): void {
  cr.newPath();
  for (const { x, y } of points) cr.lineTo(x, y);
}

function dot(cr: Cairo.Context, { x, y }: Point, [red, green, blue]: [number, number, number]): void {
  cr.setDash([], 0);
  cr.newSubPath();
  cr.arc(x, y, 3.5, 0, 2 * Math.PI);
  cr.setSourceRGBA(red, green, blue, 1);
  cr.fill();
}
