// Shows latency, packet loss and throughput as four curves with axes and a table of their values.
import Gtk from 'gi://Gtk?version=4.0';
import { axisEnd, curves, rangeOf, type Slot } from '../../../daemon/view/graph.ts';
import { fill } from '../../../daemon/view/translator.ts';
import { _, tr } from '../../i18n.ts';
import { setName } from './accessible.ts';
import { Graph } from './graph.ts';

interface Shown {
  figures: readonly Slot[];
  /** Number of samples that fit the width. */
  capacity: number;
  /** Label of the time axis's left end. */
  start: string;
  /** Formats a time for the table. */
  formatAt(at: number): string;
}

const NONE: Pick<Shown, 'figures' | 'formatAt'> = { figures: [], formatAt: String };

export interface Charts {
  widget: Gtk.Widget;
  show(shown: Shown): void;
}

/** Maximum number of rows in the table, which shows the newest values. */
const LISTED = 24;

export function createCharts(): Charts {
  const charts = curves(tr).map(curve => ({ curve, ...createChart(curve.title) }));
  const table = new Gtk.Grid({ column_spacing: 18, row_spacing: 6, margin_top: 12 });
  const expander = new Gtk.Expander({ label: _('As a table'), child: table });
  setName(expander, _('As a table'));
  const widget = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 18 });
  for (const chart of charts) widget.append(chart.widget);
  widget.append(expander);
  let last: Shown | null = null;

  function showTable(): void {
    // a folded table stays empty, so that GTK need not lay it out
    const { figures, formatAt } = expander.expanded && last ? last : NONE;
    const measured = figures.filter(each => charts.some(({ curve }) => curve.value(each) !== null));
    const rows = measured.slice(-LISTED).reverse();
    const text = (each: Slot) =>
      charts.map(({ curve }) => {
        const value = curve.value(each);
        return value === null ? '–' : curve.text(value);
      });
    fillGrid(table, [
      [_('Time'), ...charts.map(({ curve }) => curve.title)],
      ...rows.map(each => [formatAt(each.at), ...text(each)]),
    ]);
  }
  expander.connect('notify::expanded', showTable);

  return {
    widget,
    show(shown) {
      last = shown;
      const { figures, capacity, start } = shown;
      for (const { curve, graph, end, now, from } of charts) {
        const values = figures.map(curve.value);
        const range = rangeOf(values);
        const top = axisEnd(range?.greatest ?? 0, curve.finest);
        graph.plot(values, top, capacity);
        end.label = range ? curve.text(top) : '';
        from.label = start;
        const newest = values.at(-1) ?? null;
        now.label = newest === null ? '–' : curve.text(newest);
        const sizes = range && [range.least, range.greatest, range.mean].map(curve.text);
        // Translators: for screen readers; the name of a curve, then three figures such as 12 ms
        setName(graph, sizes ? fill(_('%s: from %s to %s, %s on average'), curve.title, ...sizes) : curve.title);
      }
      showTable();
    },
  };
}

/** Fills a grid with rows of text; the first row has the titles. */
export function fillGrid(grid: Gtk.Grid, rows: readonly (readonly string[])[]): void {
  for (let child = grid.get_first_child(); child; child = grid.get_first_child()) grid.remove(child);
  rows.forEach((cells, row) => {
    cells.forEach((label, column) => {
      const css_classes = row === 0 ? ['heading'] : ['numeric'];
      grid.attach(new Gtk.Label({ label, xalign: 0, css_classes }), column, row, 1, 1);
    });
  });
}

function createChart(title: string) {
  const heading = new Gtk.Label({ label: title, xalign: 0, hexpand: true, wrap: true, css_classes: ['heading'] });
  const now = new Gtk.Label({ css_classes: ['numeric'] });
  const head = new Gtk.Box({ spacing: 12 });
  head.append(heading);
  head.append(now);
  const graph = new Graph();
  graph.height_request = 80;
  // the name of the graph tells a screen reader the range of the axis
  const end = new Gtk.Label({ xalign: 0, css_classes: ['caption', 'dim-label', 'numeric'] });
  // the curve runs from left to right in every language
  const span = new Gtk.Box();
  span.set_direction(Gtk.TextDirection.LTR);
  const from = new Gtk.Label({ xalign: 0, hexpand: true, css_classes: ['caption', 'dim-label'] });
  from.set_direction(Gtk.TextDirection.LTR);
  span.append(from);
  span.append(new Gtk.Label({ label: _('Now'), css_classes: ['caption', 'dim-label'] }));
  const widget = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 3 });
  for (const child of [head, end, graph, span]) widget.append(child);
  return { widget, graph, end, now, from };
}
