// Prints results of a benchmark, and sets the exit code. A small run (`./culvert-tool bench --once`) only shows that it works.

/** True for a small run: one round of the smallest size, without limits. The tests run each benchmark this way. */
export const ONCE = process.env.CULVERT_BENCH_ONCE === '1';
if (ONCE) console.log('A small run: sizes and times in the names are those of a whole run.');
/** Percentage by which a result may miss its limit: CI machines are busy with other work. */
const SLACK = Number(process.env.CULVERT_BENCH_SLACK || 0);

/** Number of rounds: the first command-line argument, or `usual`. */
export function roundsOf(usual: number): number {
  return ONCE ? 1 : Number(process.argv[2] ?? usual);
}

/** The usual size, or the size for a small run. */
export function sized(usual: number, small: number): number {
  return ONCE ? small : usual;
}

/** Waits for the measured program to become idle; a small run waits at most 300 ms. */
export function rest(ms: number): Promise<void> {
  return new Promise(done => setTimeout(done, sized(ms, Math.min(ms, 300))));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Prints a result and its upper limit. A result above it makes the process exit with 1. @throws Error if it was not measured */
export function report(what: string, value: number, bar: number, unit: string): void {
  print(what, `${text(what, value)} ${unit}`, `≤ ${bar}`, value <= bar * (1 + SLACK / 100));
}

/** Prints a result and its lower limit, like `report`. */
export function reportAtLeast(what: string, value: number, bar: number, unit: string): void {
  print(what, `${text(what, value)} ${unit}`, `≥ ${bar}`, value >= bar / (1 + SLACK / 100));
}

/** Prints a result without a limit. */
export function note(what: string, value: number, unit: string): void {
  console.log(`  ${what.padEnd(72)} ${`${text(what, value)} ${unit}`.padStart(14)}`);
}

/** Formats a result with a few digits. @throws Error if nothing was measured: a median of nothing, or a ratio to nothing */
function text(what: string, value: number): string {
  if (!Number.isFinite(value)) throw new Error(`"${what}" was not measured: the figure is ${value}.`);
  return Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0);
}

function print(what: string, figure: string, bar: string, isMet: boolean): void {
  const mark = ONCE ? '·' : isMet ? '✓' : '✗';
  console.log(`${mark} ${what.padEnd(72)} ${figure.padStart(14)}${ONCE ? '' : `  ${bar}`}`);
  if (!isMet && !ONCE) process.exitCode = 1;
}
