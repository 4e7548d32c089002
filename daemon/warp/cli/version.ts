// Derives the forms of the command line from the version of the tunnel CLI.
import { OLDEST_CLIENT } from '../../view/client/labels.ts';

export interface Capabilities {
  /** Accepts `-j`. */
  json: boolean;
  /** `tunnel protocol set` for consumers. */
  protocol: boolean;
  /** The local proxy speaks HTTP as well as SOCKS5. */
  httpProxy: boolean;
}

/** The version in the answer of `--version` (`warp-cli 2026.4.1390.0`, `WARP 0.2.0`), or null. */
export function parseVersion(text: string): string | null {
  return /(?:^|\s)v?(\d{1,4}(?:\.\d{1,5}){1,3})(?=\s|$)/.exec(text)?.[1] ?? null;
}

/**
 * Capabilities of a version, by the vendor's release notes. An unknown version counts as a current one; its answers show
 * which forms it refuses.
 * @returns null for a version older than `OLDEST_CLIENT`, whose commands had other names
 */
export function capabilitiesOf(version: string | null): Capabilities | null {
  const since = (first: string) => version === null || compareVersions(version, first) >= 0;
  if (!since(OLDEST_CLIENT)) return null;
  return { json: true, protocol: since('2024.12.554'), httpProxy: since('2025.8.779') };
}

/** Capabilities of the newest version, for checks before the installed one is known. */
export const NEWEST: Capabilities = { json: true, protocol: true, httpProxy: true };

/** Negative when `a` is older. Versions have three or four numbers, which no semver library reads. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(version => version.split('.').map(Number));
  const differences = [0, 1, 2, 3].map(index => (left?.[index] ?? 0) - (right?.[index] ?? 0));
  return differences.find(difference => difference !== 0) ?? 0;
}
