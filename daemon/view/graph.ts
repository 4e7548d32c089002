// Describes the graphs of the history: lengths of time to choose from, and one value for each slot of them.
import type { HistoryQuery, HistorySample } from '../api/schema.ts';
import { FINEST } from './client/history.ts';
import { formatLatency, formatLoss, formatRate } from './format.ts';
import type { Translator } from './translator.ts';

/** A length of time that graphs show, in slots of one value each. */
export interface Span {
  id: string;
  title: string;
  query: Required<Pick<HistoryQuery, 'since' | 'resolution'>>;
  /** Seconds, of the whole and of a slot. */
  seconds: number;
  slot: number;
}

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];

/** The lengths of time to choose from, shortest first. */
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

/** Choice of the present connection's last minutes, which the client itself gathers. */
export const NOW = 'now';

/** The figures of a slot: means, and bytes per second. */
export interface Slot {
  /** Its start, in ms since the epoch. */
  at: number;
  latencyMs: number | null;
  loss: number | null;
  received: number | null;
  sent: number | null;
}

/** A figure over time. */
export interface Curve {
  title: string;
  value(slot: Slot): number | null;
  text(value: number): string;
  /** The smallest difference that `text` shows. */
  finest: number;
}

/** The curves of a graph: latency, packet loss, and the bytes received and sent each second. */
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

/** Without a client, the tunnel is read every five minutes: until the next read, and a bit longer, the figures hold. */
const HOLD_MS = 330_000;

/** @param until its end, in ms since the epoch */
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
