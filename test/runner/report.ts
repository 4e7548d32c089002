// Prints a test run: one line per file, failures as they happen and again at the end, the slowest tests, the counts.
import type { FileResult, TestResult } from './file.ts';

const SLOWEST = 10;
/** Lines of each failure that the end of the report repeats: the first and the last, where there are more. */
const REPEATED_LINES = 12;
const color = (code: number) => (text: string) => (process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);
const [red, green, gray] = [color(31), color(32), color(90)];

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const title = ({ path }: TestResult) => path.join(' › ');
const indent = (text: string) => text.replace(/^/gm, '    ').trimEnd();

/** True when no test and no part of a file failed. */
export function passed({ problem, tests }: FileResult): boolean {
  return problem === null && tests.every(({ state }) => state !== 'failed');
}

/** The line of a finished file, and its failures in full. */
export function fileReport(result: FileResult, done: number, total: number): string {
  const good = passed(result);
  const failed = result.tests.filter(({ state }) => state === 'failed').length;
  const skipped = result.tests.filter(({ state }) => state === 'skipped').length;
  const counts = [
    `${result.tests.length} tests`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    seconds(result.ms),
  ];
  const mark = good ? green('✔') : red('✖');
  const place = gray(`[${String(done).padStart(String(total).length)}/${total}]`);
  const line = `${place} ${mark} ${result.file}  ${gray(counts.join(', '))}`;
  return good ? line : `${line}\n${failures(result, Number.POSITIVE_INFINITY)}`;
}

/** Everything that failed in a file, with this many lines of each reason and of what the file printed. */
function failures(result: FileResult, length: number): string {
  const lines = result.tests
    .filter(({ state }) => state === 'failed')
    .map(test => `  ${red('✖')} ${title(test)}\n${indent(ends(test.text, length))}`);
  if (result.problem) lines.push(`  ${red('✖')} ${result.problem}`);
  const printed = ends(result.output.trim(), length);
  if (printed) lines.push(`  ${gray('printed:')}\n${indent(printed)}`);
  return lines.join('\n');
}

/** The first lines of a text and its last ones, at most `most` together. */
function ends(text: string, most: number): string {
  const lines = text.split('\n');
  if (lines.length <= most) return text;
  const half = Math.floor(most / 2);
  return [...lines.slice(0, half), `[… ${lines.length - 2 * half} lines]`, ...lines.slice(-half)].join('\n');
}

function listed(heading: string, results: readonly FileResult[]): string[] {
  const texts = results.map(result => `${result.file}\n${failures(result, REPEATED_LINES)}`);
  return texts.length > 0 ? ['', red(heading), ...texts] : [];
}

/**
 * The end of the report: the slowest tests, what failed, the counts.
 * @param total number of files that were to run
 */
export function summary(results: readonly FileResult[], ms: number, total = results.length): string {
  const tests = results.flatMap(({ file, tests }) => tests.map(test => ({ ...test, file })));
  const count = (state: TestResult['state']) => tests.filter(test => test.state === state).length;
  const slowest = tests.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const bad = results.filter(result => !passed(result));
  const counts = [
    `${count('passed')} passed`,
    ...(['failed', 'skipped', 'todo'] as const).flatMap(state => (count(state) ? [`${count(state)} ${state}`] : [])),
    // no test of theirs says so
    ...counted(results.filter(({ problem }) => problem !== null).length, 'broken'),
    ...counted(total - results.length, 'never run'),
  ];
  const names = bad.flatMap(({ file, tests, problem }) => [
    ...tests.filter(({ state }) => state === 'failed').map(test => `  ${red('✖')} ${title(test)}  ${gray(file)}`),
    ...(problem === null ? [] : [`  ${red('✖')} ${file}: ${problem}`]),
  ]);
  const verdict = bad.length > 0 || results.length < total ? red('FAILED') : green('PASSED');
  return [
    '',
    'Slowest tests:',
    ...slowest.map(test => `  ${seconds(test.ms).padStart(8)}  ${title(test)}  ${gray(test.file)}`),
    ...listed('Failed:', bad),
    '',
    ...names, // last: a log is often read from its end
    `${verdict}: ${counts.join(', ')} in ${results.length} files, ${seconds(ms)}`,
  ].join('\n');
}

function counted(files: number, what: string): string[] {
  return files > 0 ? [`${files} ${files === 1 ? 'file' : 'files'} ${what}`] : [];
}
