// Defines the history page, which reads and words the records of the span that the user chose.
import type { History, HistoryChange } from '../../api/schema.ts';
import { actionCommand, type Group, type MenuButton, type Row, type Status } from '../form.ts';
import { formatClock, formatDay, formatLasted } from '../format.ts';
import {
  type Chart,
  type Charts,
  chartsOf,
  chartTable,
  NOW,
  type Slot,
  type Span,
  slotsOf,
  spanFrom,
  spans,
} from '../graph.ts';
import { pageTitle } from '../page-list.ts';
import { changeWords, dropLines, lasted, readHistory, totalsTable } from '../states/records.ts';
import { dayOf, sentenceOf, stretchesOf, stripOf } from '../states/strip.ts';
import type { TunnelView } from '../states/tunnel.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { type Page, reading } from './page.ts';

/** Number of changes that the page lists first, which leaves the chart near, and that "Show More" adds. */
const LISTED = 12;
const MORE = 50;
/** Time between reads, for spans of a day or more, and for shorter spans. */
const RENEW_MS = 60_000;
const RENEW_SHORT_MS = 5_000;
const DAY_SECONDS = 86_400;
/** Shortest phase of connecting that the page lists. */
const PHASE_MS = 60_000;

/** Content below the choice of a span. */
interface Shown {
  status?: Status;
  /** Sums up the span: the headline. */
  sentence?: string;
  /** Why nothing is recorded now. */
  failure?: string | null;
  groups: Group[];
}

/** The choice when the page opens. */
const FIRST_CHOICE = '1d';
const CHARTS: readonly Chart['id'][] = ['latency', 'loss', 'speed'];

export const historyPage: Page = (host, changed) => {
  const { model } = host;
  let chosen = FIRST_CHOICE;
  let chart: Chart['id'] = 'latency';
  let limit = LISTED;
  let events = 0;
  const list = (count: number) => {
    limit = count;
    changed();
  };
  const choose = (id: string) => {
    if (id === chosen) return;
    chosen = id;
    list(LISTED);
  };
  const draw = (charts: Charts) => {
    const pick = (id: Chart['id']) => {
      chart = id;
      changed();
    };
    return chartGroup(charts, chart, pick, host.tr());
  };
  const more = () => list(limit + MORE);
  const now = kept(({ toggle }: Pick<TunnelView, 'toggle'>) => nowOf(host.figures(), draw, toggle, host.tr()));
  const past = kept((wanted: Wanted) => pastOf(wanted, host.tr()));
  const whole = kept((shown: Shown) => ({
    ...(shown.status && { status: shown.status }),
    groups: [spanGroup(chosen, choose, shown, host.tr()), ...shown.groups],
  }));
  const span = () => spans(host.tr()).find(({ id }) => id === chosen) ?? null;
  const history = reading(host, changed, {
    async read() {
      const wanted = span();
      if (!wanted) return null;
      try {
        const answer = await readHistory(query => model.call('GET /api/history', { query }), wanted.query);
        return { span: wanted, history: answer };
      } catch (error) {
        // the user may have chosen another span by now
        if (chosen === wanted.id && !host.view().client.offline) host.showError(error);
        throw error;
      }
    },
    everyMs: () => ((span()?.seconds ?? 0) < DAY_SECONDS ? RENEW_SHORT_MS : RENEW_MS),
    when: ({ client }) => chosen !== NOW && !client.offline && !host.isHidden(),
    of: ({ tunnel, client }) => [chosen, tunnel.look, events, client.config?.config.history.enabled].join(' '),
  });
  const unsubscribe = model.onEvent(({ event }) => {
    if (event !== 'history') return;
    events++;
    changed();
  });
  const shownOf = (view: View): Shown => {
    const { value, failed, running } = history.now(view);
    const { client, tunnel } = view;
    const online = client.offline === null;
    const tr = host.tr();
    if (chosen === NOW) return now([host.figures(), chart, tunnel.toggle.action, tunnel.toggle.sensitive, tr], tunnel);
    // the user may have chosen another span since the read
    if (value?.span.id === chosen)
      return past([value, limit, online, chart, tr], { ...value, limit, online, draw, more });
    if (!online) return { status: empty(tunnel.label, tunnel.sentence), groups: [] };
    return failed !== null && !running
      ? { status: empty(tr._('Not available now'), failed), groups: [] }
      : // in place of the sentence to come
        { sentence: tr._('Reading…'), groups: [] };
  };
  return {
    ticks: true,
    form(view) {
      const shown = shownOf(view);
      return whole([shown, chosen, host.tr()], shown);
    },
    reveal(row) {
      if (row === NOW) choose(NOW);
      const found = CHARTS.find(id => id === row);
      if (found) chart = found;
      return row === NOW ? '' : found ? 'chart' : row;
    },
    showAll: () => list(Number.POSITIVE_INFINITY),
    shown: history.shown,
    close() {
      unsubscribe();
      history.close();
    },
  };
};

function spanGroup(
  value: string,
  choose: (id: string) => void,
  { sentence, failure }: Pick<Shown, 'sentence' | 'failure'>,
  tr: Translator,
): Group {
  const choices = [{ id: NOW, title: tr._('Now') }, ...spans(tr)];
  const row: Row = {
    kind: 'select',
    id: 'span',
    title: tr._('Length of time'),
    options: choices.map(({ id, title }) => ({ value: id, label: title })),
    value,
    command: id => ({ ask: { kind: 'show', show: () => choose(id) } }),
  };
  return { id: 'span', title: sentence, description: failure ?? undefined, rows: [row] };
}

/** Returns one of the charts, with its figures as a table. */
function chartGroup(charts: Charts, wanted: Chart['id'], choose: (id: Chart['id']) => void, tr: Translator): Group {
  const chart = charts.charts.find(({ id }) => id === wanted) ?? charts.charts[0];
  if (!chart) return { id: 'charts', rows: [] };
  return {
    id: 'charts',
    rows: [
      { kind: 'chart', id: 'chart', title: pageTitle('history', tr), charts, chosen: chart.id, choose },
      { kind: 'table', id: 'table', title: tr._('As a table'), table: chartTable(chart, charts.times, tr) },
    ],
  };
}

/** Makes again only what depends on something that changed. */
function kept<A, T>(make: (of: A) => T) {
  let made: { keys: readonly unknown[]; value: T } | null = null;
  return (keys: readonly unknown[], of: A): T => {
    if (!made || keys.some((key, i) => key !== made!.keys[i])) made = { keys, value: make(of) };
    return made.value;
  };
}

function nowOf(figures: readonly Slot[], draw: Wanted['draw'], toggle: TunnelView['toggle'], tr: Translator): Shown {
  const { _ } = tr;
  const charts = chartsOf(figures, tr);
  if (charts.charts.length) return { groups: [draw(charts)] };
  const { action, label, sensitive } = toggle;
  const buttons = action === 'connect' ? [{ label, command: actionCommand({ action }), sensitive }] : [];
  const status = empty(_('No statistics yet'), _('They appear while the tunnel is connected.'), buttons);
  return { status, groups: [] };
}

interface Wanted {
  span: Span;
  history: History;
  /** True while the daemon answers. */
  online: boolean;
  /** Number of changes to list. */
  limit: number;
  draw(charts: Charts): Group;
  /** Lists more changes. */
  more(): void;
}

function pastOf(wanted: Wanted, tr: Translator): Shown {
  const { _ } = tr;
  const { changes, samples, totals, enabled, until, problem } = wanted.history;
  const failure = problem === undefined ? null : fill(_('The history is not recorded: %s'), problem);
  const off = enabled ? null : turnOn(wanted.online, tr);
  // the begin of the recording alone is nothing to show
  const isEmpty = !samples.length && !totals?.connectedSeconds && changes.every(({ kind }) => kind !== 'state');
  if (isEmpty) {
    const status = off
      ? empty(_('The history is turned off'), _('It stays on this computer, for 90 days.'), [off])
      : empty(_('Nothing recorded'), failure ?? _('Connections and statistics appear here.'));
    return { status, groups: [] };
  }
  const stretches = stretchesOf(wanted.history);
  const { title, seconds } = wanted.span;
  const sentence = sentenceOf({ totals, until }, stretches, seconds === DAY_SECONDS ? null : title, tr);
  const strip = stripOf(stretches, tr);
  return {
    sentence,
    failure,
    groups: [
      { id: 'strip', rows: [{ kind: 'strip', id: 'strip', title: strip.text, strip }] },
      { id: 'off', rows: off ? [{ kind: 'button', id: 'off', title: _('The history is turned off'), ...off }] : [] },
      ...eventGroups(wanted, tr),
      wanted.draw(pastCharts(wanted, tr)),
      { id: 'totals', rows: totals ? [totalsRow(totals, tr)] : [] },
    ],
  };
}

function totalsRow(totals: NonNullable<History['totals']>, tr: Translator): Row {
  const table = totalsTable(totals, tr);
  return { kind: 'table', id: 'totals', title: tr._('Totals'), table, notes: dropLines(totals, tr) };
}

/** Returns the charts from the first figure on. */
function pastCharts({ span, history: { samples, until } }: Wanted, tr: Translator): Charts {
  const [first] = samples;
  if (!first) return chartsOf([], tr);
  const end = Date.parse(until);
  return chartsOf(slotsOf(samples, spanFrom(Date.parse(first.at), end, span), end), tr);
}

/** Returns the newest changes, newest first, by day, and a button for more. */
function eventGroups({ history, limit, more }: Wanted, tr: Translator): Group[] {
  const { _ } = tr;
  const events = history.changes.flatMap((change, i) => {
    const ms = lasted(history, i);
    const isPhase = change.state === 'connecting' || change.state === 'disconnecting';
    if (isPhase && change.kind === 'state' && !change.effect && ms !== null && ms < PHASE_MS) return [];
    const length = ms === null ? '' : formatLasted(ms / 1000, tr);
    return [{ day: dayOf(Date.parse(change.at)), row: eventRow(change, length, tr) }];
  });
  const listed = events.slice(-limit).reverse();
  // a search leads to the newest
  if (listed[0]) listed[0].row.id = 'timeline';
  const days = [...new Set(listed.map(({ day }) => day))];
  const groups = days.map(day => ({
    id: `day-${day}`,
    title: days.length > 1 ? formatDay(day, tr) : _('Timeline'),
    rows: listed.filter(each => each.day === day).map(({ row }) => row),
  }));
  const button: Row = {
    kind: 'button',
    id: 'more',
    title: _('Show More'),
    command: { ask: { kind: 'show', show: more } },
  };
  return [...groups, { id: 'more', rows: events.length > limit ? [button] : [] }];
}

/** Shows a change; a reason that has no words, below the words, as the tunnel CLI names it. */
function eventRow(change: HistoryChange, length: string, tr: Translator): Row {
  const { at } = change;
  const { title, details, code } = changeWords(change, tr);
  return {
    kind: 'fact',
    id: at,
    title: `${formatClock(Date.parse(at), tr)}  ${title}`,
    subtitle: [details, code].filter(Boolean).join('\n'),
    ...(code && { englishLines: [1] }),
    value: length,
  };
}

function turnOn(online: boolean, { _ }: Translator): MenuButton {
  return {
    label: _('Turn On'),
    name: _('Turn on the history'),
    style: 'suggested',
    sensitive: online,
    command: { ask: { kind: 'config', patch: { history: { enabled: true } } } },
  };
}

function empty(title: string, sentence: string, buttons: MenuButton[] = []): Status {
  return { icon: 'culvert-graph-symbolic', tone: 'neutral', title, sentence, buttons };
}
