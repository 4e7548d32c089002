// Killed before each file operation of applying a fix and of taking it back: the file is whole, and what was changed can
// be taken back.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { buildSync } from 'esbuild';
import { undoable } from '../../../daemon/doctor/fixes.ts';
import { FILE_CALLS, fileOperations } from '../../support/file-operations.ts';
import { temporary } from '../../support/temporary.ts';
import { sample } from '../../support/thoroughness.ts';

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace';
let program = '';

before(() => {
  program = join(process.cwd(), 'build/test', `fix-${process.pid}.mjs`);
  buildSync({
    entryPoints: [join(import.meta.dirname, '../../support/doctor/act.ts')],
    ...{ outfile: program, bundle: true, platform: 'node', format: 'esm', mainFields: ['module', 'main'] },
    ...{ define: { __VERSION__: '"9.9.9"' }, logLevel: 'error' },
  });
});

after(() => rmSync(program, { force: true }));

type Act = 'apply' | 'undo';
const run = (home: string, act: Act, tracer: readonly string[] = []) =>
  spawnSync('env', [...tracer, process.execPath, program, home, act], {
    env: { PATH: process.env.PATH, HOME: home },
    encoding: 'utf8',
    timeout: 60_000,
  });
const text = (home: string) => readFileSync(join(home, 'file'), 'utf8');
const listed = (home: string) => undoable(join(home, 'state/undo.json')).length;

/** Runs an act on copies of a directory, killed before one operation in each, and looks at what is left. */
function kill(t: TestContext, original: string, act: Act, check: (home: string, name: string) => void): void {
  const copy = () => {
    const home = temporary(t, 'fix');
    cpSync(original, home, { recursive: true });
    // the journal names files by their whole path
    const journal = join(home, 'state/undo.json');
    if (existsSync(journal)) writeFileSync(journal, readFileSync(journal, 'utf8').replaceAll(original, home));
    return home;
  };
  const traced = copy();
  const log = join(temporary(t, 'trace'), 'log');
  const { status, stderr } = run(traced, act, ['strace', '-y', '-o', log, '-e', `trace=${FILE_CALLS}`]);
  assert.equal(status, 0, stderr);
  const operations = fileOperations(log, traced, 'changes');
  assert.ok(operations.length > 5, `${operations.length} operations`);
  t.diagnostic(`${act}: ${operations.length} file operations`);
  for (const { call, ordinal } of sample(operations, 12)) {
    const home = copy();
    const name = `${act}, ${call} ${ordinal}`;
    run(home, act, ['strace', '-o', '/dev/null', '-e', `inject=${call}:signal=KILL:when=${ordinal}`]);
    check(home, name);
    assert.deepEqual([text(home), listed(home)], ['old\n', 0], name);
    const left = readdirSync(home).filter(
      file => file !== 'file' && file !== 'state' && !file.endsWith('.culvert-new'),
    );
    assert.deepEqual(left, [], name);
  }
}

function machine(t: TestContext): string {
  const home = temporary(t, 'fix');
  mkdirSync(join(home, 'state'));
  writeFileSync(join(home, 'file'), 'old\n');
  return home;
}

test('a fix that is killed has changed nothing, or can be taken back', { skip }, t => {
  const seen = new Set<string>();
  kill(t, machine(t), 'apply', (home, name) => {
    const changed = text(home) === 'new\n';
    assert.ok(changed || text(home) === 'old\n', name);
    assert.equal(listed(home), changed ? 1 : 0, `${name}: ${text(home)}`);
    seen.add(text(home));
    // a fix that did not happen can be applied as if nothing had been
    if (!changed) assert.equal(run(home, 'apply').status, 0, name);
    assert.deepEqual([text(home), listed(home)], ['new\n', 1], name);
    assert.equal(run(home, 'undo').status, 0, name);
  });
  assert.deepEqual([...seen].sort(), ['new\n', 'old\n'], 'it was killed before and after the change');
});

test('taking a fix back can be killed and repeated', { skip }, t => {
  const applied = machine(t);
  assert.equal(run(applied, 'apply').status, 0);
  kill(t, applied, 'undo', (home, name) => {
    assert.ok(['old\n', 'new\n'].includes(text(home)), name);
    if (listed(home) > 0) assert.equal(run(home, 'undo').status, 0, name);
  });
});
