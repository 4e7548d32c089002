// Estimates when an account will have nothing left. Pure.
import type { Sample } from './state.ts';

const MIN_SPAN_MS = 10 * 60_000;
/** A rate that stretches further than this says nothing. */
const HORIZON_MS = 90 * 86_400_000;

/**
 * When nothing will be left at the rate since the quota was last refilled.
 * @param samples oldest first
 * @returns milliseconds since the epoch, or `undefined` when nothing was used or too little is known
 */
export function forecast(samples: readonly Sample[], now: number): number | undefined {
  const refilled = samples.findLastIndex((sample, i) => i > 0 && sample.remaining > samples[i - 1]!.remaining);
  const period = samples.slice(Math.max(0, refilled));
  const [first, last] = [period[0], period.at(-1)];
  if (!first || !last || last.at - first.at < MIN_SPAN_MS) return undefined;
  const perMs = (first.remaining - last.remaining) / (last.at - first.at);
  if (perMs <= 0) return undefined;
  const emptyAt = last.at + last.remaining / perMs;
  return emptyAt - now > HORIZON_MS ? undefined : Math.max(now, emptyAt);
}
