// Builds the history page: graphs over a chosen length of time, totals of days and months, and a timeline.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { formatTime } from '../../../daemon/view/format.ts';
import { NOW } from '../../../daemon/view/graph.ts';
import { pageTitle } from '../../../daemon/view/page-list.ts';
import { FIRST_CHOICE, historyChoices, openHistory, type Recorded } from '../../../daemon/view/pages/history.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setDescription, setName, turnTo } from '../widgets/accessible.ts';
import { labelButton } from '../widgets/buttons.ts';
import { createCharts, fillGrid } from '../widgets/charts.ts';

/** Number of samples in ten minutes, at one sample every 5 s. */
const CAPACITY = 120;

export class HistoryPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertHistoryPage' }, HistoryPage);
  }
  readonly #host: WindowHost;
  readonly #page: ReturnType<typeof openHistory>;
  readonly #choices = historyChoices(tr);
  readonly #span = Gtk.DropDown.new_from_strings(this.#choices.map(({ title }) => title));
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
  readonly #stack = new Gtk.Stack({ vexpand: true });
  /** True while the page is on screen. */
  #seen = false;
  #turned = '';
  #recorded: Recorded | null = null;
  #newest = -1;

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#page = openHistory(host, () => this.tick());
    this.#span.hexpand = true;
    this.#span.selected = this.#choices.findIndex(({ id }) => id === FIRST_CHOICE);
    this.#span.connect('notify::selected', () => this.#page.choose(this.#choices[this.#span.selected]!.id));
    this.#more.connect('clicked', () => this.#page.more());
    for (const widget of [this.#span, this.#span.get_first_child()!]) setName(widget, _('Length of time'));
    this.child = this.#build();
  }

  refresh(view: View): void {
    this.#seen = true;
    const { chosen, recorded } = this.#page.view(view);
    if (chosen === NOW) this.#showNow();
    else if (recorded) this.#show(recorded);
    else this.#turnTo('reading');
  }

  /** Updates the page if it is on screen; a hidden page is updated when it is shown. */
  tick(): void {
    if (this.#seen) this.refresh(this.#host.view());
  }

  reload(): void {
    this.#page.shown();
  }

  leave(): void {
    this.#seen = false;
  }

  close(): void {
    this.#seen = false;
    this.#page.close();
  }

  reveal(row: string): void {
    if (row === NOW) this.#span.selected = 0;
  }

  #turnTo(name: string): void {
    if (this.#turned === name) return;
    this.#turned = name;
    turnTo(this.#stack, name, pageTitle('history', tr));
  }

  #showNow(): void {
    const figures = this.#host.figures();
    this.#turnTo(figures.length ? 'now' : 'none yet');
    const newest = figures.at(-1)?.at ?? -1;
    if (newest === this.#newest) return;
    this.#newest = newest;
    const start = _('10 minutes ago');
    this.#live.show({ figures, capacity: CAPACITY, start, formatAt: at => formatTime(at, tr) });
  }

  #build(): Gtk.Widget {
    const clear = new Gtk.Button();
    labelButton(clear, _('Delete…'));
    clear.connect('clicked', () => void this.#host.run(this.#page.view(this.#host.view()).clear));
    setName(clear, _('Delete the history'));
    const top = new Gtk.Box({ spacing: 6, css_classes: ['culvert-toolbar'] });
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
      heading(_('Timeline')),
      this.#changes,
      this.#more,
    ])
      some.append(child);
    setName(this.#changes, _('Timeline'));
    // empty until the first answer
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
    box.append(new Adw.Clamp({ maximum_size: 720, child: top }));
    box.append(this.#stack);
    return box;
  }

  #show(recorded: Recorded): void {
    this.#turnTo(recorded.isEmpty ? 'none' : 'some');
    if (recorded === this.#recorded) return;
    this.#recorded = recorded;
    const { figures, start, formatAt, enabled, totals, drops, timeline, hasMore } = recorded;
    this.#off.visible = !enabled;
    this.#charts.show({ figures, capacity: figures.length, start, formatAt });
    fillGrid(this.#totals, totals ? [totals.titles, ...totals.rows] : []);
    this.#drops.label = drops.join('\n');
    this.#drops.visible = drops.length > 0;
    for (let row = this.#changes.get_first_child(); row; row = this.#changes.get_first_child())
      this.#changes.remove(row);
    for (const { title, details, time, date } of timeline) {
      const row = new Adw.ActionRow({ title, subtitle: details, use_markup: false, focusable: false });
      const times = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, valign: Gtk.Align.CENTER });
      for (const label of [time, date])
        times.append(new Gtk.Label({ label, xalign: 1, css_classes: ['caption', 'dim-label', 'numeric'] }));
      row.add_suffix(times);
      setDescription(row, [details, time, date].filter(Boolean).join('. '));
      this.#changes.append(row);
    }
    this.#changes.visible = timeline.length > 0;
    this.#more.visible = hasMore;
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

/** Makes a widget scrollable that may be wider than a narrow window. */
function wide(child: Gtk.Widget, title: string): Gtk.ScrolledWindow {
  const scrolled = new Gtk.ScrolledWindow({ child, vscrollbar_policy: Gtk.PolicyType.NEVER });
  setName(scrolled, title);
  return scrolled;
}
