// Describes the history graphs, and collects the statistics of the last minutes from events.
import type { HistoryQuery, HistoryResolution, HistorySample, Snapshot, Tunnel } from '../api/schema.ts';
import { formatClock, formatLatency, formatLoss, formatMonthDay, formatRate, formatTime } from './format.ts';
import { fill, type Translator } from './translator.ts';

/** A period that graphs show, divided into slots with one value each. */
export interface Span {
  id: string;
  title: string;
  query: Required<Pick<HistoryQuery, 'since' | 'resolution'>>;
  /** Length of the span, in seconds. */
  seconds: number;
  /** Length of a slot, in seconds. */
  slot: number;
}

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];

/** Returns the spans to choose from, shortest first. */
export function spans({ _ }: Translator): Span[] {
  const span = (
    id: string,
    title: string,
    resolution: Span['query']['resolution'],
    [seconds, slot]: [number, number],
  ) => ({ id, title, query: { since: id, resolution }, seconds, slot });
  return [
    span('5m', _('5 minutes'), 'full', [5 * MINUTE, 5]),
    span('1h', _('1 hour'), 'full', [HOUR, 30]),
    span('1d', _('1 day'), 'minute', [DAY, 5 * MINUTE]),
    span('7d', _('1 week'), 'hour', [7 * DAY, HOUR]),
    span('30d', _('30 days'), 'hour', [30 * DAY, HOUR]),
    span('90d', _('90 days'), 'hour', [90 * DAY, 3 * HOUR]),
  ];
}

/** Id of the choice for the last minutes of the current connection, which the client collects. */
export const NOW = 'now';

/** Statistics of a slot: mean latency and loss, and bytes per second. */
export interface Slot {
  /** Start of the slot, in ms since the epoch. */
  at: number;
  latencyMs: number | null;
  /** Fraction of packets lost. */
  loss: number | null;
  received: number | null;
  sent: number | null;
}

/** A statistic over time. */
interface Curve {
  title: string;
  value(slot: Slot): number | null;
  text(value: number): string;
  /** The smallest difference that `text` shows. */
  finest: number;
}

/** Returns the curves for latency, packet loss, and the bytes received and sent per second. */
function curves(tr: Translator): [latency: Curve, loss: Curve, received: Curve, sent: Curve] {
  const { _ } = tr;
  const rate = { text: (value: number) => formatRate(value, tr), finest: FINEST.rate };
  return [
    {
      title: _('Latency'),
      value: ({ latencyMs }) => latencyMs,
      text: value => formatLatency(value, tr),
      finest: FINEST.latencyMs,
    },
    { title: _('Packet loss'), value: ({ loss }) => loss, text: value => formatLoss(value, tr), finest: FINEST.loss },
    { title: _('Received'), value: ({ received }) => received, ...rate },
    { title: _('Sent'), value: ({ sent }) => sent, ...rate },
  ];
}

/** Time that a sample stays valid: a bit more than the five minutes between reads without a client. */
export const HOLD_MS = 330_000;

/** Length of a sample, in seconds. */
export const RESOLUTIONS: Record<HistoryResolution, number> = { full: 5, minute: 60, hour: 3_600 };

/** Returns the part of a span from its first sample on, with as many slots as the whole span where the samples allow it. */
export function spanFrom(first: number, until: number, span: Span): Span {
  const seconds = Math.ceil((until - first) / 1000);
  if (seconds >= span.seconds) return span;
  const slot = Math.ceil((span.slot * seconds) / span.seconds);
  return { ...span, seconds, slot: Math.max(slot, RESOLUTIONS[span.query.resolution]) };
}

/** Groups samples into the slots of a span. @param until end of the span, in ms since the epoch */
export function slotsOf(samples: readonly HistorySample[], { seconds, slot }: Span, until: number): Slot[] {
  const [slotMs, start] = [slot * 1000, until - seconds * 1000];
  const groups: HistorySample[][] = Array.from({ length: Math.ceil(seconds / slot) }, () => []);
  for (const sample of samples) groups[Math.floor((Date.parse(sample.at) - start) / slotMs)]?.push(sample);
  let held: { slot: Slot; until: number } | null = null;
  return groups.map((group, i) => {
    const at = start + i * slotMs;
    if (group.length) held = { slot: slotOf(group, at), until: at + HOLD_MS };
    if (!held || at > held.until) return { at, latencyMs: null, loss: null, received: null, sent: null };
    return { ...held.slot, at };
  });
}

function slotOf(group: readonly HistorySample[], at: number): Slot {
  const mean = (figure: (sample: HistorySample) => number | null) => {
    const numbers = group.map(figure).filter(value => value !== null);
    return numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null;
  };
  const sum = (figure: (sample: HistorySample) => number) => group.reduce((total, each) => total + figure(each), 0);
  const seconds = sum(each => each.seconds);
  const rate = (bytes: number) => (seconds > 0 ? bytes / seconds : null);
  return {
    at,
    latencyMs: mean(each => each.latencyMs),
    loss: mean(each => each.loss),
    received: rate(sum(each => each.received)),
    sent: rate(sum(each => each.sent)),
  };
}

/** Number of samples in ten minutes, at one every 5 s. */
const CAPACITY = 120;

/** Statistics of one event; bytes per second since the previous sample, null for the first. */
export interface Sample extends Slot {
  latencyMs: number;
}

export function createHistory(capacity = CAPACITY) {
  let samples: Sample[] = [];
  let last: { at: number; received: number | null; sent: number | null } | null = null;
  return {
    samples: () => samples,
    /** Adds a sample; ignores statistics that have no latency or are not newer than the last sample. */
    add({ at, latencyMs, loss, bytesReceived, bytesSent }: Tunnel): void {
      const time = at === null ? Number.NaN : Date.parse(at);
      if (latencyMs === null || Number.isNaN(time) || (last && time <= last.at)) return;
      const seconds = last ? (time - last.at) / 1000 : 0;
      const rate = (now: number | null, then: number | null | undefined) =>
        seconds > 0 && now !== null && then != null && now >= then ? (now - then) / seconds : null;
      const [received, sent] = [rate(bytesReceived, last?.received), rate(bytesSent, last?.sent)];
      samples = [...samples, { at: time, latencyMs, loss, received, sent }].slice(-capacity);
      last = { at: time, received: bytesReceived, sent: bytesSent };
    },
    /** Removes all samples, because a new connection counts from zero. */
    clear(): void {
      if (last) [samples, last] = [[], null];
    },
  };
}

interface FollowedState {
  state(): { snapshot: Pick<Snapshot, 'status' | 'tunnel'> | null };
  subscribe(listener: () => void): () => void;
}

/** Collects statistics until closed, because the daemon sends only current values. Call it before its readers subscribe. */
export function gatherFigures(model: FollowedState) {
  const history = createHistory();
  const gather = () => {
    const { snapshot } = model.state();
    if (snapshot?.status.state === 'connected') history.add(snapshot.tunnel);
    else history.clear();
  };
  gather();
  return { samples: history.samples, close: model.subscribe(gather) };
}

/** Returns the least, mean and greatest of the known values; null if none is known. */
export function rangeOf(values: (number | null)[]): { least: number; mean: number; greatest: number } | null {
  const numbers = values.filter((value): value is number => value !== null);
  if (!numbers.length) return null;
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  return { least: Math.min(...numbers), mean, greatest: Math.max(...numbers) };
}

/** A point in a box with sides of 1, from the left and from the bottom. */
export interface Point {
  x: number;
  y: number;
}

/**
 * Returns the pieces of a curve between missing values.
 * @param end the value at the top; zero is at the bottom
 * @param place returns the place of a value by its index, from 0 to 1
 */
export function piecesOf(values: readonly (number | null)[], end: number, place: (i: number) => number): Point[][] {
  const pieces: Point[][] = [[]];
  for (const [i, value] of values.entries())
    if (value === null) pieces.push([]);
    else pieces.at(-1)!.push({ x: place(i), y: value / end });
  return pieces.filter(({ length }) => length > 0);
}

/** Number of values in a curve of the newest statistics. */
const NEWEST = 60;

/** Returns the pieces of a curve of the newest statistics, which ends at the right edge. */
export function newestPieces(values: readonly (number | null)[]): Point[][] {
  const shown = values.slice(-NEWEST);
  const end = axisEnd(Math.max(0, ...shown.map(value => value ?? 0)), FINEST.latencyMs);
  return piecesOf(shown, end, i => 1 - (shown.length - 1 - i) / (NEWEST - 1));
}

/** The smallest difference that the texts of format.ts show. */
export const FINEST = { latencyMs: 0.1, loss: 0.0001, rate: 1 };

/**
 * Returns a round upper end for an axis that shows values up to `greatest`. The end and half of it have one significant digit
 * each, so labels show both exactly.
 * @param finest smallest difference that the labels of the axis show
 */
export function axisEnd(greatest: number, finest: number): number {
  if (greatest <= 0) return Math.max(1, 2 * finest);
  const shown = Math.max(greatest, 2 * finest);
  const power = 10 ** Math.floor(Math.log10(shown));
  return ([1, 2, 4, 6, 8].find(step => step * power >= shown) ?? 10) * power;
}

/** A label of the time axis, and its place from 0 at the left end to 1. */
export interface Tick {
  at: number;
  label: string;
}

/** Distances of ticks, in minutes. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 20_160, 43_200];
const DAY_MINUTES = 1_440;
/** Greatest number of distances on the axis. */
const DISTANCES = 4;
/** End of the part of the axis with ticks; beyond it is the label of the present time. */
const ROOM = 0.88;

/** Returns the time axis: round local times, and “Now” at the right end. @param from in ms since the epoch, like `until` */
export function axisOf(from: number, until: number, tr: Translator): Tick[] {
  const now = { at: 1, label: tr._('Now') };
  const minutes = (until - from) / 60_000;
  const step = STEPS.find(each => minutes / each <= DISTANCES) ?? STEPS.at(-1)!;
  const start = new Date(from);
  const format = step < DAY_MINUTES ? formatClock : formatMonthDay;
  const ticks: Tick[] = [];
  const first = Math.ceil((start.getHours() * 60 + start.getMinutes() + start.getSeconds() / 60) / step) * step;
  for (let minute = first; ; minute += step) {
    // the local clock, also where the time zone is off by half an hour and on a day that is not 24 hours long
    const time = new Date(from).setHours(0, minute, 0, 0);
    const at = (time - from) / (until - from);
    // also for an empty axis
    if (!(at <= ROOM)) return [...ticks, now];
    if (at >= 0) ticks.push({ at, label: format(time, tr) });
  }
}

/** A chart with one line, or with two, of which the second is dashed. */
export interface Chart {
  id: 'latency' | 'loss' | 'speed';
  title: string;
  /** Explains the lines; null for a single line. */
  caption: string | null;
  /** For screen readers: the range of each line. */
  name: string;
  /** The newest value; null if it is unknown. */
  newest: string | null;
  /** Upper end of the axis, which begins at zero. */
  end: number;
  text(value: number): string;
  lines: { title: string; values: (number | null)[] }[];
}

/** Charts of the same times, one of which clients show. */
export interface Charts {
  /** In ms since the epoch, ascending. */
  times: number[];
  /** Only charts with figures. */
  charts: Chart[];
  ticks: Tick[];
}

/** Returns the charts of some figures, from the first figure to the last slot. */
export function chartsOf(figures: readonly Slot[], tr: Translator): Charts {
  const { _ } = tr;
  const [latency, loss, received, sent] = curves(tr);
  const chart = (id: Chart['id'], title: string, of: Curve[], caption: string | null = null): Chart[] => {
    const lines = of.map(({ title, value }) => ({ title, values: figures.map(value) }));
    const ranges = lines.map(({ values }) => rangeOf(values));
    if (ranges.every(range => range === null)) return [];
    const { text, finest } = of[0]!;
    const newest = lines[0]!.values.at(-1) ?? null;
    const names = lines.map(({ title }, i) => {
      const range = ranges[i];
      const sizes = range && [range.least, range.greatest, range.mean].map(text);
      // Translators: for screen readers; the name of a curve, then three figures such as 12 ms
      return sizes ? fill(_('%s: from %s to %s, %s on average'), title, ...sizes) : title;
    });
    const end = axisEnd(Math.max(...ranges.map(range => range?.greatest ?? 0)), finest);
    return [
      { id, title, caption, name: names.join('. '), newest: newest === null ? null : text(newest), end, text, lines },
    ];
  };
  return {
    times: figures.map(({ at }) => at),
    charts: [
      ...chart('latency', latency.title, [latency]),
      ...chart('loss', loss.title, [loss]),
      ...chart('speed', _('Speed'), [received, sent], _('Speed: received (solid), sent (dashed)')),
    ],
    ticks: figures.length ? axisOf(figures[0]!.at, figures.at(-1)!.at, tr) : [],
  };
}

export type Kind = 'on' | 'paused' | 'failed' | 'off' | 'unknown';

/** A stretch of time in one state; its ends are in ms since the epoch. */
export interface Stretch {
  kind: Kind;
  from: number;
  until: number;
}

/** Clients draw it from left to right in every language. */
export interface Strip {
  /** Each part begins and ends at a place from 0 to 1. */
  parts: Stretch[];
  ticks: Tick[];
  /** The kinds that occur. */
  legend: { kind: Kind; title: string }[];
  /** The stretches in words. */
  text: string;
}

/** A table of texts, with the titles of its columns. */
export interface Table {
  titles: string[];
  rows: string[][];
}

/** Maximum number of rows in the table of a chart. */
const LISTED = 48;

/** Returns the newest values of a chart as a table. */
export function chartTable({ lines, text }: Chart, times: readonly number[], tr: Translator): Table {
  const long = times.length > 0 && times.at(-1)! - times[0]! > DAY * 1000;
  const shown = times
    .map((at, i) => ({ at, cells: lines.map(({ values }) => values[i] ?? null) }))
    .filter(({ cells }) => cells.some(value => value !== null))
    .slice(-LISTED);
  const isDense = shown.some(({ at }, i) => i > 0 && at - shown[i - 1]!.at < 60_000);
  const clock = isDense ? formatTime : formatClock;
  const timeOf = (at: number) => [...(long ? [formatMonthDay(at, tr)] : []), clock(at, tr)].join(' ');
  const rows = shown.map(({ at, cells }) => [timeOf(at), ...cells.map(value => (value === null ? '–' : text(value)))]);
  return { titles: [tr._('Time'), ...lines.map(({ title }) => title)], rows: rows.reverse() };
}
