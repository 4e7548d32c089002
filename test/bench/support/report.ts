// Prints the figures of a benchmark, and decides how it ends. A small run (`./culvert-tool bench --once`) only shows that it works.

/** One round of the smallest size, without rests and bars: the tests start each benchmark so. */
export const ONCE = process.env.CULVERT_BENCH_ONCE === '1';
/** Per cent by which a bar may be missed: machines of CI are busy with other work. */
const SLACK = Number(process.env.CULVERT_BENCH_SLACK || 0);

/** Rounds: the first argument of the command line, or these. */
export function roundsOf(usual: number): number {
  return ONCE ? 1 : Number(process.argv[2] ?? usual);
}

/** A size, or the one of a small run. */
export function sized(usual: number, small: number): number {
  return ONCE ? small : usual;
}

/** Time for the measured program to become idle; a small run does not wait for that. */
export function rest(ms: number): Promise<void> {
  return new Promise(done => setTimeout(done, sized(ms, Math.min(ms, 300))));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** A figure and the most that it may be. The process ends with 1 where one is above. @throws Error if it was not measured */
export function report(what: string, value: number, bar: number, unit: string): void {
  print(what, `${text(what, value)} ${unit}`, `≤ ${bar}`, value <= bar * (1 + SLACK / 100));
}

/** A figure and the least that it may be. */
export function reportAtLeast(what: string, value: number, bar: number, unit: string): void {
  print(what, `${text(what, value)} ${unit}`, `≥ ${bar}`, value >= bar / (1 + SLACK / 100));
}

/** A figure without a bar. */
export function note(what: string, value: number, unit: string): void {
  console.log(`  ${what.padEnd(72)} ${`${text(what, value)} ${unit}`.padStart(14)}`);
}

/** A few digits, whatever the size. @throws Error if nothing was measured: a median of nothing, or a ratio to nothing */
function text(what: string, value: number): string {
  if (!Number.isFinite(value)) throw new Error(`"${what}" was not measured: the figure is ${value}.`);
  return Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0);
}

function print(what: string, figure: string, bar: string, isMet: boolean): void {
  const mark = ONCE ? '·' : isMet ? '✓' : '✗';
  console.log(`${mark} ${what.padEnd(72)} ${figure.padStart(14)}${ONCE ? '' : `  ${bar}`}`);
  if (!isMet && !ONCE) process.exitCode = 1;
}
