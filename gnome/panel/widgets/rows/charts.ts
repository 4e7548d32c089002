// Provides the rows with pictures: one chart at a time, chosen by tabs, and the strip of the states of a span with its legend.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type Cairo from 'cairo';
import type { Chart, Charts, Kind, Strip } from '../../../../daemon/view/graph.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { HEIGHTS } from '../../../../daemon/view/states/strip.ts';
import { setDescription, setName } from '../accessible.ts';
import { vertical } from '../columns.ts';
import { namedColor, textColor } from '../compat.ts';
import { Drawing, Graph, INSET, TimeAxis } from '../graph.ts';
import { describeRow, type RowOf, type RowWidget } from './row-widget.ts';

/** Creates a row around a picture. */
function pictureRow(child: Gtk.Widget): Adw.PreferencesRow {
  for (const side of ['margin_top', 'margin_bottom', 'margin_start', 'margin_end'] as const) child[side] = 12;
  return new Adw.PreferencesRow({ child, activatable: false, focusable: false, use_markup: false });
}

export function chartRow(first: RowOf<'chart'>): RowWidget<'chart'> {
  const { TAB, TAB_LIST } = Gtk.AccessibleRole;
  const list = new Gtk.Box({ accessible_role: TAB_LIST, css_classes: ['culvert-charts'] });
  const caption = small();
  const end = small();
  const graph = new Graph();
  const axis = new TimeAxis(INSET);
  const box = vertical(3);
  graph.height_request = 120;
  list.margin_bottom = 6;
  for (const child of [list, caption, end, graph, axis]) box.append(child);
  const widget = pictureRow(box);
  const tabs = new Map<Chart['id'], { button: Gtk.ToggleButton; label: Gtk.Label }>();
  let now = first;
  let shown: Charts | null = null;

  function createTab(id: Chart['id']) {
    const label = new Gtk.Label({ wrap: true, justify: Gtk.Justification.CENTER, css_classes: ['numeric'] });
    const button = new Gtk.ToggleButton({ accessible_role: TAB, child: label, css_classes: ['flat', 'culvert-tab'] });
    button.hexpand = true;
    const [other] = tabs.values();
    if (other) button.group = other.button;
    button.connect('toggled', () => button.active && now.chosen !== id && now.choose(id));
    list.append(button);
    return { button, label };
  }

  function draw({ charts, times, ticks }: Charts, chosen: Chart['id']): void {
    for (const [id, { button }] of tabs) {
      button.visible = charts.some(each => each.id === id);
      button.active = id === chosen;
      // Tab and the search lead to the chosen one, unless the focus is on another one
      if (button.active && ![...tabs.values()].some(tab => tab.button.has_focus)) list.set_focus_child(button);
      button.update_state([Gtk.AccessibleState.SELECTED], [Number(button.active)]);
    }
    const chart = charts.find(({ id }) => id === chosen)!;
    caption.label = chart.caption ?? '';
    caption.visible = chart.caption !== null;
    end.label = chart.text(chart.end);
    setName(graph, chart.name);
    graph.plot(
      chart.lines.map(({ values }) => values),
      { end: chart.end, times },
    );
    axis.plot(ticks);
  }

  return {
    widget,
    show(row) {
      const isSame = row.charts === shown && row.chosen === now.chosen;
      now = row;
      if (isSame) return;
      shown = row.charts;
      for (const part of [widget, list]) setName(part, row.title);
      for (const { id, title, newest } of row.charts.charts) {
        const tab = tabs.get(id) ?? createTab(id);
        tabs.set(id, tab);
        tab.label.label = [title, newest ?? '–'].join('\n');
        // three long words do not fit a narrow window in large letters
        tab.label.wrap_mode = /\S{10}/.test(title) ? Pango.WrapMode.WORD_CHAR : Pango.WrapMode.WORD;
        setName(tab.button, title);
        setDescription(tab.button, newest ?? '–');
      }
      draw(row.charts, row.chosen);
    },
  };
}

function small(): Gtk.Label {
  return new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label', 'numeric'] });
}

/** Characters that look like the heights of the kinds. */
const BLOCKS: Record<Kind, string> = { on: '█', failed: '▆', paused: '▄', off: '▂', unknown: '…' };

type Color = [red: number, green: number, blue: number, alpha: number];

function colorOf(widget: Gtk.Widget, kind: Kind): Color {
  const { red, green, blue } = textColor(widget);
  if (kind === 'off') return [red, green, blue, 0.55];
  if (kind === 'unknown') return [red, green, blue, 0.4];
  const name = { on: 'success_color', failed: 'error_color', paused: 'warning_color' }[kind];
  const color = namedColor(widget, name);
  return color ? [color.red, color.green, color.blue, 1] : [red, green, blue, 1];
}

/** Height of the dotted line for what is not known, in pixels. */
const LINE = 2;

class Bars extends Drawing {
  static {
    GObject.registerClass({ GTypeName: 'CulvertBars' }, Bars);
  }
  parts: Strip['parts'] = [];

  override draw(cr: Cairo.Context, width: number, height: number): void {
    for (const { kind, from, until } of this.parts) {
      // whole pixels, which show no mixed color; a short state is visible, too
      const x = Math.round(from * width);
      const wide = Math.max(1, Math.round(until * width) - x);
      const high = kind === 'unknown' ? LINE : HEIGHTS[kind] * height;
      cr.setSourceRGBA(...colorOf(this, kind));
      // a dotted line, or a bar
      cr.setDash(kind === 'unknown' ? [LINE, LINE] : [], 0);
      cr.setLineWidth(high);
      cr.moveTo(x, height - high / 2);
      cr.lineTo(x + wide, height - high / 2);
      cr.stroke();
    }
  }
}

export function stripRow(): RowWidget<'strip'> {
  const bars = new Bars({ accessible_role: Gtk.AccessibleRole.IMG, height_request: 36 });
  const axis = new TimeAxis(0);
  const legend = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption'] });
  const box = vertical(3);
  for (const child of [bars, axis, legend]) box.append(child);
  const widget = pictureRow(box);
  let now: Strip | null = null;
  /** Writes the legend in the colors of the theme. */
  const explain = () => {
    const hex = (kind: Kind) => {
      const bytes = colorOf(bars, kind).slice(0, 3);
      return `#${bytes
        .map(part =>
          Math.round(part * 255)
            .toString(16)
            .padStart(2, '0'),
        )
        .join('')}`;
    };
    const entries = (now?.legend ?? []).map(({ kind, title }) => {
      // a line breaks between the entries
      const words = GLib.markup_escape_text(title, -1).replaceAll(' ', '\u00a0');
      return `<span foreground="${hex(kind)}">${BLOCKS[kind]}</span>\u00a0${words}`;
    });
    legend.set_markup(entries.join('    '));
  };
  const manager = Adw.StyleManager.get_default();
  let handlers: number[] = [];
  widget.connect('map', () => {
    handlers = ['notify::dark', 'notify::high-contrast'].map(signal => manager.connect(signal, explain));
    explain();
  });
  widget.connect('unmap', () => {
    for (const id of handlers) manager.disconnect(id);
  });
  return {
    widget,
    show({ title, strip }) {
      if (strip === now) return;
      now = strip;
      setName(widget, title);
      bars.parts = strip.parts;
      bars.queue_draw();
      setName(bars, strip.text);
      axis.plot(strip.ticks);
      explain();
    },
  };
}

export function figuresRow(first: RowOf<'figures'>, host: Host): RowWidget<'figures'> {
  const graph = new Graph();
  graph.height_request = 56;
  const line = new Gtk.Box({ spacing: 12, css_classes: ['culvert-figures'] });
  const last = first.figures.length - 1;
  const labels = first.figures.map((_, at) => {
    const xalign = at === 0 ? 0 : at === last ? 1 : 0.5;
    const title = new Gtk.Label({ xalign, wrap: true, css_classes: ['caption', 'dim-label'] });
    const value = new Gtk.Label({ xalign, wrap: true, css_classes: ['title-4', 'numeric'] });
    const box = vertical(0);
    box.hexpand = true; // the widest value takes the room that it needs
    box.append(title);
    box.append(value);
    line.append(box);
    return { title, value };
  });
  const box = vertical(0);
  box.append(line);
  box.append(graph);
  const button = new Gtk.Button({ child: box, css_classes: ['flat', 'culvert-latency'] });
  const widget = new Adw.PreferencesRow({ child: button, activatable: false, focusable: false });
  widget.use_markup = false;
  let now = first;
  let curve = '';
  button.connect('clicked', () => host.goTo(now.page, now.row));
  return {
    widget,
    show(row) {
      now = row;
      widget.title = row.title;
      setName(widget, row.title);
      setName(button, row.title);
      setDescription(button, describeRow(row, ...row.figures.map(({ title, value }) => `${title} ${value}`)));
      for (const [at, { title, value }] of row.figures.entries()) {
        labels[at]?.title.set_label(title);
        labels[at]?.value.set_label(value);
      }
      setName(graph, row.subtitle || row.title);
      const next = JSON.stringify(row.curve);
      if (next === curve) return;
      curve = next;
      graph.plot([row.curve]);
    },
  };
}
