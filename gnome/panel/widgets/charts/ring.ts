// Provides a ring that shows how much is left of a time. A screen reader hears the text next to it.
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type Cairo from 'cairo';
import { fractionLeft, type Span } from '../../../../daemon/view/states/changes.ts';
import { textColor } from '../compat.ts';

/** Parts of the ring: it is drawn again when another one is gone, each about half a pixel long. */
const PARTS = 600;
const WIDTH = 5;

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
      // GJS frees the context only with the garbage otherwise
      (cr as unknown as { $dispose(): void }).$dispose();
    });
  }

  /** @param span null takes the ring away. @param now in ms since the epoch */
  plot(span: Span | null, now: number): void {
    this.visible = span !== null;
    const parts = span ? Math.round(PARTS * fractionLeft(span, now)) : 0;
    if (parts === this.#parts) return;
    this.#parts = parts;
    this.queue_draw();
  }

  /** The rest runs clockwise to the top, so that the gap grows as a clock's hand moves. */
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
