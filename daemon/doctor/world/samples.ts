// Keeps measurements of the tunnel service between runs, so that growth can be seen.
import * as z from 'zod/mini';
import { readText, replaceFile } from '../../system/files.ts';

export const Sample = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
  /** Kernel start time of the process: growth is a matter of one process. */
  started: z.string(),
  memoryBytes: z.nullable(z.number()),
  descriptors: z.nullable(z.number()),
  logBytes: z.nullable(z.number()),
});
export type Sample = z.infer<typeof Sample>;

const KEPT = 200;
/** Runs that follow each other closely add nothing. */
const APART_MS = 5 * 60_000;

/** Samples in a file; empty if it is damaged. */
export function loadSamples(path: string): Sample[] {
  try {
    return z.parse(z.array(Sample), JSON.parse(readText(path) ?? '[]'));
  } catch {
    return [];
  }
}

/** Adds a measurement, unless the last one is younger than five minutes. A disk that is full loses it. */
export function saveSample(path: string, samples: readonly Sample[], sample: Sample): void {
  const last = samples.at(-1);
  if (last && last.started === sample.started && Math.abs(sample.at - last.at) < APART_MS) return;
  try {
    replaceFile(path, JSON.stringify([...samples, sample].slice(-KEPT)));
  } catch {
    // a full disk must not fail a run of the doctor
  }
}

/** Change per hour between the first and the last value of one process, or null with less than an hour between them. */
export function growthPerHour(
  samples: readonly Sample[],
  current: Sample,
  value: (sample: Sample) => number | null,
): number | null {
  const first = samples.find(({ started, at }) => started === current.started && at < current.at);
  const [from, to] = [first && value(first), value(current)];
  if (!first || from === null || from === undefined || to === null) return null;
  const hours = (current.at - first.at) / 3_600_000;
  return hours >= 1 ? (to - from) / hours : null;
}
