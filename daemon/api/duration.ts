// Parses durations as people type them on the command line and in the API. Free of zod, so that every client can load it.

const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
export const DURATION = /^(\d{1,6}[dhms])+$/;

/** Returns `15m`, `1h30m`, `90s` or `2d` in seconds; null for anything else. */
export function parseDuration(text: string): number | null {
  if (!DURATION.test(text)) return null;
  return [...text.matchAll(/(\d+)([dhms])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNITS[unit as keyof typeof UNITS],
    0,
  );
}
