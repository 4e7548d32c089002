// Measures whether tests notice small mistakes: changes one token of a pure file at a time and runs its table of cases.
// node --import tsx test/bench/mutations/mutate.ts [--list] [--json] [FILE…]; without files, those of TARGETS.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleFiles, removeBundles } from '../../runner/bundle.ts';
import { type Mutation, mutationsOf } from './mutations.ts';

const root = resolve(import.meta.dirname, '../../..');
/** The share of mutations that the tests of a file have to notice. */
const BAR = 0.95;
/** A mutation may make a test loop. */
const LIMIT_MS = 60_000;

/** Pure files that are measured by default. Their tests are at the same path below test/. */
const TARGETS = [
  'daemon/api/apply-event.ts',
  'daemon/apps/desktop-entry.ts',
  'daemon/http/guard.ts',
  'daemon/killswitch/rules/rules.ts',
  'daemon/routes/document.ts',
  'daemon/view/states/killswitch.ts',
  'daemon/view/states/tunnel.ts',
  'daemon/warp/actions/commands.ts',
  'daemon/warp/cli/failures.ts',
  'daemon/warp/read/freshness.ts',
  'daemon/warp/parse/reads.ts',
  'daemon/warp/parse/settings.ts',
  'daemon/warp/parse/status.ts',
  'daemon/warp/cli/version.ts',
  'manifest/schema.ts',
  'wrapper/run/candidates.ts',
  'wrapper/run/rules/classify.ts',
];

interface Outcome {
  file: string;
  mutations: number;
  unnoticed: Mutation[];
  /** Why the file could not be measured. */
  problem: string | null;
}

/** Measures one file: its tests have to pass as it is, and to fail with each mutation. */
async function measure(file: string): Promise<Outcome> {
  const test = `test/${file.replace(/\.ts$/, '.test.ts')}`;
  const text = readFileSync(join(root, file), 'utf8');
  const mutations = mutationsOf(file, text);
  const outcome: Outcome = { file, mutations: mutations.length, unnoticed: [], problem: null };
  if (!existsSync(join(root, test))) return { ...outcome, problem: `there is no ${test}` };
  if (!(await passes(test, null))) return { ...outcome, problem: `${test} fails without a mutation` };
  const queue = [...mutations];
  const worker = async () => {
    for (let mutation = queue.shift(); mutation; mutation = queue.shift())
      if (await passes(test, { ...mutation, file: join(root, file) })) outcome.unnoticed.push(mutation);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return outcome;
}

let bundled = 0;
/** A mutation may loop; none outlives this process. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Runs a test file, with the mutation in its bundle so that no file of the tree is ever changed. Resolves with true if it passes. */
async function passes(test: string, mutation: (Mutation & { file: string }) | null): Promise<boolean> {
  const bundleOf = await bundleFiles([test], `mutation-${bundled++}`, mutation);
  const child = spawn(process.execPath, [bundleOf(test)], {
    cwd: root,
    stdio: 'ignore',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  running.add(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', code => {
      running.delete(child);
      resolve(code === 0);
    });
  });
}

const share = (noticed: number, of: number) => (of === 0 ? 1 : noticed / of);
const percent = (ratio: number) => `${(ratio * 100).toFixed(1)} %`;

process.on('exit', removeBundles);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const files = positionals.length > 0 ? positionals.map(file => relative(root, resolve(file))) : TARGETS;
if (values.list) {
  for (const file of files)
    for (const { line, before, after } of mutationsOf(file, readFileSync(join(root, file), 'utf8')))
      console.log(`${file}:${line}: ${before} -> ${after}`);
  process.exit();
}

const outcomes: Outcome[] = [];
for (const file of files) {
  const outcome = await measure(file);
  outcomes.push(outcome);
  if (values.json) continue;
  const noticed = outcome.mutations - outcome.unnoticed.length;
  console.log(
    outcome.problem
      ? `${file}: not measured, ${outcome.problem}`
      : `${file}: ${noticed} of ${outcome.mutations} noticed, ${percent(share(noticed, outcome.mutations))}`,
  );
  for (const { line, before, after } of outcome.unnoticed) console.log(`  ${file}:${line}: ${before} -> ${after}`);
}
const measured = outcomes.filter(({ problem }) => problem === null);
const total = measured.reduce((sum, { mutations }) => sum + mutations, 0);
const unnoticed = measured.reduce((sum, outcome) => sum + outcome.unnoticed.length, 0);
if (values.json) console.log(JSON.stringify(outcomes, null, 2));
else
  console.log(
    `\n${total - unnoticed} of ${total} noticed, ${percent(share(total - unnoticed, total))}; bar ${percent(BAR)}`,
  );
const missed = outcomes.some(
  ({ mutations, unnoticed, problem }) => problem !== null || share(mutations - unnoticed.length, mutations) < BAR,
);
process.exitCode = missed ? 1 : 0;
