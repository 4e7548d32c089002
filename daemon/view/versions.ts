// Compares versions of the tunnel client, which have up to four numbers.

/** Returns a negative number if `a` is older. No semver library supports versions of four numbers. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(version => version.split('.').map(Number));
  const differences = [0, 1, 2, 3].map(index => (left?.[index] ?? 0) - (right?.[index] ?? 0));
  return differences.find(difference => difference !== 0) ?? 0;
}
