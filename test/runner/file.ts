// Runs test files in their own process group and collects their events. A file fails when it makes no progress,
// never because it takes long: it says something, or its processes work.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inSetting, type Setting } from './setting.ts';
import { workOf } from './work.ts';

const reporter = join(import.meta.dirname, 'reporter.mjs');
const together = join(import.meta.dirname, 'together.mjs');
const turns = pathToFileURL(join(import.meta.dirname, 'turns.mjs')).href;
/** Time for a file to report its cancelled tests and to clean up after SIGTERM. */
const GRACE_MS = 5_000;
/** Time after the end of a file in which output that a leftover process holds open is read. */
const DRAIN_MS = 500;
/** Characters of a file's own output that are kept for the case that it fails. */
const MAX_OUTPUT = 20_000;
/** Silent times in a row in which its processes may work: a loop without end is ended as well. */
const MOST_SILENT = 4;
/** Part of the time that its processes work in, at least, where others have the machine; measured for a tenth of a silent time. */
const WORKING = 0.01;
/** The reason that `node:test` gives for a test that `--test-name-pattern` left out. */
const NOT_SELECTED = 'test name does not match pattern';

export interface TestResult {
  /** Names of the enclosing suites and of the test. */
  path: string[];
  state: 'passed' | 'failed' | 'skipped' | 'todo';
  ms: number;
  /** Why it failed, or why it was skipped. */
  text: string;
}

export interface FileResult {
  file: string;
  ms: number;
  tests: TestResult[];
  /** A problem of the file as a whole, such as a stall or an exit status that no failed test explains. */
  problem: string | null;
  /** Output of the tests themselves. */
  output: string;
}

interface Event {
  type: 'running' | 'start' | 'end';
  name: string;
  nesting: number;
  suite: boolean;
  skipped: string | null;
  todo: boolean;
  ms: number;
  error: { nested: boolean; text: string } | null;
}

export interface FileOptions {
  /** A regular expression that the names of tests have to match. */
  name?: string | undefined;
  /** Maximum time without any event, output or work, in milliseconds. */
  stallMs: number;
  /** The bundle that Node starts instead of the file. */
  bundle?: string | undefined;
  /** Place and time in which it runs; here and now without it. */
  setting?: Setting | undefined;
}

/** Every file that runs now; ended with the runner. */
const running = new Set<ChildProcess>();

/** Runs a file to its end. Never rejects. */
export async function runFile(file: string, options: FileOptions): Promise<FileResult> {
  const began = performance.now();
  const { tests, problem, output } = await runProcess([options.bundle ?? file], options);
  const empty = options.name || tests.length > 0 ? null : 'It contains no tests.';
  return { file, ms: performance.now() - began, tests, problem: problem ?? empty, output };
}

/**
 * Runs files in one process, one after the other. Never rejects.
 * @returns the results of those that ended as they should; each of the others has to run alone, which shows its problem
 */
export async function runTogether(
  files: readonly string[],
  bundleOf: (file: string) => string,
  options: FileOptions,
): Promise<FileResult[]> {
  const bundles = new Map(files.map(file => [bundleOf(file), file]));
  const { tests, problem, output } = await runProcess([together, ...bundles.keys()], options);
  const results: FileResult[] = [];
  let own: TestResult[] = [];
  for (const each of tests) {
    const file = bundles.get(each.path.join());
    if (file === undefined) own.push(each);
    else {
      const ms = own.reduce((sum, { ms }) => sum + ms, 0);
      if (own.length > 0) results.push({ file, ms, tests: own, problem: null, output });
      own = [];
    }
  }
  const isOfUnknownFile = problem !== null && results.length === files.length;
  return isOfUnknownFile ? [] : results;
}

const isFailed = ({ state }: TestResult) => state === 'failed';

/** Runs tests to the end of their process. @param words the module that Node starts, and its arguments */
async function runProcess(words: readonly string[], { name, stallMs, setting }: FileOptions) {
  const args = [
    '--enable-source-maps',
    `--import=${turns}`,
    `--test-reporter=${reporter}`,
    ...(name ? [`--test-name-pattern=${name}`] : []),
  ];
  const { words: command, env } = inSetting([process.execPath, ...args, ...words], setting);
  const child = spawn(command[0]!, command.slice(1), {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  const collected = collect(child);
  const watchdog = watch(child, stallMs, collected.unfinished);
  for (const stream of [child.stdout, child.stderr, child.stdio[3] as Readable]) stream!.on('data', watchdog.progress);
  const status = await ending(child, collected.reported);
  running.delete(child);
  kill(child, 'SIGKILL'); // processes that the tests left behind
  const { tests } = collected;
  const isExplained = tests.some(isFailed) || status === 'exit status 0';
  const problem = watchdog.stalled() ?? (isExplained ? null : `It ended with ${status} although no test failed.`);
  return { tests, problem, output: collected.output() };
}

/** Resolves with how a file ended, once all of its events and the output until shortly after its end have been read. */
async function ending(child: ChildProcess, reported: Promise<unknown>): Promise<string> {
  const closed = new Promise(resolve => child.once('close', resolve));
  const status = await new Promise<string>(resolve => {
    child.once('error', error => resolve(error.message));
    child.once('exit', (code, signal) => resolve(code === null ? String(signal) : `exit status ${code}`));
  });
  if (child.pid === undefined) return status;
  await reported;
  await Promise.race([closed, delay(DRAIN_MS, null, { ref: false })]);
  return status;
}

/** Ends every file that runs, for a runner that is interrupted. */
export function endAll(): void {
  for (const child of running) kill(child, 'SIGTERM');
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // no process of the group is left
  }
}

function collect(child: ChildProcess) {
  const tests: TestResult[] = [];
  const names: string[] = [];
  const unfinished = new Map<string, number>();
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
  const events = createInterface({ input: child.stdio[3] as Readable });
  events.on('line', line => {
    const event = JSON.parse(line) as Event;
    names.length = event.nesting;
    const path = [...names, event.name];
    if (event.type === 'running') unfinished.set(event.name, event.nesting);
    else if (event.type === 'start') names.push(event.name);
    else {
      unfinished.delete(event.name);
      if (
        event.skipped === NOT_SELECTED ||
        event.error?.nested ||
        (event.suite && !event.error && event.skipped === null)
      )
        return;
      const state = event.todo ? 'todo' : event.error ? 'failed' : event.skipped === null ? 'passed' : 'skipped';
      tests.push({ path, state, ms: event.ms, text: event.error?.text ?? event.skipped ?? '' });
    }
  });
  return { tests, reported: once(events, 'close'), output: () => output, unfinished: () => [...unfinished.keys()] };
}

/** Ends a file that makes no progress: first so that it can report and clean up, then by SIGKILL. */
function watch(child: ChildProcess, stallMs: number, unfinished: () => string[]) {
  let problem: string | null = null;
  let silent = 0;
  const probeMs = stallMs / 10;
  const expire = () => {
    const before = workOf(child.pid!);
    timer = setTimeout(() => {
      const works = workOf(child.pid!) - before > probeMs * WORKING;
      if (works && ++silent < MOST_SILENT) timer = setTimeout(expire, stallMs);
      else end();
    }, probeMs);
  };
  const end = () => {
    const seconds = Math.round(((silent + 1) * stallMs) / 1000);
    const inside = unfinished().at(-1);
    problem = `It made no progress for ${seconds} s${inside ? ` in "${inside}"` : ''} and was ended.`;
    kill(child, 'SIGTERM');
    timer = setTimeout(() => kill(child, 'SIGKILL'), GRACE_MS);
  };
  let timer = setTimeout(expire, stallMs);
  child.once('exit', () => clearTimeout(timer));
  return {
    progress: () => {
      if (problem !== null) return;
      silent = 0;
      clearTimeout(timer);
      timer = setTimeout(expire, stallMs);
    },
    stalled: () => problem,
  };
}
