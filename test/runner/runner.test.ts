// The runner itself: what it makes of a file's events, how it orders files, and what it prints.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';
import { changedFiles, testsReached } from './changed.ts';
import { type FileResult, runFile, runTogether } from './file.ts';
import { fileReport, passed, summary } from './report.ts';
import { ALONE, dealt, longestFirst, ordered, parseSeconds, schedule } from './schedule.ts';
import { allTestFiles, groupOf, isPure, select } from './select.ts';
import { inSetting, readSetting, timeIn } from './setting.ts';

const HEAD = `import { describe, test } from 'node:test';\nimport assert from 'node:assert/strict';\n`;
const PATIENT = { stallMs: 120_000 };
/** Ten times what Node needs to start. */
const STALL_MS = 6_000;

/** Why no file can run at another date here. */
function missingForDate(): string | false {
  try {
    readSetting({ date: '2031-01-01' });
    return false;
  } catch (error) {
    return (error as Error).message;
  }
}

function write(t: TestContext, body: string): string {
  const file = join(temporary(t, 'runner'), 'some.test.mjs');
  writeFileSync(file, HEAD + body);
  return file;
}

test('collects passed, failed, skipped and todo tests with the suites around them', async t => {
  const file = write(
    t,
    `describe('outer', () => {
      test('good', () => {});
      test('bad', () => assert.equal(1, 2));
      test('later', { skip: 'no display' }, () => {});
      test('planned', { todo: true }, () => { throw new Error('not yet'); });
    });
    test('top', async t => { await t.test('inner', () => {}); });`,
  );
  const result = await runFile(file, PATIENT);
  assert.deepEqual(
    result.tests.map(({ path, state }) => [path.join('/'), state]),
    [
      ['outer/good', 'passed'],
      ['outer/bad', 'failed'],
      ['outer/later', 'skipped'],
      ['outer/planned', 'todo'],
      ['top/inner', 'passed'],
      ['top', 'passed'],
    ],
  );
  assert.match(result.tests[1]!.text, /1 !== 2/);
  assert.equal(result.tests[2]!.text, 'no display');
  assert.equal(result.problem, null);
  assert.equal(passed(result), false);
});

describe('a file that takes long', { concurrency: true }, () => {
  test('ends a file that makes no progress, names the test it was in, and leaves no process behind', async t => {
    const directory = temporary(t, 'runner');
    const file = write(
      t,
      `import { spawn } from 'node:child_process';
    test('hangs', () => new Promise(() => {
      const child = spawn('sleep', ['1000']);
      require('node:fs').writeFileSync('${directory}/pid', String(child.pid));
    }));`.replace('require(', 'process.getBuiltinModule('),
    );
    const result = await runFile(file, { stallMs: STALL_MS });
    assert.match(result.problem!, /made no progress for \d+ s in "hangs"/);
    assert.equal(passed(result), false);
    const pid = readFileSync(join(directory, 'pid'), 'utf8');
    await until(() => !existsSync(`/proc/${pid}`) || / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  });

  test('does not end a file that is silent while a program that it started works', async t => {
    const file = write(
      t,
      `import { spawnSync } from 'node:child_process';
      test('works', () => {
        const program = 'const end = performance.now() + ${1.5 * STALL_MS}; while (performance.now() < end);';
        assert.equal(spawnSync(process.execPath, ['-e', program]).status, 0);
      });`,
    );
    const result = await runFile(file, { stallMs: STALL_MS });
    assert.equal(result.problem, null);
    assert.ok(result.ms > STALL_MS);
  });

  test('does not end a file that takes long but makes progress', async t => {
    const file = write(
      t,
      `for (let i = 0; i < 8; i++) test('step ' + i, () => new Promise(done => setTimeout(done, 800)));`,
    );
    const result = await runFile(file, { stallMs: STALL_MS });
    assert.equal(result.problem, null);
    assert.equal(result.tests.length, 8);
    assert.ok(result.ms > STALL_MS);
  });

  test('does not end a file whose tests only wait for their children synchronously', async t => {
    const text = `for (let i = 0; i < 8; i++) test('step ' + i, () => void spawnSync('sleep', ['0.8']));`;
    const file = write(t, `import { spawnSync } from 'node:child_process';${text}`);
    const result = await runFile(file, { stallMs: STALL_MS });
    assert.equal(result.problem, null);
    assert.equal(result.tests.length, 8);
  });
});

test('a suite that is skipped counts as skipped, with its reason', async t => {
  const body = "describe('a suite', { skip: 'no server can be reached' }, () => { test('inside', () => {}); });";
  const result = await runFile(write(t, body), PATIENT);
  assert.equal(result.problem, null);
  assert.deepEqual(
    result.tests.map(({ path, state, text }) => [path, state, text]),
    [[['a suite'], 'skipped', 'no server can be reached']],
  );
});

test('a file that does not load, exits early or holds no tests fails with what it printed', async t => {
  const broken = await runFile(write(t, 'throw new Error("cannot load");'), PATIENT);
  assert.equal(passed(broken), false);
  assert.match(broken.problem!, /exit status [1-9]/);
  assert.match(broken.output, /cannot load/);
  const exits = await runFile(
    write(t, `test('good', () => {}); process.on('exit', () => { process.exitCode = 3; });`),
    PATIENT,
  );
  assert.match(exits.problem!, /exit status 3 although no test failed/);
  const empty = await runFile(write(t, 'console.log("nothing here");'), PATIENT);
  assert.equal(empty.problem, 'It contains no tests.');
});

describe('files in one process', () => {
  const PASSES = "describe('a suite', () => { test('good', () => {}); });";
  const FAILS = "test('bad', () => assert.equal(1, 2)); console.log('printed');";
  for (const [title, bodies, ended] of [
    ['have their own results', [PASSES, FAILS, PASSES], ['a suite/good passed', 'bad failed', 'a suite/good passed']],
    ['are left to run alone without a test', [PASSES, '', PASSES], ['a suite/good passed', 'a suite/good passed']],
    ['are left from one on that does not load', [FAILS, 'throw new Error();', PASSES], ['bad failed']],
    ['are left when one ends the process', ["test('ends', () => process.exit(0));", PASSES], []],
    [
      'are left when one sets the exit status',
      [PASSES, `${PASSES} process.on('exit', () => { process.exitCode = 3; });`],
      [],
    ],
  ] as const)
    test(title, async t => {
      const files = bodies.map(body => write(t, body));
      const results = await runTogether(files, file => file, PATIENT);
      assert.deepEqual(
        results.flatMap(({ tests }) => tests.map(({ path, state }) => `${path.join('/')} ${state}`)),
        ended,
      );
      assert.ok(results.every(({ file }) => files.includes(file)));
    });
});

test('finds the files whose code lets them share a process', () => {
  for (const [file, expected] of [
    ['test/daemon/routes/ranges.test.ts', true],
    ['test/daemon/view/states/coverage.test.ts', true],
    ['test/runner/runner.test.ts', false], // a helper starts processes
    ['test/daemon/http/flood.test.ts', false],
    ['test/e2e/daemon.test.ts', false],
  ] as const)
    assert.equal(isPure(file), expected, file);
});

test('deals items out to groups, none of them empty', () => {
  assert.deepEqual(dealt([1, 2, 3, 4, 5], 2), [
    [1, 3, 5],
    [2, 4],
  ]);
  assert.deepEqual(dealt([1], 4), [[1]]);
});

test('runs only the tests whose name matches', async t => {
  const file = write(t, `test('one', () => {}); test('two', () => assert.fail());`);
  const result = await runFile(file, { ...PATIENT, name: '^one$' });
  assert.deepEqual(
    result.tests.map(({ path }) => path.join()),
    ['one'],
  );
  assert.equal(passed(result), true);
});

for (const jobs of [1, 3, 40])
  test(`starts items in their order, at most ${jobs} at the same time, and loses none`, async () => {
    const items = Array.from({ length: 30 }, (_, i) => i);
    const started: number[] = [];
    let running = 0;
    await schedule(items, jobs, async item => {
      started.push(item);
      assert.ok(++running <= jobs);
      await new Promise(resolve => setImmediate(resolve));
      running--;
    });
    assert.deepEqual(started, items);
  });

test('sorts by the seconds of earlier runs, and the other files by size after them', () => {
  const files = ['select.ts', 'schedule.ts', 'runner.test.ts', 'report.ts'].map(name => ({
    file: `test/runner/${name}`,
  }));
  const seconds = parseSeconds('120 test/runner/select.ts\n3.5 test/runner/report.ts\n9 test/gone.test.ts\n');
  assert.deepEqual(
    longestFirst(files, seconds).map(({ file }) => file),
    ['select.ts', 'report.ts', 'runner.test.ts', 'schedule.ts'].map(name => `test/runner/${name}`),
  );
});

test('stores no seconds of a file that is gone', () => {
  const seconds = parseSeconds('9 test/gone.test.ts\n2 test/runner/select.ts\n3.5 test/runner/report.ts\n');
  assert.deepEqual(ordered(seconds), [
    ['test/runner/report.ts', 3.5],
    ['test/runner/select.ts', 2],
  ]);
});

test('selects by file, folder and part of a path, and refuses what names nothing', () => {
  const files = ['test/a/one.test.ts', 'test/a/two.test.ts', 'test/b/one.test.ts'];
  assert.deepEqual(select([], files), files);
  assert.deepEqual(select(['test/a/two.test.ts'], files), ['test/a/two.test.ts']);
  assert.deepEqual(select(['test/a/'], files), ['test/a/one.test.ts', 'test/a/two.test.ts']);
  assert.deepEqual(select(['one', 'test/a'], files), files);
  assert.throws(() => select(['three'], files), /No test file is named three/);
});

test('derives the group of a file from the helpers it reaches', () => {
  assert.equal(groupOf('test/runner/runner.test.ts'), 'unit');
  assert.equal(groupOf('test/daemon/warp/tunnel.test.ts'), 'programs');
  assert.equal(groupOf('test/gnome/panel.test.ts'), 'display');
  assert.equal(groupOf('test/daemon/killswitch/service.test.ts'), 'kernel');
  assert.equal(groupOf('test/daemon/routes/kernel.test.ts'), 'kernel');
  assert.equal(groupOf('test/e2e/daemon.test.ts'), 'built');
  assert.equal(groupOf('test/e2e/webui/webui.test.ts'), 'browser');
  assert.ok(allTestFiles().includes('test/runner/runner.test.ts'));
});

test('reports the failed tests with reasons, the ten slowest and the counts', () => {
  const good: FileResult = {
    file: 'test/good.test.ts',
    ms: 1_500,
    problem: null,
    output: '',
    tests: Array.from({ length: 12 }, (_, i) => ({
      path: ['suite', `test ${i}`],
      state: 'passed',
      ms: i * 100,
      text: '',
    })),
  };
  const bad: FileResult = {
    file: 'test/bad.test.ts',
    ms: 100,
    problem: 'It ended with SIGKILL although no test failed.',
    output: 'printed before the end',
    tests: [{ path: ['breaks'], state: 'failed', ms: 5, text: 'because of this' }],
  };
  assert.match(fileReport(good, 1, 2), /\[1\/2\] ✔ test\/good\.test\.ts {2}12 tests, 1\.5 s/);
  for (const part of [/✖ breaks/, /because of this/, /SIGKILL/, /printed before the end/])
    assert.match(fileReport(bad, 2, 2), part);
  const text = summary([good, bad], 3_000);
  assert.match(text, /1\.1 s {2}suite › test 11/);
  assert.doesNotMatch(text, /test 1 /);
  assert.match(text, /FAILED: 12 passed, 1 failed, 1 file broken in 2 files, 3\.0 s/);
  assert.match(text, /test\/bad\.test\.ts\n {2}✖ breaks/);
  assert.match(
    text,
    /✖ breaks {2}test\/bad\.test\.ts\n {2}✖ test\/bad\.test\.ts: It ended with SIGKILL [^\n]*\nFAILED/,
  );
});

test('the end of the report repeats the first lines and the last of a long failure', () => {
  const printed = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
  const file = { file: 'test/long.test.ts', ms: 1, problem: null, output: '' };
  const text = summary([{ ...file, tests: [{ path: ['breaks'], state: 'failed', ms: 5, text: printed }] }], 1);
  for (const part of [/line 0\n/, /line 5\n/, /\[… 28 lines\]/, /line 34\n/, /line 39\n/]) assert.match(text, part);
  assert.doesNotMatch(text, /line 20\b/);
});

test('each file that runs alone exists', () => {
  assert.deepEqual(
    [...ALONE].filter(file => !existsSync(file)),
    [],
  );
});

test('the last line counts files that were ended, and those that never ran', () => {
  const tests: FileResult['tests'] = [{ path: ['works'], state: 'passed', ms: 5, text: '' }];
  const file = { file: 'test/a.test.ts', ms: 1_000, output: '', tests };
  const good = { ...file, problem: null };
  const ended = { ...file, problem: 'It made no progress for 300 s and was ended.' };
  const last = (results: FileResult[], total?: number) => summary(results, 1_000, total).split('\n').at(-1);
  for (const [line, results, total] of [
    ['PASSED: 1 passed in 1 files, 1.0 s', [good]],
    ['FAILED: 3 passed, 2 files broken in 3 files, 1.0 s', [good, ended, ended]],
    ['FAILED: 1 passed, 2 files never run in 1 files, 1.0 s', [good], 3],
    ['FAILED: 2 passed, 1 file broken, 1 file never run in 2 files, 1.0 s', [good, ended], 3],
  ] as const)
    assert.equal(last([...results], total), line);
});

test('reads a date in its time zone, and refuses what no run can be in', () => {
  for (const [zone, time] of [
    ['Asia/Kolkata', '2027-02-28T18:29:30.000Z'],
    ['America/New_York', '2027-03-01T04:59:30.000Z'],
    ['UTC', '2027-02-28T23:59:30.000Z'],
  ] as const)
    assert.equal(new Date(timeIn('2027-02-28T23:59:30', zone)).toISOString(), time);
  assert.equal(readSetting({}), undefined);
  assert.throws(() => readSetting({ date: 'tomorrow' }, true), /--date takes a time such as/);
  assert.throws(() => readSetting({ zone: 'Asia/Nowhere' }, true), /There is no time zone Asia\/Nowhere/);
  assert.throws(() => readSetting({ zone: 'Asia/Kolkata' }, false), /takes root/);
  assert.throws(() => readSetting({ locale: 'German' }, true), /--locale takes a name such as/);
});

test('runs here and now without options, and in another locale without its own clock', () => {
  assert.deepEqual(inSetting(['node', 'x'], undefined), { words: ['node', 'x'], env: process.env });
  const { words, env } = inSetting(['node', 'x'], { startMs: null, zone: null, locale: 'ar_EG.UTF-8' });
  const { CULVERT_TEST_DATE } = process.env;
  assert.deepEqual([words, env.LC_ALL, env.CULVERT_TEST_DATE], [['node', 'x'], 'ar_EG.UTF-8', CULVERT_TEST_DATE]);
});

test('begins each file at the date, which goes on, in all programs and whatever their environment', {
  skip: process.env.CULVERT_TEST_DATE ? 'this run has a date already' : missingForDate(),
}, async t => {
  const startMs = timeIn('2031-02-28T23:59:59', 'Asia/Kolkata');
  const file = write(
    t,
    `import { spawnSync } from 'node:child_process';
      const began = performance.now();
      const day = () => spawnSync('date', ['+%F %Z'], { env: {}, encoding: 'utf8' }).stdout.trim();
      test('begins then', () => assert.ok(Date.now() - ${startMs} < 600_000 && Date.now() >= ${startMs}));
      test('goes on', async () => {
        while (new Date().getDate() === 28) await new Promise(done => setTimeout(done, 20));
        assert.ok(performance.now() - began < 600_000);
        assert.equal(day(), '2031-03-01 IST');
        assert.equal(String(new Date()).slice(0, 15), 'Sat Mar 01 2031');
      });`,
  );
  const setting = { startMs, zone: 'Asia/Kolkata', locale: null };
  const result = await runFile(file, { ...PATIENT, setting });
  assert.deepEqual(
    result.tests.map(({ state, text }) => text || state),
    ['passed', 'passed'],
    result.output,
  );
});

describe('the tests that a change can reach', () => {
  const tests = [
    { file: 'test/daemon/networks/rules.test.ts', group: 'unit' },
    { file: 'test/daemon/networks/links.test.ts', group: 'programs' },
    { file: 'test/daemon/routes/routes.test.ts', group: 'programs' },
    { file: 'test/e2e/webui/pages.test.ts', group: 'browser' },
  ] as const;
  const imports = new Map([
    ['test/daemon/networks/rules.test.ts', ['daemon/networks/rules/judge.ts']],
    ['daemon/networks/rules/judge.ts', ['daemon/core/files.ts']],
    ['test/daemon/networks/links.test.ts', ['test/support/stage.ts']],
    ['test/daemon/routes/routes.test.ts', ['test/support/stage.ts']],
    ['test/e2e/webui/pages.test.ts', []],
  ]);
  const texts = (file: string) => (file.includes('routes') ? "join(fixtures, 'routes.json')" : '');
  const table: [string, string[], string[]][] = [
    ['through imports', ['daemon/core/files.ts'], ['rules']],
    ['through a helper', ['test/support/stage.ts'], ['links', 'routes']],
    ['in the folder of the programs', ['daemon/networks/links/read.ts'], ['links']],
    ['the page', ['daemon/webui/main.tsx'], ['pages']],
    ['by the name of a file of data', ['test/fixtures/routes.json'], ['routes']],
    ['themselves', ['test/daemon/networks/rules.test.ts'], ['rules', 'links']],
    ['none', ['README.md', 'manifest/main.ts'], []],
  ];
  for (const [title, changed, expected] of table)
    test(title, () => {
      const reached = testsReached(changed, tests, imports, texts);
      assert.deepEqual(
        reached.map(file => file.replace(/.*\/(\w+)\.test\.ts$/, '$1')),
        expected,
      );
    });

  test('says so when git does not know the commit', () => {
    assert.throws(() => changedFiles('no-such-commit'), /git diff failed: .*no-such-commit/);
  });
});
