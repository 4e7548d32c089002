// Derives the forms of the command line from the version of the tunnel CLI.

export interface Capabilities {
  /** `registration new`, `tunnel …`; before 2024.2 the names were flat (`register`). */
  grouped: boolean;
  /** `-j`. */
  json: boolean;
  /** `tunnel protocol set` for consumers. */
  protocol: boolean;
  /** The local proxy speaks HTTP beside SOCKS5. */
  httpProxy: boolean;
}

/** The version in the answer of `--version` (`warp-cli 2026.4.1390.0`, `WARP 0.2.0`), or null. */
export function parseVersion(text: string): string | null {
  return /(?:^|\s)v?(\d{1,4}(?:\.\d{1,5}){1,3})(?=\s|$)/.exec(text)?.[1] ?? null;
}

/**
 * What a version can do, by the vendor's release notes. An unknown version is taken for a current one;
 * what it then refuses is noticed from its answer.
 */
export function capabilitiesOf(version: string | null): Capabilities {
  const since = (first: string) => version === null || compareVersions(version, first) >= 0;
  return {
    grouped: since('2024.2.62'),
    json: since('2024.9.346'),
    protocol: since('2024.12.554'),
    httpProxy: since('2025.8.779'),
  };
}

/** Negative when `a` is older. Versions have three or four numbers, which no semver library reads. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(version => version.split('.').map(Number));
  const differences = [0, 1, 2, 3].map(at => (left?.[at] ?? 0) - (right?.[at] ?? 0));
  return differences.find(difference => difference !== 0) ?? 0;
}
