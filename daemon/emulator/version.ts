// Lists the differences between generations of the tunnel CLI, and maps a version to its traits.
import { usage } from './faults.ts';

/** The newest release with recorded output. */
export const NEWEST = '2026.7.1377.0';
/** The first release with the current commands; earlier releases used other names. */
const OLDEST = '2024.9.346';
/** Build number after all builds of a month. */
const LAST = 9999;

/** First release with each trait. */
const TRAITS = {
  networkHealth: '2025.9.558',
  /** The reason after a `disconnect`; older releases print `Manual Disconnection`. */
  settingsChanged: '2026.1',
  masqueDefault: '2025.7.176',
  masqueOnlyProxy: '2025.8.779',
  /** HTTP CONNECT and SOCKS4 as well as SOCKS5. */
  httpProxy: '2025.8.779',
  plainHttpProxy: '2025.10.186',
  modernSettings: '2025.9.558',
  pkixLine: '2026.4.1350',
};
type Trait = keyof typeof TRAITS;

export interface CliGeneration {
  version: string;
  has(trait: Trait): boolean;
  /** Returns true if this version is `release` or newer, or without a release. */
  since(release?: string): boolean;
}

/**
 * Returns the generation for a version such as `2026.7.1377.0`, `2025.4.x`, `2025`, `2024.9+`, `2025 (Jul)`, `2024-2025`.
 * A bare year or month means its last release, and a range of years means its end. Text without a number means the newest release.
 * @throws Failure `usage` for a release before 2024.9
 */
export function generationOf(text: string): CliGeneration {
  const version = text.match(/\b(?:20\d\d|0)\.\d+(?:\.\d+)*/)?.[0] ?? fromDate(text);
  const position = version.split('.').map(Number);
  if (position.length < 3) position.push(LAST);
  if (compare(position, OLDEST) < 0) throw usage(`Version ${version} can't be emulated: the oldest is ${OLDEST}.`);
  const since = (release = OLDEST) => compare(position, release) >= 0;
  return { version, since, has: trait => since(TRAITS[trait]) };
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
