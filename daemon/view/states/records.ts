// Reads the history, and formats its changes, causes and totals for clients.
import type { Blocked, History, HistoryChange, HistoryDay, HistoryQuery, HistoryTotal } from '../../api/schema.ts';
import { totalOf } from '../../api/totals.ts';
import { modeName, setupText } from '../client/labels.ts';
import { formatBytes, formatCount, formatDay, formatElapsed, formatList } from '../format.ts';
import type { Table } from '../graph.ts';
import { placeName } from '../places.ts';
import { fill, type Translator } from '../translator.ts';
import { causeTitle, choiceText, isPhase } from './causes.ts';
import { subjectLabel } from './changes.ts';
import { actText } from './networks.ts';
import { stateName } from './state-table.ts';

/** Reads all pages of a span of the history. @param call requests a page from the daemon */
export async function readHistory(
  call: (query: HistoryQuery) => Promise<History>,
  query: HistoryQuery,
): Promise<History> {
  const first = await call(query);
  const [changes, samples] = [[...first.changes], [...first.samples]];
  // fixes the end of the span, so that the pages fit together
  const rest = { ...query, since: first.since, until: first.until, resolution: first.resolution };
  for (let next = first.next; next !== null; ) {
    const page = await call({ ...rest, cursor: next });
    changes.push(...page.changes);
    samples.push(...page.samples);
    next = page.next;
  }
  return { ...first, changes, samples, next: null };
}

/** Sums days into months (`2026-11`), in the same order. */
export function monthsOf(days: readonly HistoryDay[]): (HistoryTotal & { month: string })[] {
  const months = [...new Set(days.map(({ day }) => day.slice(0, 7)))];
  return months.map(month => ({ month, ...totalOf(days.filter(({ day }) => day.startsWith(month))) }));
}

/** Counts the connections that ended without a request. */
export const dropCount = ({ drops }: Pick<HistoryTotal, 'drops'>): number =>
  Object.values(drops).reduce((sum, n) => sum + n, 0);

/** Words the cause of a connection's end. */
function dropTitle(cause: string, tr: Translator): string {
  if (cause === 'unknown') return tr._('Cause not reported');
  if (BLOCKED.includes(cause)) return setupText(cause as Blocked, tr);
  const title = reasonTitle(cause, tr);
  // Translators: a reason in words, and its code
  return title ?? fill(tr._('%s (%s)'), unknownReason(tr), cause);
}

const BLOCKED: readonly string[] = [
  'cli-missing',
  'cli-too-old',
  'service-stopped',
  'service-hangs',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
] satisfies Blocked[];

/** Returns the template for an effect of a network rule, or for its end, with places for the rule's name and the effect. */
function effectWords({ ended }: NonNullable<HistoryChange['effect']>, { _ }: Translator): string {
  // Translators: %s is the name of a rule for networks, then what it restores, such as WARP is paused
  if (ended) return _('Rule “%s” no longer holds: %s');
  // Translators: the first %s is the name of a rule for networks, the second what it does, such as WARP is paused
  return _('Rule “%s”: %s');
}

/**
 * Words a change, with details such as the reason, the mode and the data center. `code` is a reason that lacks its own words.
 */
export function changeWords(
  change: HistoryChange,
  tr: Translator,
): { title: string; details: string; code: string | null } {
  const { _ } = tr;
  const { kind, state, blocked, network, mode, colo, effect, reverted } = change;
  if (kind === 'stop') return { title: _('Recording stopped'), details: '', code: null };
  // the network's state has its own words, and a phase of connecting says nothing about another state
  const isWorded =
    state === 'connecting' ||
    isPhase(change.reason ?? '') ||
    (network === 'unstable' && change.reason === 'NetworkDegraded');
  const reason = blocked || isWorded || change.byUser === false ? null : change.reason;
  const why = reason && reasonTitle(reason, tr);
  // at the time of a revert, the tunnel was already off
  const isOff = state === 'disconnected' && reason === 'Manual' && reverted === undefined;
  const parts = [
    blocked && setupText(blocked, tr),
    reason && !isOff && (why ?? unknownReason(tr)),
    network === 'unstable' && _('Unstable network'),
    state === 'connected' && mode && modeName(mode, tr).title,
    // Translators: %s is a city, such as Frankfurt
    colo && fill(_('via %s'), placeName(colo)),
    // Translators: the first %s is the name of a rule for networks, the second what it does, such as WARP is paused
    effect && fill(effectWords(effect, tr), effect.rule, actText(effect, tr)),
    // Translators: %s is a setting such as Mode, whose previous value Culvert has set again
    reverted && fill(_('%s: reverted by Culvert'), subjectLabel(reverted, tr)),
    kind === 'start' && _('Recording started'),
  ];
  return {
    title: (isOff && why) || stateName(blocked ? 'needs-you' : state, false, tr),
    details: formatParts(parts, tr),
    code: why === null ? reason : null,
  };
}

const formatParts = (parts: readonly (string | false | null | undefined)[], tr: Translator): string => {
  const texts = parts.filter(part => typeof part === 'string');
  return texts.length ? formatList(texts, tr) : '';
};

/** Words a reason; null for a code that Culvert does not know. */
function reasonTitle(code: string, tr: Translator): string | null {
  if (code === 'NetworkDegraded') return tr._('Unstable network');
  return choiceText(code, tr) ?? causeTitle(code, tr);
}

function unknownReason({ _ }: Translator): string {
  return _('WARP gave a reason that Culvert does not know');
}

/** Returns totals as a table: the days, newest first, the months if there are several, and the sum. */
export function totalsTable(totals: NonNullable<History['totals']>, tr: Translator): Table {
  const { _ } = tr;
  const row = (title: string, total: HistoryTotal) => [
    title,
    formatElapsed(total.connectedSeconds, tr),
    formatBytes(total.received, tr),
    formatBytes(total.sent, tr),
    formatCount(dropCount(total), tr),
  ];
  const months = monthsOf(totals.days);
  return {
    // Translators: titles of columns; drops are connections that ended unexpectedly
    titles: [_('Day'), _('Connected for'), _('Received'), _('Sent'), _('Drops')],
    rows: [
      ...totals.days.map(day => row(formatDay(day.day, tr), day)).reverse(),
      ...(months.length > 1 ? months.map(month => row(formatDay(month.month, tr), month)).reverse() : []),
      row(_('Total'), totals),
    ],
  };
}

/** Words the causes of ended connections, the most frequent first: `2 × You are offline`. */
export function dropLines({ drops }: HistoryTotal, tr: Translator): string[] {
  const sorted = Object.entries(drops).sort(([, a], [, b]) => b - a);
  // Translators: how often a connection ended, and what ended it: 2 × You are offline
  return sorted.map(([cause, n]) => fill(tr._('%d × %s'), formatCount(n, tr), dropTitle(cause, tr)));
}

/** Returns the duration of the state after a change, in ms; null if the recording ended or broke off in it. */
export function lasted({ changes, until }: Pick<History, 'changes' | 'until'>, index: number): number | null {
  const [change, next] = [changes[index]!, changes[index + 1]];
  if (change.kind === 'stop' || next?.kind === 'start') return null;
  return Math.max(0, Date.parse(next?.at ?? until) - Date.parse(change.at));
}
