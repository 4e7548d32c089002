// Collects the figures of the last minutes from the events.
import type { Tunnel } from '../../api/schema.ts';
import type { Model } from './model.ts';

/** At one figure every 5 s, ten minutes. */
const CAPACITY = 120;

export interface Sample {
  /** ms since the epoch. */
  at: number;
  latencyMs: number;
  /** Fraction of packets, or null. */
  loss: number | null;
  /** Bytes per second since the sample before; null for the first. */
  received: number | null;
  sent: number | null;
}

export function createHistory(capacity = CAPACITY) {
  let samples: Sample[] = [];
  let last: { at: number; received: number | null; sent: number | null } | null = null;
  return {
    samples: () => samples,
    /** Figures without a latency or a newer time than the last are left out. */
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
    /** A new connection counts from zero. */
    clear(): void {
      if (last) [samples, last] = [[], null];
    },
  };
}

/** Gathers what the model brings, until closed: the daemon sends the present figures only. Made before what shows it subscribes. */
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

/** Least, mean and greatest of the values that are known; null of none. */
export function rangeOf(values: (number | null)[]): { least: number; mean: number; greatest: number } | null {
  const numbers = values.filter((value): value is number => value !== null);
  if (!numbers.length) return null;
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  return { least: Math.min(...numbers), mean, greatest: Math.max(...numbers) };
}

/** The smallest difference that the texts of format.ts show. */
export const FINEST = { latencyMs: 0.1, loss: 0.0001, rate: 1 };

/**
 * A round upper end for an axis that shows up to `greatest`. Its half has one digit as well, so that the text of either
 * is exact.
 * @param finest smallest difference that the texts of the axis show
 */
export function axisEnd(greatest: number, finest: number): number {
  if (greatest <= 0) return Math.max(1, 2 * finest);
  const shown = Math.max(greatest, 2 * finest);
  const power = 10 ** Math.floor(Math.log10(shown));
  return ([1, 2, 4, 6, 8].find(step => step * power >= shown) ?? 10) * power;
}
