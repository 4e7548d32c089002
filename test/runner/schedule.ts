// Orders test files by the seconds that they took last, and runs several of them at the same time.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
/** Seconds of the last runs in this clone. */
const LAST_RUNS = join(root, 'build/test/seconds.txt');
/** Seconds of the long files, for a fresh clone; `./culvert-tool test --record` writes it. */
const LONG_FILES = join(root, 'test/runner/seconds.txt');
/** A shorter file is not worth a line: wherever it runs, no worker waits for it. */
const LONG_SECONDS = 10;

/** The seconds that each file took, by its path below the root. */
export type Seconds = ReadonlyMap<string, number>;

/** Reads lines of seconds and a path. */
export function parseSeconds(text: string): Seconds {
  return new Map([...text.matchAll(/^([\d.]+) (\S+)$/gm)].map(([, seconds, file]) => [file!, Number(seconds)]));
}

/** The last seconds of each file that ran in this clone, otherwise those of the long files. */
export function readSeconds(): Seconds {
  return new Map([...parseSeconds(textOf(LONG_FILES)), ...parseSeconds(textOf(LAST_RUNS))]);
}

/** Files and their seconds, the longest first, without files that were moved or deleted. */
export function ordered(seconds: Seconds): [file: string, seconds: number][] {
  return [...seconds].filter(([file]) => existsSync(join(root, file))).sort(([, a], [, b]) => b - a);
}

/**
 * Stores how long files took.
 * @param record also replaces the list for fresh clones
 */
export function writeSeconds(seconds: Seconds, record: boolean): void {
  const entries = ordered(seconds);
  const lines = entries.map(([file, value]) => `${value.toFixed(1)} ${file}\n`);
  mkdirSync(dirname(LAST_RUNS), { recursive: true });
  writeFileSync(LAST_RUNS, lines.join(''));
  if (!record) return;
  const long = entries.filter(([, value]) => value >= LONG_SECONDS);
  writeFileSync(LONG_FILES, long.map(([file, value]) => `${Math.round(value)} ${file}\n`).join(''));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // no run yet
  }
}

/** Files that run after the others, one at a time: a benchmark next to six other files takes longer than any limit that finds a hang. */
export const ALONE: ReadonlySet<string> = new Set(['test/runner/benches.test.ts']);

/** Sorts files so that no long one starts last. Those without seconds follow by their size. */
export function longestFirst<T extends { file: string }>(files: readonly T[], seconds: Seconds): T[] {
  const weights = new Map(
    files.map(({ file }) => [file, [seconds.get(file) ?? 0, statSync(join(root, file)).size] as const]),
  );
  return files.toSorted((a, b) => {
    const [aSeconds, aSize] = weights.get(a.file)!;
    const [bSeconds, bSize] = weights.get(b.file)!;
    return bSeconds - aSeconds || bSize - aSize;
  });
}

/** Deals items out to groups of about the same size, of which none is empty. */
export function dealt<T>(items: readonly T[], groups: number): T[][] {
  const dealt = Array.from({ length: groups }, (_, group) => items.filter((_, at) => at % groups === group));
  return dealt.filter(({ length }) => length > 0);
}

/**
 * Runs every item, in their order.
 * @param jobs maximum number of items that run at the same time; at least 1
 */
export async function schedule<T>(items: readonly T[], jobs: number, run: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await run(item);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}
