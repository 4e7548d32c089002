// Describes the history graphs, and collects the statistics of the last minutes from events.
import type { HistoryQuery, HistorySample, Tunnel } from '../api/schema.ts';
import type { Model } from './client/model.ts';
import { formatLatency, formatLoss, formatRate } from './format.ts';
import type { Translator } from './translator.ts';

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
export interface Curve {
  title: string;
  value(slot: Slot): number | null;
  text(value: number): string;
  /** The smallest difference that `text` shows. */
  finest: number;
}

/** Returns the curves for latency, packet loss, and the bytes received and sent per second. */
export function curves(tr: Translator): [latency: Curve, loss: Curve, received: Curve, sent: Curve] {
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
const HOLD_MS = 330_000;

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

/** Collects statistics until closed, because the daemon sends only current values. Call it before its readers subscribe. */
export function gatherFigures(model: Pick<Model, 'state' | 'subscribe'>): { samples(): Sample[]; close(): void } {
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
