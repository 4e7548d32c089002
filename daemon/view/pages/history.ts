// Defines the history page, which reads and words the records of the span that the user chose.
import type { History } from '../../api/schema.ts';
import { type Command, workCommand } from '../form.ts';
import { formatDate, formatDuration, formatTime } from '../format.ts';
import { NOW, type Slot, type Span, slotsOf, spans } from '../graph.ts';
import type { Host } from '../host.ts';
import { changeWords, dropLines, lasted, readHistory, totalsTable } from '../states/records.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { reading } from './page.ts';

/** Number of changes that the page lists first, and that "Show More" adds. */
const LISTED = 50;
/** Time between reads, for spans of a day or more, and for shorter spans. */
const RENEW_MS = 60_000;
const RENEW_SHORT_MS = 5_000;
const DAY_SECONDS = 86_400;

/** Records of a span. The page returns the same object until something changes. */
export interface Recorded {
  figures: Slot[];
  /** Words a time on the axis. */
  formatAt(at: number): string;
  /** Label of the left end of the axis. */
  start: string;
  /** True if the history is turned on. */
  enabled: boolean;
  /** True if the span has no records. */
  isEmpty: boolean;
  totals: { titles: string[]; rows: string[][] } | null;
  drops: string[];
  /** The newest changes, newest first. */
  timeline: { at: string; date: string; title: string; details: string; time: string }[];
  /** True if there are more changes than `timeline` has. */
  hasMore: boolean;
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
  let made: { of: object; limit: number; tr: Translator; recorded: Recorded } | null = null;
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
    of: ({ tunnel }) => `${chosen} ${tunnel.look} ${events}`,
  });
  const unsubscribe = model.onEvent(({ event }) => {
    if (event !== 'history') return;
    events++;
    changed();
  });
  return {
    /** Returns the choice, its records (null until they are read), and the command that deletes the history. */
    view(view: View) {
      const tr = host.tr();
      const clear = clearCommand(host);
      const { value } = history.now(view);
      // the user may have chosen another span since the read
      if (value?.span.id !== chosen) return { chosen, recorded: null, clear };
      if (made?.of !== value || made.limit !== limit || made.tr !== tr)
        made = { of: value, limit, tr, recorded: recordedOf(value, limit, tr) };
      return { chosen, recorded: made.recorded, clear };
    },
    choose(id: string): void {
      if (id === chosen) return;
      [chosen, limit] = [id, LISTED];
      changed();
    },
    /** Lists more changes. */
    more(): void {
      limit += LISTED;
      changed();
    },
    shown: history.shown,
    close(): void {
      unsubscribe();
      history.close();
    },
  };
}

function recordedOf({ span, history }: { span: Span; history: History }, limit: number, tr: Translator): Recorded {
  const { samples, changes, totals, since, until, enabled } = history;
  const formatAt = (at: number) => (span.seconds < DAY_SECONDS ? formatTime(at, tr) : formatDate(at, tr));
  const timeline = changes.map((change, i) => ({
    at: change.at,
    date: formatDate(change.at, tr),
    ...changeWords(change, tr),
    time: change.kind === 'stop' ? '' : formatDuration(lasted(history, i) / 1000, tr),
  }));
  return {
    figures: slotsOf(samples, span, Date.parse(until)),
    formatAt,
    start: formatAt(Date.parse(since)),
    enabled,
    isEmpty: samples.length === 0 && changes.length === 0,
    totals: totals && totalsTable(totals, tr),
    drops: totals ? dropLines(totals, tr) : [],
    timeline: timeline.slice(-limit).reverse(),
    hasMore: timeline.length > limit,
  };
}

function clearCommand({ model, tr }: Host): Command {
  const { _ } = tr();
  return workCommand(() => model.call('POST /api/history/clear', { body: {} }), {
    confirm: {
      heading: _('Delete the history?'),
      body: _('Everything that was recorded is deleted, on this computer and for every window.'),
      accept: _('Delete'),
      destructive: true,
    },
    done: _('The history is deleted'),
  });
}
