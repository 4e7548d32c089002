// Provides the row with values side by side and the curve of one of them over time.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../../../daemon/view/host.ts';
import { setDescription, setName } from '../accessible.ts';
import { vertical } from '../columns.ts';
import { Graph } from '../graph.ts';
import { describeRow, type RowOf, type RowWidget } from './row-widget.ts';

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
