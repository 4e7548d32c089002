// Every benchmark runs to its end: a small run of each, whose figures say nothing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { missing } from '../leak/missing.ts';
import { prefix } from '../support/e2e/culvert.ts';
import { missing as missingDisplay } from '../support/gnome/desktop.ts';

/** The benchmarks that a run without names takes. */
const NAMES = /\[ \$# -gt 0 \] \|\| set -- (daemon .+)$/m.exec(readFileSync('culvert-tool', 'utf8'))![1]!.split(' ');
/** Requirements of each beyond the built programs. */
const NEEDS: Record<string, string | false> = { killswitch: missing, panel: missingDisplay(), tray: missingDisplay() };

const fileOf = (name: string) =>
  [`test/bench/${name}.ts`, `test/bench/${name}/${name}.ts`].find(file => existsSync(file))!;

// several wait most of their time
describe('a small run of the benchmark', { concurrency: 3, skip: !existsSync(prefix) && 'nothing is built' }, () => {
  for (const name of NAMES)
    test(name, { skip: NEEDS[name] ?? false }, async t => {
      const env = { ...process.env, CULVERT_BENCH_ONCE: '1' };
      const child = spawn(process.execPath, ['--import', 'tsx', fileOf(name)], { env, stdio: 'pipe' });
      t.after(() => child.kill());
      let printed = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          printed += text;
          process.stdout.write(text); // progress, in the eyes of the runner
        });
      const [code, signal] = await once(child, 'close');
      assert.deepEqual([code, signal], [0, null], printed);
      assert.match(printed, /^(· |skipped: )/m, 'it prints a figure');
    });
});
