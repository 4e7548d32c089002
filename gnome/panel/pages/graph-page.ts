// Builds the page of the graph: latency, packet loss and throughput of the last minutes, with axes, and as a table.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { formatTime } from '../../../daemon/view/format.ts';
import { pageTitle } from '../../../daemon/view/page-titles.ts';
import { _, tr } from '../../i18n.ts';
import type { History } from '../history.ts';
import type { Page } from '../shell.ts';
import { createCharts } from '../widgets/charts/charts.ts';
import { turnTo } from '../widgets/stack.ts';

/** At one figure every 5 s, ten minutes. */
const CAPACITY = 120;

export class GraphPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass({ GTypeName: 'CulvertGraphPage' }, GraphPage);
  }
  readonly #history: History;
  readonly #charts = createCharts();
  readonly #stack = new Gtk.Stack();
  #last = -1;

  constructor(history: History) {
    super();
    this.#history = history;
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    for (const side of ['margin_top', 'margin_bottom', 'margin_start', 'margin_end'] as const) box[side] = 18;
    box.append(this.#charts.widget);
    const clamp = new Adw.Clamp({ maximum_size: 720, child: box });
    this.#stack.add_named(new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp }), 'curves');
    const none = new Adw.StatusPage({
      icon_name: 'culvert-graph-symbolic',
      title: _('No statistics yet'),
      description: _('They appear while the tunnel is connected.'),
    });
    this.#stack.add_named(none, 'none');
    this.child = this.#stack;
  }

  refresh(): void {
    const figures = this.#history.samples();
    turnTo(this.#stack, figures.length ? 'curves' : 'none', pageTitle('graph', tr));
    const newest = figures.at(-1)?.at ?? -1;
    if (newest === this.#last) return;
    this.#last = newest;
    const start = _('10 minutes ago');
    this.#charts.show({ figures, capacity: CAPACITY, start, formatAt: at => formatTime(at, tr) });
  }
}
