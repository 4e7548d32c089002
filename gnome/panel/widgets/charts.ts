// Shows one chart at a time, chosen by tabs, and the strip of the states of a span with its legend.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type Cairo from 'cairo';
import type { Chart, Charts } from '../../../daemon/view/graph.ts';
import { pageTitle } from '../../../daemon/view/page-list.ts';
import { HEIGHTS, type Kind, type Strip } from '../../../daemon/view/states/strip.ts';
import { tr } from '../../i18n.ts';
import { setDescription, setName } from './accessible.ts';
import { vertical } from './columns.ts';
import { namedColor, textColor } from './compat.ts';
import { Drawing, Graph, INSET, TimeAxis } from './graph.ts';

/** @param chosen called when the user chooses another chart */
export function createCharts(chosen: () => void) {
  const { TAB, TAB_LIST } = Gtk.AccessibleRole;
  const list = new Gtk.Box({ accessible_role: TAB_LIST, css_classes: ['culvert-charts'] });
  const caption = small();
  const end = small();
  const graph = new Graph();
  const axis = new TimeAxis(INSET);
  const widget = vertical(3);
  graph.height_request = 120;
  list.margin_bottom = 6;
  setName(list, pageTitle('history', tr));
  for (const child of [list, caption, end, graph, axis]) widget.append(child);
  const tabs = new Map<Chart['id'], { button: Gtk.ToggleButton; label: Gtk.Label }>();
  let now: Charts = { times: [], charts: [], ticks: [] };
  let wanted: Chart['id'] = 'latency';
  const chart = () => now.charts.find(({ id }) => id === wanted) ?? now.charts[0] ?? null;

  function createTab(id: Chart['id']) {
    const label = new Gtk.Label({ wrap: true, justify: Gtk.Justification.CENTER, css_classes: ['numeric'] });
    const button = new Gtk.ToggleButton({ accessible_role: TAB, child: label, css_classes: ['flat', 'culvert-tab'] });
    button.hexpand = true;
    const [other] = tabs.values();
    if (other) button.group = other.button;
    button.connect('toggled', () => {
      if (!button.active || wanted === id) return;
      wanted = id;
      draw();
      chosen();
    });
    list.append(button);
    return { button, label };
  }

  function draw(): void {
    const shown = chart();
    for (const [id, { button }] of tabs) {
      button.visible = now.charts.some(each => each.id === id);
      button.active = id === shown?.id;
      button.update_state([Gtk.AccessibleState.SELECTED], [Number(button.active)]);
    }
    widget.visible = shown !== null;
    if (!shown) return;
    caption.label = shown.caption ?? '';
    caption.visible = shown.caption !== null;
    end.label = shown.text(shown.end);
    setName(graph, shown.name);
    const { times } = now;
    graph.plot(
      shown.lines.map(({ values }) => values),
      { end: shown.end, times },
    );
    axis.plot(now.ticks);
  }

  return {
    widget,
    /** The chart that is shown; null without figures. */
    chart,
    times: () => now.times,
    show(charts: Charts): void {
      now = charts;
      for (const { id, title, newest } of charts.charts) {
        const tab = tabs.get(id) ?? createTab(id);
        tabs.set(id, tab);
        tab.label.label = [title, newest ?? '–'].join('\n');
        // three long words do not fit a narrow window in large letters
        tab.label.wrap_mode = /\S{10}/.test(title) ? Pango.WrapMode.WORD_CHAR : Pango.WrapMode.WORD;
        setName(tab.button, title);
        setDescription(tab.button, newest ?? '–');
      }
      draw();
    },
    /** Shows a chart and focuses its tab; false if there is no such chart. */
    choose(id: string): boolean {
      const found = now.charts.find(each => each.id === id);
      if (!found) return false;
      wanted = found.id;
      draw();
      chosen();
      return tabs.get(found.id)!.button.grab_focus();
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

export function createStrip() {
  const bars = new Bars({ accessible_role: Gtk.AccessibleRole.IMG, height_request: 36 });
  const axis = new TimeAxis(0);
  const legend = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption'] });
  const widget = vertical(3);
  for (const child of [bars, axis, legend]) widget.append(child);
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
  const handlers = ['notify::dark', 'notify::high-contrast'].map(signal => manager.connect(signal, explain));
  return {
    widget,
    show(strip: Strip): void {
      now = strip;
      bars.parts = strip.parts;
      bars.queue_draw();
      setName(bars, strip.text);
      axis.plot(strip.ticks);
      explain();
    },
    close(): void {
      for (const id of handlers) manager.disconnect(id);
    },
  };
}
