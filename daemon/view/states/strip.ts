// Finds the state at each moment of a span of the history, as a strip and as a sentence. Pure.
import type { History, HistoryChange } from '../../api/schema.ts';
import { formatBytes, formatClock, formatCount, formatElapsed, formatMonthDay } from '../format.ts';
import { axisOf, HOLD_MS, type Kind, RESOLUTIONS, type Stretch, type Strip } from '../graph.ts';
import { fill, type Translator } from '../translator.ts';
import { dropCount } from './records.ts';

/** Heights of the kinds, of 1, which tell them apart without color. */
export const HEIGHTS: Record<Kind, number> = { on: 1, failed: 0.75, paused: 0.5, off: 0.25, unknown: 0.05 };

type Records = Pick<History, 'changes' | 'samples' | 'totals' | 'since' | 'until' | 'resolution' | 'enabled'>;

/** Returns the stretches of a span, without gaps. Time without any record is unknown, not off. */
export function stretchesOf(records: Records): Stretch[] {
  const { changes, enabled } = records;
  const [from, end] = [Date.parse(records.since), Date.parse(records.until)];
  const moments = changes.map(({ at }) => Math.min(end, Math.max(from, Date.parse(at))));
  const kinds = kindsOf(changes);
  const after = changes.flatMap((_, i): Stretch[] => {
    const next = changes[i + 1];
    const stretch = { kind: kinds[i]!, from: moments[i]!, until: moments[i + 1] ?? end };
    return withEvidence(stretch, records, { isLost: next ? next.kind === 'start' : !enabled, isBegun: true });
  });
  return merged([...headOf(records, { from, until: moments[0] ?? end }, after), ...after]);
}

/** Returns the kind that each change begins. */
function kindsOf(changes: readonly HistoryChange[]): Kind[] {
  let paused = false;
  return changes.map(({ kind, state, blocked, effect }) => {
    if (kind === 'stop') return 'unknown';
    const pauses = effect?.subject === 'connection' && effect.value === 'off' && !effect.ended;
    // a rule's pause lasts until WARP connects, or until the rule ends
    if (pauses) paused = true;
    else if (state === 'connected' || effect?.subject === 'connection') paused = false;
    if (blocked || state === 'unable') return 'failed';
    if (state === 'connected') return 'on';
    if (state === 'unknown') return 'unknown';
    return paused ? 'paused' : 'off';
  });
}

/** Part of the time before the first change that must be connected for all of it to count: the totals are not exact. */
const NEARLY_ALL = 0.9;

/** Returns what is known before the first change: the records have no change for the state at the beginning. */
function headOf(records: Records, { from, until }: Omit<Stretch, 'kind'>, after: readonly Stretch[]): Stretch[] {
  const { changes, samples, totals, resolution } = records;
  // a sample that begins before the first change may be of the time after it
  const before = until - RESOLUTIONS[resolution] * 1000;
  const [first] = changes;
  const head = (kind: Kind) => ({ kind, from, until });
  if (first?.kind === 'stop') return withEvidence(head(kindsOf([{ ...first, kind: 'state' }])[0]!), records, {});
  const restOn = (totals?.connectedSeconds ?? 0) * 1000 - lengthOf(after, 'on');
  const wasOn =
    samples.some(({ at }) => Date.parse(at) <= before) || (restOn > 0 && restOn >= NEARLY_ALL * (until - from));
  if (wasOn) return withEvidence(head('on'), records, { isLost: first?.kind === 'start' });
  return [head('unknown')];
}

/**
 * Cuts a stretch to the times that records show: a computer that sleeps records nothing.
 * `isBegun`: a record shows the begin; `isLost`: the recording broke off without a record.
 */
function withEvidence(
  stretch: Stretch,
  { samples, resolution }: Records,
  { isBegun = false, isLost = false }: { isBegun?: boolean; isLost?: boolean },
): Stretch[] {
  const { kind, from, until } = stretch;
  const length = RESOLUTIONS[resolution] * 1000;
  const seen = samples.map(({ at }) => Date.parse(at)).filter(at => at + length > from && at < until);
  // some modes record no statistics, so a sleep looks like a connection
  if (kind !== 'on' || seen.length === 0) return [isLost ? { ...stretch, kind: 'unknown' } : stretch];
  const known = [
    ...(isBegun ? [[from, from + HOLD_MS]] : []),
    ...seen.map(at => [at - HOLD_MS, at + length + HOLD_MS]),
    ...(isLost ? [] : [[until - HOLD_MS, until]]),
  ] as [number, number][];
  const parts: Stretch[] = [];
  let end = from;
  for (const [begin, stop] of known) {
    if (begin > end) parts.push({ kind: 'unknown', from: end, until: Math.min(begin, until) });
    const start = Math.max(end, begin);
    end = Math.min(until, Math.max(end, stop));
    if (end > start) parts.push({ kind, from: start, until: end });
  }
  return end < until ? [...parts, { kind: 'unknown', from: end, until }] : parts;
}

/** Joins neighbors of one kind, and leaves out those without a length. */
function merged(stretches: readonly Stretch[]): Stretch[] {
  const list: Stretch[] = [];
  for (const each of stretches) {
    const last = list.at(-1);
    if (each.until <= each.from) continue;
    if (last?.kind === each.kind) last.until = each.until;
    else list.push({ ...each });
  }
  return list;
}

/** Returns the length of all stretches of a kind after a moment, in ms. */
function lengthOf(stretches: readonly Stretch[], kind: Kind, after = 0): number {
  const some = stretches.filter(each => each.kind === kind && each.until > after);
  return some.reduce((sum, { from, until }) => sum + until - Math.max(from, after), 0);
}

function kindTitle(kind: Kind, { _ }: Translator): string {
  const titles: Record<Kind, string> = {
    on: _('Connected'),
    paused: _('Paused'),
    failed: _('Can’t connect'),
    off: _('Not connected'),
    unknown: _('Not known'),
  };
  return titles[kind];
}

/** Number of places on the strip. Without them, a client would blend the colors of minutes into a color without a meaning. */
const PLACES = 240;
/** Kinds that a place shows even if they hold for only a part of it, the most severe first. */
const SEVERE: readonly Kind[] = ['failed', 'off', 'paused'];

/** Returns the kind of each place, joined with its neighbors of the same kind. Each part begins and ends at a place from 0 to 1. */
function partsOf(stretches: readonly Stretch[], from: number, until: number): Stretch[] {
  if (until <= from) return [];
  const length = (until - from) / PLACES;
  const parts = Array.from({ length: PLACES }, (_, i): Stretch => {
    const [begin, end] = [from + i * length, from + (i + 1) * length];
    const lengths: Partial<Record<Kind, number>> = {};
    for (const each of stretches) {
      const shared = Math.min(end, each.until) - Math.max(begin, each.from);
      // the begin of a place is not exact
      if (shared > 1) lengths[each.kind] = (lengths[each.kind] ?? 0) + shared;
    }
    const { on = 0, unknown = 0 } = lengths;
    const kind = SEVERE.find(each => lengths[each]) ?? (on >= unknown ? 'on' : 'unknown');
    return { kind, from: i / PLACES, until: (i + 1) / PLACES };
  });
  return merged(parts);
}

/** Greatest number of stretches in words: a screen reader reads them in one go. */
const WORDED = 40;
const DAY_MS = 86_400_000;

export function stripOf(stretches: readonly Stretch[], tr: Translator): Strip {
  const [from, until] = [stretches[0]?.from ?? 0, stretches.at(-1)?.until ?? 0];
  const timeOf = (at: number) =>
    until - from > DAY_MS + 1_000 ? `${formatMonthDay(at, tr)} ${formatClock(at, tr)}` : formatClock(at, tr);
  const words = stretches.slice(-WORDED).map(each =>
    // Translators: a state such as Connected, then two times
    fill(tr._('%s from %s to %s'), kindTitle(each.kind, tr), timeOf(each.from), timeOf(each.until)),
  );
  const kinds = (Object.keys(HEIGHTS) as Kind[]).filter(kind => stretches.some(each => each.kind === kind));
  return {
    parts: partsOf(stretches, from, until),
    ticks: axisOf(from, until, tr),
    legend: kinds.map(kind => ({ kind, title: kindTitle(kind, tr) })),
    text: words.join('. '),
  };
}

/**
 * Words a span in one sentence: `Today: connected 5 h 12 min · 1.2 GB · no drops`.
 * @param span the title of the span; null for a day, of which only the part since midnight counts
 */
export function sentenceOf(
  { totals, until }: Pick<History, 'totals' | 'until'>,
  stretches: readonly Stretch[],
  span: string | null,
  tr: Translator,
): string {
  const { _ } = tr;
  const midnight = new Date(until).setHours(0, 0, 0, 0);
  const after = span === null ? midnight : 0;
  const today = totals?.days.find(({ day }) => day === dayOf(midnight));
  const total = span === null ? today : totals;
  const unknown = lengthOf(stretches, 'unknown', after);
  // the totals also count connections whose place in the span is unknown
  const on = Math.max(lengthOf(stretches, 'on', after), (total?.connectedSeconds ?? 0) * 1000);
  const all = Date.parse(until) - Math.max(after, stretches[0]?.from ?? 0);
  const drops = total ? dropCount(total) : 0;
  const connected =
    on > 0
      ? // Translators: %s is a duration such as 5 h 12 min
        fill(_('connected %s'), formatElapsed(on / 1000, tr))
      : unknown >= all
        ? _('nothing recorded yet')
        : _('not connected');
  const rest = total && [
    formatBytes(total.received + total.sent, tr),
    drops === 0
      ? // Translators: drops are connections that ended unexpectedly
        _('no drops')
      : // Translators: connections that ended unexpectedly
        fill(tr.ngettext('%d drop', '%d drops', drops), formatCount(drops, tr)),
  ];
  const parts = rest && (on > 0 || drops > 0) ? [connected, ...rest] : [connected];
  // Translators: a length of time, such as Today or 1 week, and what happened in it
  return fill(_('%s: %s'), span ?? _('Today'), parts.join(' · '));
}

/** Returns the local date, such as `2026-11-21`. */
export function dayOf(time: number): string {
  const date = new Date(time);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
