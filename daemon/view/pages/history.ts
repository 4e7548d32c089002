// Defines the history page, which reads and words the records of the span that the user chose.
import type { History } from '../../api/schema.ts';
import type { MenuButton, Status } from '../form.ts';
import { formatClock, formatDay, formatLasted } from '../format.ts';
import { type Charts, chartsOf, NOW, type Slot, type Span, slotsOf, spanFrom, spans, type Table } from '../graph.ts';
import type { Host } from '../host.ts';
import { changeWords, dropLines, lasted, readHistory, totalsTable } from '../states/records.ts';
import { dayOf, type Strip, sentenceOf, stretchesOf, stripOf } from '../states/strip.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { reading } from './page.ts';

/** Number of changes that the page lists first, which leaves the chart near, and that "Show More" adds. */
const LISTED = 12;
const MORE = 50;
/** Time between reads, for spans of a day or more, and for shorter spans. */
const RENEW_MS = 60_000;
const RENEW_SHORT_MS = 5_000;
const DAY_SECONDS = 86_400;
/** Shortest phase of connecting that the page lists. */
const PHASE_MS = 60_000;

export interface HistoryEvent {
  /** ISO 8601. */
  at: string;
  time: string;
  title: string;
  details: string;
  /** A reason that has no words, as the tunnel CLI names it. */
  code: string | null;
  /** Duration of the state. */
  lasted: string;
}

/** Records of a span. The page returns the same object until something changes. */
export interface Recorded {
  sentence: string;
  strip: Strip;
  charts: Charts;
  /** Turns the history on; null if it is on. */
  off: MenuButton | null;
  totals: Table | null;
  drops: string[];
  /** The newest changes, newest first, by day. The title is null if all changes are of one day. */
  days: { title: string | null; events: HistoryEvent[] }[];
  /** True if there are more changes than `days` has. */
  hasMore: boolean;
}

/** The page shows either its status, the charts of now, or records; nothing before the first answer. */
interface Shown {
  chosen: string;
  status: Status | null;
  charts: Charts | null;
  recorded: Recorded | null;
}

/** Returns the choices: now, and the spans. */
export function historyChoices(tr: Translator): { id: string; title: string }[] {
  return [{ id: NOW, title: tr._('Now') }, ...spans(tr)];
}

/** The choice when the page opens. */
export const FIRST_CHOICE = '1d';

interface HistoryOptions {
  first?: string;
  /** True while the page is hidden and reads nothing. */
  isHidden?(): boolean;
}

/** Opens the page. Clients also request the view each second, which starts due reads. @param changed called after a change */
export function openHistory(host: Host, changed: () => void, options: HistoryOptions = {}) {
  const { model } = host;
  const { first = FIRST_CHOICE, isHidden = () => false } = options;
  let chosen = first;
  let limit = LISTED;
  let events = 0;
  const now = kept(() => nowOf(host.figures(), host.tr()));
  const past = kept(({ span, history, online }: Omit<Wanted, 'limit'>) =>
    pastOf({ span, history, online, limit }, host.tr()),
  );
  const missing = kept(([title, sentence]: [string, string]) => ({ status: empty(title, sentence) }));
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
    when: ({ client }) => chosen !== NOW && !client.offline && !isHidden(),
    of: ({ tunnel, client }) => [chosen, tunnel.look, events, client.config?.config.history.enabled].join(' '),
  });
  const unsubscribe = model.onEvent(({ event }) => {
    if (event !== 'history') return;
    events++;
    changed();
  });
  return {
    view(view: View): Shown {
      const { value, failed, running } = history.now(view);
      const none = { chosen, status: null, charts: null, recorded: null };
      const { client, tunnel } = view;
      const online = client.offline === null;
      if (chosen === NOW) return { ...none, ...now([host.figures(), host.tr()], undefined) };
      // the user may have chosen another span since the read
      if (value?.span.id === chosen)
        return { ...none, ...past([value, limit, online, host.tr()], { ...value, online }) };
      const words: [string, string] | null = !online
        ? [tunnel.label, tunnel.sentence]
        : failed !== null && !running
          ? [host.tr()._('Not available now'), failed]
          : null;
      return words ? { ...none, ...missing(words, words) } : none;
    },
    choose(id: string): void {
      if (id === chosen) return;
      [chosen, limit] = [id, LISTED];
      changed();
    },
    /** Lists more changes. */
    more(): void {
      limit += MORE;
      changed();
    },
    /** Lists all changes, for a print. */
    all(): void {
      limit = Number.POSITIVE_INFINITY;
      changed();
    },
    shown: history.shown,
    close(): void {
      unsubscribe();
      history.close();
    },
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

function nowOf(figures: readonly Slot[], tr: Translator): Pick<Shown, 'status' | 'charts'> {
  const { _ } = tr;
  const charts = chartsOf(figures, tr);
  if (charts.charts.length) return { charts, status: null };
  return { charts: null, status: empty(_('No statistics yet'), _('They appear while the tunnel is connected.')) };
}

interface Wanted {
  span: Span;
  history: History;
  /** True while the daemon answers. */
  online: boolean;
  /** Number of changes to list. */
  limit: number;
}

function pastOf(wanted: Wanted, tr: Translator): Pick<Shown, 'status' | 'recorded'> {
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
    return { status, recorded: null };
  }
  const stretches = stretchesOf(wanted.history);
  const { title, seconds } = wanted.span;
  const sentence = sentenceOf({ totals, until }, stretches, seconds === DAY_SECONDS ? null : title, tr);
  return {
    status: null,
    recorded: {
      sentence: failure ? `${sentence}. ${failure}` : sentence,
      strip: stripOf(stretches, tr),
      charts: pastCharts(wanted, tr),
      off,
      totals: totals && totalsTable(totals, tr),
      drops: totals ? dropLines(totals, tr) : [],
      ...eventsOf(wanted, tr),
    },
  };
}

/** Returns the charts from the first figure on. */
function pastCharts({ span, history: { samples, until } }: Wanted, tr: Translator): Charts {
  const [first] = samples;
  if (!first) return chartsOf([], tr);
  const end = Date.parse(until);
  return chartsOf(slotsOf(samples, spanFrom(Date.parse(first.at), end, span), end), tr);
}

function eventsOf({ history, limit }: Wanted, tr: Translator): Pick<Recorded, 'days' | 'hasMore'> {
  const events = history.changes.flatMap((change, i) => {
    const ms = lasted(history, i);
    const isPhase = change.state === 'connecting' || change.state === 'disconnecting';
    if (isPhase && change.kind === 'state' && !change.effect && ms !== null && ms < PHASE_MS) return [];
    const { at } = change;
    const time = formatClock(Date.parse(at), tr);
    const length = ms === null ? '' : formatLasted(ms / 1000, tr);
    return [{ day: dayOf(Date.parse(at)), at, time, ...changeWords(change, tr), lasted: length }];
  });
  const listed = events.slice(-limit).reverse();
  const days = [...new Set(listed.map(({ day }) => day))];
  return {
    days: days.map(day => ({
      title: days.length > 1 ? formatDay(day, tr) : null,
      events: listed.filter(each => each.day === day),
    })),
    hasMore: events.length > limit,
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
