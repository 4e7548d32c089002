// Runs the tests: node --import tsx test/runner/main.ts [OPTION…] [FILE | FOLDER | PART OF A PATH…]
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { bundleFiles, makeBuilds, removeBundles } from './bundle.ts';
import { changedFiles, importsOf, testsReached } from './changed.ts';
import { endAll, type FileResult, runFile, runTogether } from './file.ts';
import { fileReport, passed, summary } from './report.ts';
import { ALONE, dealt, longestFirst, readSeconds, schedule, writeSeconds } from './schedule.ts';
import { allTestFiles, type Group, groupOf, isPure, select } from './select.ts';
import { readSetting } from './setting.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const USAGE = `Usage: ./culvert-tool test [OPTION…] [FILE | FOLDER | PART OF A PATH…]
       ./culvert-tool test --changed [OPTION…] [COMMIT]
       ./culvert-tool test --transcript FILE

      --changed      only tests that a change since COMMIT can reach through imports, and those of the programs in the
                     same folder; without COMMIT: what is not committed, or the last commit
      --transcript FILE
                     replay what "culvert diagnose record" wrote, without a network: says what Culvert does not know, and
                     which commands failed; exit status 1 for something unknown, 2 for a file that is no transcript
  -t, --name REGEX   only tests whose name matches
      --unit         only tests that need nothing but Node and the npm packages
      --full         also what a short run leaves out, as with CULVERT_FULL=1: kill programs at every operation
      --jobs N       how many files run at once (default: three per core)
      --stall S      end a file that reports nothing, and does nothing, for S seconds (default: 300)
      --date DATE    begin each file at that time, such as 2027-02-28T23:59:30; as root
      --zone ZONE    in that time zone, such as Asia/Kolkata; as root
      --locale NAME  in that language and region, such as ar_EG.UTF-8
      --record       store the seconds of the long files in test/runner/seconds.txt, by which a fresh clone orders them
      --list         print the files and their groups instead of running them`;

/** Number of processes that run the files which can share one. */
const PURE_PROCESSES = 4;

async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      changed: { type: 'boolean', default: false },
      name: { type: 'string', short: 't' },
      unit: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      // half of a file's time is waiting, for children and for timers
      jobs: { type: 'string', default: String(3 * availableParallelism()) },
      stall: { type: 'string', default: '300' },
      date: { type: 'string' },
      zone: { type: 'string' },
      locale: { type: 'string' },
      record: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      transcript: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.transcript !== undefined) {
    const { replayTranscript } = await import('./transcript.ts');
    return replayTranscript(values.transcript, line => console.log(line));
  }
  const jobs = positive('--jobs', values.jobs);
  const stallMs = positive('--stall', values.stall) * 1000;
  const named = values.changed ? allTestFiles() : select(positionals);
  const groups = named.map(file => ({ file, group: groupOf(file) }));
  const reached = values.changed ? await reachedSince(positionals, groups) : groups;
  const files = reached.filter(({ group }) => !values.unit || group === 'unit');
  if (values.list) {
    for (const { file, group } of files) console.log(`${group.padEnd(10)}${file}`);
    return 0;
  }

  if (values.full) process.env.CULVERT_FULL = '1'; // for the files that it starts
  const began = performance.now();
  const results: FileResult[] = [];
  const options = { name: values.name, stallMs, setting: readSetting(values) };
  process.env.CULVERT_TEST_BUILDS = makeBuilds();
  if (!values.full) process.env.TMPDIR ??= temporaryDirectory();
  const bundleOf = await bundleFiles(files.map(({ file }) => file));
  const report = (result: FileResult) => {
    results.push(result);
    if (!values.name || result.tests.length > 0 || result.problem)
      console.log(fileReport(result, results.length, files.length));
  };
  const run = async ({ file }: { file: string }) => {
    if (!interrupted) report(await runFile(file, { ...options, bundle: bundleOf(file) }));
  };
  const runPure = async (group: readonly { file: string }[]) => {
    const ended =
      interrupted || group.length === 1
        ? []
        : await runTogether(
            group.map(({ file }) => file),
            bundleOf,
            options,
          );
    ended.forEach(report);
    for (const each of group.filter(({ file }) => !ended.some(result => result.file === file))) await run(each);
  };
  const seconds = readSeconds();
  const pure = values.name || options.setting ? [] : files.filter(({ file }) => isPure(file));
  const others = files.filter(each => !ALONE.has(each.file) && !pure.includes(each));
  const items = [
    ...dealt(longestFirst(pure, seconds), PURE_PROCESSES).map(group => () => runPure(group)),
    ...longestFirst(others, seconds).map(each => () => run(each)),
  ];
  await schedule(items, jobs, item => item());
  await schedule(
    files.filter(({ file }) => ALONE.has(file)),
    1,
    run,
  );
  // a run of some tests says nothing about the seconds of their files
  if (!values.name && !options.setting && !interrupted)
    writeSeconds(new Map([...seconds, ...results.map(({ file, ms }) => [file, ms / 1000] as const)]), values.record);
  const tests = results.reduce((count, result) => count + result.tests.length, 0);
  if (tests === 0) throw new Error('No test matches.');
  console.log(summary(results, performance.now() - began, files.length));
  return !interrupted && results.every(passed) ? 0 : 1;
}

async function reachedSince<T extends { file: string; group: Group }>(commits: string[], tests: T[]): Promise<T[]> {
  if (commits.length > 1) throw new Error('--changed takes one commit.');
  const changed = changedFiles(commits[0]);
  const reached = new Set(testsReached(changed, tests, await importsOf(tests.map(({ file }) => file))));
  if (reached.size === 0) throw new Error(`No test reaches a change. Changed: ${changed.join(', ') || 'nothing'}`);
  return tests.filter(({ file }) => reached.has(file));
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${option} takes a whole number above 0, not ${text}.`);
  return number;
}

let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (interrupted) process.exit(1); // the second signal does not wait
    interrupted = true;
    endAll();
  });

process.on('exit', removeBundles);
main(process.argv.slice(2)).then(
  code => {
    process.exitCode = code;
  },
  (error: Error) => {
    console.error(error.message);
    process.exitCode = 2;
  },
);
