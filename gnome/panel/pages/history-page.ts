// Builds the history page: a sentence, the strip of a span, events, a chart, and totals.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form, Row } from '../../../daemon/view/form.ts';
import { type Charts, chartTable, NOW, type Table } from '../../../daemon/view/graph.ts';
import {
  FIRST_CHOICE,
  type HistoryEvent,
  historyChoices,
  openHistory,
  type Recorded,
} from '../../../daemon/view/pages/history.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setName } from '../widgets/accessible.ts';
import { createCharts, createStrip } from '../widgets/charts.ts';
import { CLAMP, PAGE_MARGIN, vertical } from '../widgets/columns.ts';
import { FormGroups } from '../widgets/rows/form-groups.ts';
import { createStatus } from '../widgets/rows/status.ts';

export class HistoryPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertHistoryPage' }, HistoryPage);
  }
  readonly #host: WindowHost;
  readonly #page: ReturnType<typeof openHistory>;
  readonly #choices = historyChoices(tr);
  readonly #span = Gtk.DropDown.new_from_strings(this.#choices.map(({ title }) => title));
  readonly #sentence = new Gtk.Label({ xalign: 0, wrap: true, hexpand: true, css_classes: ['heading'] });
  readonly #status: ReturnType<typeof createStatus>;
  readonly #strip = createStrip();
  readonly #eventBox = vertical(24);
  readonly #events: FormGroups;
  readonly #more = new Gtk.Button({ label: _('Show More'), halign: Gtk.Align.CENTER });
  readonly #charts = createCharts(() => this.#showTables());
  readonly #tables: FormGroups;
  #isOnScreen = false;
  #recorded: Recorded | null = null;
  #shown: Recorded | Charts | null | undefined;
  /** The row to reveal once the page shows it. */
  #wanted = '';

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#page = openHistory(host, () => this.tick());
    this.#status = createStatus(host);
    this.#status.widget.vexpand = true;
    this.#span.valign = Gtk.Align.START;
    this.#span.selected = this.#choices.findIndex(({ id }) => id === FIRST_CHOICE);
    this.#span.connect('notify::selected', () => this.#page.choose(this.#choices[this.#span.selected]!.id));
    for (const widget of [this.#span, this.#span.get_first_child()!]) setName(widget, _('Length of time'));
    this.#more.connect('clicked', () => this.#page.more());
    const top = new Gtk.Box({ spacing: 12 });
    for (const child of [this.#sentence, this.#span]) top.append(child);
    const column = vertical(24);
    for (const side of ['margin_top', 'margin_bottom'] as const) column[side] = 24;
    for (const side of ['margin_start', 'margin_end'] as const) column[side] = PAGE_MARGIN;
    const tables = vertical(12);
    this.#events = groupsIn(this.#eventBox, host, _('Timeline'));
    this.#tables = groupsIn(tables, host, _('Totals'));
    const parts = [this.#strip.widget, this.#eventBox, this.#more, this.#charts.widget, tables];
    for (const child of [top, this.#status.widget, ...parts]) column.append(child);
    const child = new Adw.Clamp({ ...CLAMP, child: column });
    this.child = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child });
  }

  refresh(view: View): void {
    this.#isOnScreen = true;
    const { status, charts, recorded } = this.#page.view(view);
    this.#status.widget.visible = status !== null;
    if (status) this.#status.show(status);
    const shown = recorded ?? charts;
    if (shown !== this.#shown) this.#show(recorded, charts);
    this.#shown = shown;
    if (!shown || !this.#wanted) return;
    const wanted = this.#wanted;
    this.#wanted = '';
    this.#reveal(wanted);
  }

  /** Updates the page if it is on screen; a hidden page is updated when it is shown. */
  tick(): void {
    if (this.#isOnScreen) this.refresh(this.#host.view());
  }

  reload(): void {
    this.#page.shown();
  }

  leave(): void {
    this.#isOnScreen = false;
    this.#wanted = '';
  }

  close(): void {
    this.#isOnScreen = false;
    this.#page.close();
    this.#strip.close();
  }

  reveal(row: string): void {
    if (row === NOW) this.#span.selected = 0;
    else this.#wanted = row;
    this.tick();
  }

  #reveal(row: string): void {
    if (this.#charts.choose(row)) return;
    const [first] = this.#recorded?.days[0]?.events ?? [];
    if (row === 'timeline' && first) this.#events.reveal(first.at);
    else this.#tables.reveal(row);
  }

  #show(recorded: Recorded | null, charts: Charts | null): void {
    this.#recorded = recorded;
    this.#sentence.label = recorded?.sentence ?? '';
    this.#strip.widget.visible = recorded !== null;
    if (recorded) this.#strip.show(recorded.strip);
    const events = eventForm(recorded);
    this.#events.show(events);
    this.#eventBox.visible = events.groups.some(({ rows }) => rows.length > 0);
    this.#more.visible = recorded?.hasMore ?? false;
    this.#charts.show(recorded?.charts ?? charts ?? { times: [], charts: [], ticks: [] });
    this.#showTables();
  }

  /** Shows the figures of the chart and the totals, both folded. */
  #showTables(): void {
    const { totals = null, drops = [] } = this.#recorded ?? {};
    const chart = this.#charts.chart();
    const figures = chart && chartTable(chart, this.#charts.times(), tr);
    const causes = drops.map((title, i): Row => ({ kind: 'note', id: `drop-${i}`, title }));
    this.#tables.show({
      groups: [
        { id: 'figures', rows: figures ? [foldedTable('table', _('As a table'), figures)] : [] },
        { id: 'totals', rows: totals ? [foldedTable('totals', _('Totals'), totals, causes)] : [] },
      ],
    });
  }
}

function groupsIn(box: Gtk.Box, host: WindowHost, name: string): FormGroups {
  const groups = new FormGroups(
    host,
    group => box.append(group),
    group => box.remove(group),
  );
  groups.name = name;
  return groups;
}

/** Returns the events of each day. */
function eventForm(recorded: Recorded | null): Form {
  const { off = null, days = [] } = recorded ?? {};
  const title = _('The history is turned off');
  return {
    groups: [
      { id: 'off', rows: off ? [{ kind: 'button', id: 'off', title, ...off }] : [] },
      ...days.map(({ title, events }) => ({ id: title ?? 'day', title: title ?? '', rows: events.map(eventRow) })),
    ],
  };
}

function eventRow({ at, time, title, details, lasted, code }: HistoryEvent): Row {
  const words = { id: at, title: `${time}  ${title}` };
  if (!code) return { kind: 'fact', ...words, subtitle: details, value: lasted };
  const rows: Row[] = [{ kind: 'fact', id: `${at} code`, title: _('Technical details'), value: code, copy: true }];
  return { kind: 'expander', ...words, subtitle: [details, lasted].filter(Boolean).join(' · '), rows };
}

/** Returns a table as rows behind an expander: each row shows its cells with the titles of their columns. */
function foldedTable(id: string, title: string, { titles, rows }: Table, more: Row[] = []): Row {
  const facts = rows.map(([title = '', ...cells], at): Row => {
    const fact = { kind: 'fact', id: `${id}-${at}`, title } as const;
    const [value = ''] = cells;
    if (cells.length === 1) return { ...fact, value };
    const subtitle = cells.map((cell, i) => `${titles[i + 1]} ${cell}`).join(' · ');
    return { ...fact, subtitle, value: '' };
  });
  return { kind: 'expander', id, title, rows: [...facts, ...more] };
}
