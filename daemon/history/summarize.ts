// Sums up the lines of a day at a coarser resolution, and keeps the file within its size limit. Pure.
import { addTo, formatSample, parseSample, type Sample } from './records.ts';

const DAY_MS = 86_400_000;
/** Maximum size of the whole history, in bytes. */
export const MAX_BYTES = 10_000_000;

interface Tier {
  /** Name in the first line of a summed-up file; null for a file as it was written. */
  name: string | null;
  /** Length of one sample, in seconds. */
  bucket: number;
  /** Maximum size of a file, in bytes: 2 × 1.5 MB, 6 × 250 kB and 83 × 60 kB are less than `MAX_BYTES`. */
  bytes: number;
}

export const FULL: Tier = { name: null, bucket: 1, bytes: 1_500_000 };
export const MINUTE: Tier = { name: 'minute', bucket: 60, bytes: 250_000 };
export const HOUR: Tier = { name: 'hour', bucket: 3_600, bytes: 60_000 };

/** Returns the tier of `day` as of `today`, both such as `2026-11-21`; null for a day that is deleted. */
export function tierOf(day: string, today: string): Tier | null {
  const age = Math.round((Date.parse(today) - Date.parse(day)) / DAY_MS);
  return age <= 1 ? FULL : age <= 7 ? MINUTE : age <= 90 ? HOUR : null;
}

/** Returns the tier in the first line of a file. Earlier versions wrote `quarter`, which is summed up like a full day. */
export function tierIn(text: string): Tier {
  const name = /^# (\w+)\n/.exec(text)?.[1] ?? null;
  return [MINUTE, HOUR].find(tier => tier.name === name) ?? FULL;
}

/** Returns the start of the bucket that contains a moment. */
export const bucketOf = (at: number, bucket: number): number => at - (at % bucket);

/**
 * Returns the text of a file at a tier's resolution, in order of time. Changes stay as they are; if there are too many for the
 * tier's size, the oldest are dropped. Lines that can't be parsed are dropped.
 */
export function summarize(text: string, tier: Tier): string {
  const samples = new Map<number, Sample>();
  const changes: { at: number; line: string }[] = [];
  for (const line of text.split('\n')) {
    const change = /^\{"at":(\d{1,15}),.*\}$/.exec(line);
    if (change) changes.push({ at: Number(change[1]), line: `${line}\n` });
    const bytes = Buffer.from(change ? '' : line);
    const sample = parseSample(bytes, 0, bytes.length);
    if (!sample) continue;
    const at = bucketOf(sample.at, tier.bucket);
    const before = samples.get(at);
    if (before) addTo(before, sample);
    else samples.set(at, { ...sample, at });
  }
  const header = `# ${tier.name}\n`;
  const figures = [...samples.values()].map(sample => ({ at: sample.at * 1000, line: formatSample(sample) }));
  let room = tier.bytes - header.length - figures.reduce((sum, { line }) => sum + line.length, 0);
  const remaining = changes.reverse().filter(({ line }) => {
    room -= Buffer.byteLength(line);
    return room >= 0;
  });
  const lines = [...remaining.reverse(), ...figures].sort((a, b) => a.at - b.at);
  return header + lines.map(({ line }) => line).join('');
}
