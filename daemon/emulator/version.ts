// Knows which interface a version of the tunnel CLI has: every difference between generations is one row of this table.

/** The newest release whose output was recorded. */
export const NEWEST = '2026.7.1377.0';
/** Later than any build of its month. */
const LAST = 9999;

/** First release that shows a trait, and the first that no longer does. Where releases are unrecorded, the comment says so. */
const TRAITS = {
  /** clap 4: `Usage:`, exit 2. Before it clap 2: `USAGE:`, exit 1. No page between 2021 and 2023.3 was recorded. */
  clap4: ['2023.1'],
  aboutLine: ['2024.9.346'],
  /** `register`, `set-mode`: one word each. */
  flatNames: ['0', '2024.9.346'],
  flatNamesWarn: ['2024.2.62', '2024.9.346'],
  groupedNames: ['2024.2.62'],
  json: ['2024.9.346'],
  successBeforeStatus: ['0', '2023.1'],
  successAfterStatus: ['2023.1', '2024.1'],
  registerReplaces: ['0', '2024.2.62'],
  /** `Reason:` on its own line. Changed between 2024 and mid-2025, the release is not known. */
  reasonLine: ['2025.1'],
  /** Phases of connecting in `status`. A capture of early 2025 has `Reason:` lines, but none for `Connecting`. */
  connectingReason: ['2025.7.176'],
  /** `Unable` for `Unable to connect`. "Improved status message" in 2025.5.893 is the likeliest release. */
  unableAlone: ['2025.5.893'],
  networkHealth: ['2025.9.558'],
  /** What follows a `disconnect`: before, `Manual Disconnection`. */
  settingsChanged: ['2026.1'],
  /** `(network policy)<TAB>Key: value`; 2023.3 printed none, 2023.7 does. */
  sources: ['2023.7.159'],
  lowercaseApiDefaults: ['2024.2.62'],
  familiesLine: ['0', '2023.7.159'],
  protocolChoice: ['2024.9.346'],
  masqueDefault: ['2025.7.176'],
  masqueOnlyProxy: ['2025.8.779'],
  /** HTTP CONNECT and SOCKS4 beside SOCKS5. */
  httpProxy: ['2025.8.779'],
  plainHttpProxy: ['2025.10.186'],
  masqueOptions: ['2025.4.929'],
  protocolInStats: ['2025.2.600'],
  coloInStats: ['2026.1'],
  modernSettings: ['2025.9.558'],
  pkixLine: ['2026.4.1350'],
  consumerLabels: ['2026.3.846'],
  environment: ['2025.1'],
  sortedFallback: ['2024.2.62'],
  /** 17.0.0.0/8 and its like, excluded by default. */
  appleRanges: ['2024.2.62'],
} as const satisfies Record<string, readonly [string, string?]>;
type Trait = keyof typeof TRAITS;

export interface CliGeneration {
  version: string;
  has(trait: Trait): boolean;
  /** Whether this version is `since` or newer, and older than `until`. */
  within(since?: string, until?: string): boolean;
}

/**
 * The generation of a version as people write it: `2026.7.1377.0`, `2022.4.x`, `2025`, `2024.9+`, `2025 (Jul)`, `2023-2024`.
 * A bare year or month means its last release, a range of years its end. Without a number it is the newest.
 */
export function generationOf(text: string): CliGeneration {
  const version = text.match(/\b(?:20\d\d|0)\.\d+(?:\.\d+)*/)?.[0] ?? fromDate(text);
  const position = version.split('.').map(Number);
  if (position.length < 3) position.push(LAST);
  const within = (since = '0', until?: string) =>
    compare(position, since) >= 0 && (until === undefined || compare(position, until) < 0);
  return { version, within, has: trait => within(...(TRAITS[trait] as readonly [string, string?])) };
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function fromDate(text: string): string {
  const years = [...text.matchAll(/\b20\d\d\b/g)].map(match => Number(match[0]));
  const year = Math.max(...years);
  if (years.length === 0 || year >= Number(NEWEST.slice(0, 4))) return NEWEST;
  const named = MONTHS.findIndex(month => text.toLowerCase().includes(month)) + 1;
  const numbered = Number(text.match(/\b20\d\d-(0[1-9]|1[0-2])\b/)?.[1] ?? 12);
  return `${year}.${named || numbered}`;
}

function compare(position: number[], other: string): number {
  const bound = other.split('.').map(Number);
  for (let i = 0; i < 4; i++) {
    const difference = (position[i] ?? 0) - (bound[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
