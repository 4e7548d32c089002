// Builds the page of the history: graphs over any length of time, totals of days and months, and what happened when.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { History } from '../../../daemon/api/schema.ts';
import { formatDate, formatDuration, formatTime } from '../../../daemon/view/format.ts';
import { NOW, type Span, slotsOf, spans } from '../../../daemon/view/graph.ts';
import { changeWords, dropLines, lasted, readHistory, totalsTable } from '../../../daemon/view/history/records.ts';
import { pageTitle } from '../../../daemon/view/page-list.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { History as Samples } from '../history.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setDescription, setName } from '../widgets/a11y/accessible.ts';
import { labelButton } from '../widgets/button-label.ts';
import { createCharts, fillGrid } from '../widgets/charts/charts.ts';
import { ask } from '../widgets/compat.ts';
import { turnTo } from '../widgets/stack.ts';

/** Samples of the last ten minutes, at one every 5 s. */
const CAPACITY = 120;
/** Changes that are listed at first, and that "Show More" adds. */
const LISTED = 50;
/** Time by which the page may lag behind the records. */
const RENEW_MS = 60_000;
const RENEW_SHORT_MS = 5_000;
const DAY_SECONDS = 86_400;

export class HistoryPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertHistoryPage' }, HistoryPage);
  }
  readonly #host: WindowHost;
  readonly #spans = spans(tr);
  /** Now, and the lengths of time. */
  readonly #span = Gtk.DropDown.new_from_strings([_('Now'), ...this.#spans.map(({ title }) => title)]);
  readonly #samples: Samples;
  readonly #live = createCharts();
  readonly #charts = createCharts();
  readonly #totals = new Gtk.Grid({ column_spacing: 18, row_spacing: 6 });
  readonly #drops = new Gtk.Label({ xalign: 0, wrap: true });
  readonly #changes = new Gtk.ListBox({ selection_mode: Gtk.SelectionMode.NONE, css_classes: ['boxed-list'] });
  readonly #more = new Gtk.Button({ label: _('Show More'), halign: Gtk.Align.CENTER });
  readonly #off = new Gtk.Label({
    xalign: 0,
    wrap: true,
    label: _('The history is turned off. Turn it on in Settings, App.'),
  });
  readonly #stack = new Gtk.Stack();
  readonly #unsubscribe: () => void;
  #history: History | null = null;
  #limit = LISTED;
  #loadedAt = 0;
  #look: View['tunnel']['look'] | null = null;
  #loading = 0;
  #newest = -1;

  constructor(host: WindowHost, samples: Samples) {
    super();
    this.#host = host;
    this.#samples = samples;
    this.#span.selected = 1 + this.#spans.findIndex(({ id }) => id === '1d');
    this.#span.connect('notify::selected', () => {
      this.#limit = LISTED;
      void this.#load();
    });
    this.#more.connect('clicked', () => {
      this.#limit += LISTED;
      this.#showChanges();
    });
    for (const widget of [this.#span, this.#span.get_first_child()!]) setName(widget, _('Length of time'));
    this.#unsubscribe = host.model.onEvent(({ event }) => {
      if (event === 'history' && this.get_mapped()) void this.#load();
    });
    this.child = this.#build();
  }

  refresh({ tunnel }: View): void {
    if (tunnel.look !== this.#look) this.#loadedAt = 0;
    this.#look = tunnel.look;
    this.tick();
  }

  tick(): void {
    const span = this.#chosen();
    if (!span) {
      this.#showNow();
      return;
    }
    const isShort = span.seconds < DAY_SECONDS;
    if (Date.now() - this.#loadedAt > (isShort ? RENEW_SHORT_MS : RENEW_MS)) void this.#load();
  }

  reload(): void {
    void this.#load();
  }

  close(): void {
    this.#unsubscribe();
  }

  reveal(row: string): void {
    if (row === NOW) this.#span.selected = 0;
  }

  /** Null for now. */
  #chosen() {
    return this.#spans[this.#span.selected - 1] ?? null;
  }

  #showNow(): void {
    const figures = this.#samples.samples();
    turnTo(this.#stack, figures.length ? 'now' : 'none yet', pageTitle('history', tr));
    const newest = figures.at(-1)?.at ?? -1;
    if (newest === this.#newest) return;
    this.#newest = newest;
    const start = _('10 minutes ago');
    this.#live.show({ figures, capacity: CAPACITY, start, formatAt: at => formatTime(at, tr) });
  }

  #build(): Gtk.Widget {
    const clear = new Gtk.Button();
    labelButton(clear, _('Delete…'));
    clear.connect('clicked', () => void this.#clear().catch(error => this.#host.showError(error)));
    setName(clear, _('Delete the history'));
    const top = new Gtk.Box({ spacing: 6, css_classes: ['culvert-toolbar'] });
    this.#span.hexpand = true;
    top.append(this.#span);
    top.append(clear);
    const some = column();
    const now = column();
    now.append(this.#live.widget);
    for (const child of [
      this.#off,
      this.#charts.widget,
      heading(_('Totals')),
      wide(this.#totals, _('Totals')),
      this.#drops,
    ])
      some.append(child);
    for (const child of [heading(_('Timeline')), this.#changes, this.#more]) some.append(child);
    setName(this.#changes, _('Timeline'));
    // nothing, until it is known what there is
    this.#stack.add_named(new Gtk.Box(), 'reading');
    this.#stack.add_named(scrolled(some), 'some');
    this.#stack.add_named(scrolled(now), 'now');
    this.#stack.add_named(
      new Adw.StatusPage({
        icon_name: 'culvert-graph-symbolic',
        title: _('No statistics yet'),
        description: _('They appear while the tunnel is connected.'),
      }),
      'none yet',
    );
    this.#stack.add_named(
      new Adw.StatusPage({
        icon_name: 'culvert-graph-symbolic',
        title: _('Nothing recorded'),
        description: _('Connections and statistics appear here, unless that is turned off.'),
      }),
      'none',
    );
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    this.#stack.vexpand = true;
    box.append(new Adw.Clamp({ maximum_size: 720, child: top }));
    box.append(this.#stack);
    return box;
  }

  async #load(): Promise<void> {
    const span = this.#chosen();
    const loading = ++this.#loading;
    if (!span) {
      this.#showNow();
      return;
    }
    if (this.#host.view().client.offline) return;
    this.#loadedAt = Date.now();
    const { model } = this.#host;
    try {
      const history = await readHistory(query => model.call('GET /api/history', { query }), span.query);
      // the user may have chosen another length of time by now
      if (loading === this.#loading) this.#show(history, span);
    } catch (error) {
      if (loading === this.#loading && !this.#host.view().client.offline) this.#host.showError(error);
    }
  }

  #show(history: History, span: Span): void {
    this.#history = history;
    const { samples, changes, totals, since, until, enabled } = history;
    turnTo(this.#stack, samples.length || changes.length ? 'some' : 'none', pageTitle('history', tr));
    this.#off.visible = !enabled;
    const figures = slotsOf(samples, span, Date.parse(until));
    const formatAt = (at: number) => (span.seconds < DAY_SECONDS ? formatTime(at, tr) : formatDate(at, tr));
    this.#charts.show({ figures, capacity: figures.length, start: formatAt(Date.parse(since)), formatAt });
    const table = totals && totalsTable(totals, tr);
    fillGrid(this.#totals, table ? [table.titles, ...table.rows] : []);
    this.#drops.label = totals ? dropLines(totals, tr).join('\n') : '';
    this.#drops.visible = this.#drops.label !== '';
    this.#showChanges();
  }

  #showChanges(): void {
    const history = this.#history;
    if (!history) return;
    for (let row = this.#changes.get_first_child(); row; row = this.#changes.get_first_child())
      this.#changes.remove(row);
    const { changes } = history;
    const first = Math.max(0, changes.length - this.#limit);
    for (let i = changes.length - 1; i >= first; i--) {
      const change = changes[i]!;
      const { title, details } = changeWords(change, tr);
      const row = new Adw.ActionRow({ title, subtitle: details, use_markup: false, focusable: false });
      const time = change.kind === 'stop' ? '' : formatDuration(lasted(history, i) / 1000, tr);
      const times = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, valign: Gtk.Align.CENTER });
      for (const label of [time, formatDate(change.at, tr)])
        times.append(new Gtk.Label({ label, xalign: 1, css_classes: ['caption', 'dim-label', 'numeric'] }));
      row.add_suffix(times);
      setDescription(row, [details, time, formatDate(change.at, tr)].filter(Boolean).join('. '));
      this.#changes.append(row);
    }
    this.#changes.visible = changes.length > 0;
    this.#more.visible = first > 0;
  }

  async #clear(): Promise<void> {
    const answer = await ask(this.#host.window, {
      heading: _('Delete the history?'),
      body: _('Everything that was recorded is deleted, on this computer and for every window.'),
      responses: [
        ['cancel', _('Cancel')],
        ['delete', _('Delete')],
      ],
      destructive: 'delete',
    });
    if (answer !== 'delete') return;
    await this.#host.model.call('POST /api/history/clear', { body: {} });
    this.#host.toast(_('The history is deleted'));
  }
}

function column(): Gtk.Box {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 18 });
  for (const side of ['margin_top', 'margin_bottom', 'margin_start', 'margin_end'] as const) box[side] = 18;
  return box;
}

function scrolled(content: Gtk.Widget): Gtk.ScrolledWindow {
  const child = new Adw.Clamp({ maximum_size: 720, child: content });
  return new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child });
}

function heading(label: string): Gtk.Label {
  return new Gtk.Label({ label, xalign: 0, css_classes: ['heading'] });
}

/** A widget that may be wider than a narrow window scrolls on its own. */
function wide(child: Gtk.Widget, title: string): Gtk.ScrolledWindow {
  const scrolled = new Gtk.ScrolledWindow({ child, vscrollbar_policy: Gtk.PolicyType.NEVER });
  setName(scrolled, title);
  return scrolled;
}
