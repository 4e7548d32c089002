// Every benchmark runs to its end: a small run of each, whose figures say nothing.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { median, note, report, reportAtLeast } from '../bench/support/report.ts';
import { missing } from '../leak/missing.ts';
import { prefix } from '../support/e2e/culvert.ts';
import { missing as missingDisplay } from '../support/gnome/desktop.ts';

/** The benchmarks that a run without names takes. */
const NAMES = /\[ \$# -gt 0 \] \|\| set -- (daemon .+)$/m.exec(readFileSync('culvert-tool', 'utf8'))![1]!.split(' ');
/** Requirements of each beyond the built programs. */
const NEEDS: Record<string, string | false> = { killswitch: missing, panel: missingDisplay(), tray: missingDisplay() };

const fileOf = (name: string) =>
  [`test/bench/${name}.ts`, `test/bench/${name}/${name}.ts`].find(file => existsSync(file))!;

/** The longest time without a figure, far above what one takes on a busy machine; below the silence after which the runner ends this file. */
const LIMIT_MS = 240_000;

/** Runs a benchmark to its end, or until the limit: what it printed is then in the failure. */
async function run(
  name: string,
  words: string[],
  { limit, heard }: { limit: AbortSignal; heard?: (text: string) => void },
) {
  const child = spawn(process.execPath, words, { env: { ...process.env, CULVERT_BENCH_ONCE: '1' }, stdio: 'pipe' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      process.stdout.write(text); // progress, in the eyes of the runner
      heard?.(text);
    });
  try {
    const [code, signal] = await once(child, 'close', { signal: limit });
    assert.deepEqual([code, signal], [0, null], printed);
  } catch (error) {
    if (!limit.aborted) throw error;
    assert.fail(`The benchmark ${name} did not end in time. It printed:\n${printed}`);
  } finally {
    child.kill('SIGKILL');
    // a process that it left behind may hold these open
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
  return printed;
}

// several wait most of their time
describe('a small run of the benchmark', { concurrency: 3, skip: !existsSync(prefix) && 'nothing is built' }, () => {
  for (const name of NAMES)
    test(name, { skip: NEEDS[name] ?? false }, async t => {
      const words = ['--import', 'tsx', fileOf(name)];
      const silence = new AbortController();
      const timer = setTimeout(() => silence.abort(), LIMIT_MS);
      t.after(() => clearTimeout(timer));
      const printed = await run(name, words, { limit: silence.signal, heard: () => timer.refresh() });
      assert.match(printed, /^(· |skipped: )/m, 'it prints a figure');
    });
});

test('a benchmark that does not end is ended, and the failure has its name and its output', async () => {
  const started = new AbortController();
  const hanging = ['-e', "console.log('· the first figure'); setInterval(() => {}, 1e6)"];
  const heard = () => started.abort();
  await assert.rejects(
    run('sleepy', hanging, { limit: started.signal, heard }),
    /benchmark sleepy .*\n· the first figure/,
  );
});

test('a figure that was not measured ends the benchmark', () => {
  const wrong = { message: /"it" was not measured/ };
  for (const value of [1 / 0, 0 / 0, median([])]) {
    assert.throws(() => report('it', value, 1, 'ms'), wrong);
    assert.throws(() => reportAtLeast('it', value, 1, 'ms'), wrong);
    assert.throws(() => note('it', value, 'ms'), wrong);
  }
  const module = pathToFileURL('test/bench/support/report.ts');
  const text = `import { note } from '${module}'; note('it', 0 / 0, 'ms');`;
  const words = ['--import', 'tsx', '--input-type=module', '-e', text];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, wrong.message);
});
