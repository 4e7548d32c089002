// Fixes of files and commands: applied whole, recorded, undone, and refused after another change.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CheckResult, Fix } from '../../../daemon/api/doctor.ts';
import type { Failure } from '../../../daemon/core/errors.ts';
import { startTime } from '../../../daemon/core/process.ts';
import { message } from '../../../daemon/doctor/check.ts';
import { fileFix } from '../../../daemon/doctor/file-fix.ts';
import { abandon, begin, type Entry, forgetStep, settle } from '../../../daemon/doctor/fix-journal.ts';
import {
  applyFix,
  type FixContext,
  handedOver,
  linkInstead,
  undoable,
  undoLast,
} from '../../../daemon/doctor/fixes.ts';
import { adminCommands } from '../../../daemon/doctor/world/facts.ts';
import { createTools } from '../../../daemon/doctor/world/tools.ts';
import { Problem } from '../../../daemon/problem.ts';
import { adminLines, adminUndoLines } from '../../../daemon/view/fix.ts';
import { ENV } from '../../support/doctor/world.ts';
import { missing, temporary } from '../../support/temporary.ts';

function setUp(t: TestContext) {
  const directory = temporary(t, 'fix');
  const performed: string[] = [];
  const context: FixContext = {
    tools: createTools({ env: ENV, signal: new AbortController().signal }),
    journal: join(directory, 'state', 'undo.json'),
    async runAction(action, value) {
      if (value === 'refused') throw new Problem('tunnel-cli-failed', 'The tunnel CLI refused.');
      performed.push([action, value].filter(Boolean).join(' '));
    },
  };
  return { directory, context, performed };
}

const result = (fix: Fix): CheckResult => ({
  id: 'test',
  title: 'Test',
  group: 'culvert',
  verdict: 'problem',
  evidence: [],
  explanation: null,
  fix,
  fixId: 'x',
  source: null,
  appliesTo: null,
  durationMs: 0,
});

test('a file is replaced with its mode, behind a link as well, and restored by undo', async t => {
  const { directory, context } = setUp(t);
  const [real, link] = [join(directory, 'real'), join(directory, 'link')];
  writeFileSync(real, 'a\nb\n');
  chmodSync(real, 0o640);
  symlinkSync(real, link);
  const fix = fileFix(message('Change'), link, { before: 'a\nb\n', content: 'a\nc\n' }, false)!;
  assert.match(fix.kind === 'file' ? fix.diff : '', /\n-…\n\+c\n/);
  assert.deepEqual(await applyFix(result(fix), context), [`wrote ${link}`]);
  assert.deepEqual([readFileSync(real, 'utf8'), statSync(real).mode & 0o777], ['a\nc\n', 0o640]);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(undoable(context.journal).length, 1);
  assert.deepEqual(await undoLast(context), [`restore ${real}`]);
  assert.deepEqual([readFileSync(real, 'utf8'), undoable(context.journal).length], ['a\nb\n', 0]);
});

test('a fix keeps owner, mode and attributes of a file, and undo restores every byte', async t => {
  const { directory, context } = setUp(t);
  const path = join(directory, 'file');
  const text = '\ufeff# größer, then CRLF\r\nold\r\nno end of line';
  writeFileSync(path, text);
  chmodSync(path, 0o664);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(path, 65_534, 100);
  const labeled =
    spawnSync('python3', ['-c', 'import os, sys; os.setxattr(sys.argv[1], "user.culvert", b"kept")', path]).status ===
    0;
  const has = () => {
    const { mode, uid, gid } = statSync(path);
    const attribute = labeled
      ? execFileSync('python3', ['-c', 'import os, sys; print(os.getxattr(sys.argv[1], "user.culvert"))', path], {
          encoding: 'utf8',
        })
      : '';
    return [mode & 0o7777, uid, gid, attribute];
  };
  const before = has();
  if (isRoot) assert.deepEqual(before.slice(0, 3), [0o664, 65_534, 100]);
  const fix = fileFix(message('Change'), path, { before: text, content: 'new\n' }, false)!;
  await applyFix(result(fix), context);
  assert.deepEqual([readFileSync(path, 'utf8'), has()], ['new\n', before]);
  await undoLast(context);
  assert.deepEqual([readFileSync(path, 'utf8'), has()], [text, before]);
  assert.deepEqual(
    [readdirSync(directory).sort(), readdirSync(join(directory, 'state'))],
    [['file', 'state'], ['undo.json']],
    'no copy stays',
  );
});

test('a file that is not UTF-8 gets no fix, and a file that has become so stays as it is', async t => {
  const { directory, context } = setUp(t);
  const path = join(directory, 'file');
  const bytes = Buffer.from('# gr\xf6\xdfer\r\nold\n', 'latin1');
  writeFileSync(path, bytes);
  assert.equal(fileFix(message('Change'), path, { before: readFileSync(path, 'utf8'), content: 'new\n' }), null);
  const earlier = fileFix(message('Change'), path, { before: 'old\n', content: 'new\n' }, false)!;
  await assert.rejects(applyFix(result(earlier), context), /is not UTF-8 text.*Nothing was changed/);
  assert.deepEqual(readFileSync(path), bytes);
});

test('a file that the fix made is removed by undo', async t => {
  const { directory, context } = setUp(t);
  const path = join(directory, 'new');
  await applyFix(result(fileFix(message('Make'), path, { before: null, content: 'x\n' }, false)!), context);
  assert.equal(readFileSync(path, 'utf8'), 'x\n');
  await undoLast(context);
  assert.ok(!existsSync(path));
});

test('a file that was changed after the fix is left as it is, and undo can be tried again', async t => {
  const { directory, context } = setUp(t);
  const path = join(directory, 'file');
  writeFileSync(path, 'old\n');
  await applyFix(result(fileFix(message('Change'), path, { before: 'old\n', content: 'new\n' }, false)!), context);
  writeFileSync(path, 'mine\n');
  await assert.rejects(undoLast(context), { code: 'changed' });
  assert.deepEqual([readFileSync(path, 'utf8'), undoable(context.journal).length], ['mine\n', 1]);
});

test('records how far the actions went that fail half-way', async t => {
  const { context, performed } = setUp(t);
  const steps = (verb: 'add' | 'remove') =>
    ['10.1.0.0/16', 'refused'].map(value => ({ action: `${verb}SplitRange` as const, value }));
  const fix: Fix = { kind: 'action', label: 'Exclude', actions: steps('add'), undo: steps('remove') };
  await assert.rejects(applyFix(result(fix), context), /Exclude failed: The tunnel CLI refused\./);
  await undoLast(context);
  assert.deepEqual(performed, ['addSplitRange 10.1.0.0/16', 'removeSplitRange 10.1.0.0/16']);
});

test('a restart of WARP comes last in an undo, as it does in the fix', async t => {
  const { context } = setUp(t);
  const ran: string[] = [];
  const run = async (program: string, args: readonly string[]) => {
    ran.push([program, ...args].join(' '));
    return { exitCode: 0, stdout: '', stderr: '' };
  };
  const within = { ...context, tools: { ...context.tools, run } };
  for (const restart of [
    'systemctl restart warp-svc',
    'rc-service warp-svc restart',
    's6-svc -r /run/service/warp-svc',
  ]) {
    const words = restart.split(' ');
    const undo = [['chown', '1', '/x'], ['chmod', '7', '/x'], words];
    const fix: Fix = { kind: 'commands', label: 'Own', commands: undo, undo, privileged: false };
    await applyFix(result(fix), within);
    ran.length = 0;
    await undoLast(within);
    assert.deepEqual(ran, ['chmod 7 /x', 'chown 1 /x', restart]);
  }
});

test('a command that fails or is missing is reported with its output', async t => {
  const { context } = setUp(t);
  const fix = (...argv: string[]): Fix => ({
    kind: 'commands',
    label: 'Run',
    commands: [argv],
    undo: [],
    privileged: false,
  });
  await assert.rejects(applyFix(result(fix('ls', missing(t))), context), /ls \S+ failed: .*No such file/);
  await assert.rejects(applyFix(result(fix('no-such-program')), context), /no-such-program is not installed/);
  assert.deepEqual(undoable(context.journal), []);
});

test('a fix printed for an administrator is listed with its undo commands, unless it was never run', async t => {
  const { directory, context } = setUp(t);
  const user = process.getuid;
  t.after(() => Object.assign(process, { getuid: user }));
  Object.assign(process, { getuid: () => 1000 });
  const path = join(directory, 'file');
  writeFileSync(path, 'old\n');
  const ofFile = fileFix(message('Change'), path, { before: 'old\n', content: 'new\n' })!;
  const ofCommands = adminCommands(message('Stop %s', 'x'), [['systemctl', 'stop', 'x']], {
    undo: [['systemctl', 'start', 'x']],
  });
  const hints: string[] = [];
  for (const fix of [
    ofFile,
    ofCommands,
    ofCommands,
    adminCommands(message('Restart'), [['systemctl', 'restart', 'x']]),
  ])
    await assert.rejects(
      applyFix(result(fix), context),
      (error: Failure) => hints.push(error.hint ?? '') && error.code === 'privileged',
    );
  assert.match(hints[1] ?? '', /^sudo systemctl stop x\nUndo it with:\nsudo systemctl start x$/);
  assert.equal(hints[3], 'sudo systemctl restart x', 'nothing takes a restart back');
  const listed = () => handedOver(context.journal).map(({ label, shell }) => [label, ...shell]);
  const commands = ['Stop x', 'sudo systemctl start x'];
  assert.deepEqual(listed(), [commands], 'the file is as it was, so nobody ran it');
  writeFileSync(path, 'new\n');
  assert.deepEqual(listed(), [commands, ['Change', `sudo mv -T ${path}.before-culvert ${path}`]]);
  assert.deepEqual(undoable(context.journal), []);
});

test('a file that undo could not bring back is left as it is', async t => {
  const { directory, context } = setUp(t);
  const at = (name: string) => join(directory, name);
  mkdirSync(at('directory'));
  execFileSync('mkfifo', [at('pipe')]);
  symlinkSync('nothing', at('dangling'));
  symlinkSync('loop', at('loop'));
  writeFileSync(at('two names'), 'old\n');
  linkSync(at('two names'), at('other name'));
  symlinkSync('two names', at('link'));
  for (const [name, why] of [
    ['directory', /not a regular file/],
    ['pipe', /not a regular file/],
    ['dangling', /link to what can't be read/],
    ['loop', /link to what can't be read/],
    ['two names', /hard link/],
    ['link', /hard link/],
  ] as const) {
    const fix = fileFix(message('Change'), at(name), { before: null, content: 'x' }, false)!;
    await assert.rejects(applyFix(result(fix), context), (error: Failure) => {
      assert.match(error.message, why);
      assert.match(error.message, /Nothing was changed\.$/);
      return error.code === 'failed';
    });
  }
  assert.deepEqual([statSync(at('two names')).nlink, readFileSync(at('other name'), 'utf8')], [2, 'old\n']);
  assert.deepEqual([existsSync(at('nothing')), undoable(context.journal)], [false, []]);
});

test('a directory where a fix writes first is named, with what to do', async t => {
  const { directory, context } = setUp(t);
  const file = join(directory, 'file');
  const fix = (content: string) => result(fileFix(message('Change'), file, { before: null, content }, false)!);
  const inTheWay = join(directory, '.file.culvert-new');
  mkdirSync(inTheWay);
  const refused = {
    code: 'failed',
    message: `${inTheWay} is a directory, where the new file is written first. Remove or rename it, then try again.`,
  };
  await assert.rejects(applyFix(fix('new\n'), context), refused);
  writeFileSync(file, 'old\n');
  const change = fileFix(message('Change'), file, { before: 'old\n', content: 'new\n' }, false)!;
  await assert.rejects(applyFix(result(change), context), refused);
  assert.equal(readFileSync(file, 'utf8'), 'old\n');
  assert.deepEqual(undoable(context.journal), []);
  await assert.rejects(async () => linkInstead(file, 'target', context.journal), refused);
  rmdirSync(inTheWay);
  await applyFix(result(change), context);
  mkdirSync(inTheWay);
  await assert.rejects(undoLast(context), /is a directory.*Remove or rename it/);
  rmdirSync(inTheWay);
  await undoLast(context);
  assert.equal(readFileSync(file, 'utf8'), 'old\n');
});

test('undo goes on after a step that may not have been made', async t => {
  const { context, performed } = setUp(t);
  const entry = { id: 'test', label: 'Exclude', at: '2026-01-01T00:00:00.000Z', steps: [] };
  begin(context.journal, entry, () => ({ kind: 'action', action: 'setMode', value: 'doh' }));
  settle(context.journal, entry);
  // as after a kill: this one was about to be made
  begin(context.journal, entry, () => ({ kind: 'action', action: 'removeSplitRange', value: 'refused' }));
  assert.deepEqual(await undoLast(context), ['setMode doh']);
  assert.deepEqual([performed, undoable(context.journal)], [['setMode doh'], []]);
});

for (const [title, error, isUndoable] of [
  ['timed out', new Problem('tunnel-cli-timeout', 'No answer.'), true],
  ['crashed', new Problem('tunnel-cli-failed', 'It panicked.'), true],
  ['failed in a way that nobody knows', new Error('socket hang up'), true],
  ['was refused', new Problem('not-authorized', 'No.'), false],
  ['was not understood', new Problem('argument-rejected', 'No.'), false],
] as const)
  test(`a fix whose action ${title} can be undone: ${isUndoable}`, async t => {
    const { context } = setUp(t);
    let mode = 'warp';
    const within: FixContext = {
      ...context,
      async runAction(_, value) {
        if (value === 'doh' && !isUndoable) throw error;
        mode = value!;
        if (value === 'doh') throw error;
      },
    };
    const actions = (value: string) => [{ action: 'setMode' as const, value }];
    const fix: Fix = { kind: 'action', label: 'Use DNS only', actions: actions('doh'), undo: actions('warp') };
    await assert.rejects(applyFix(result(fix), within), /Use DNS only failed/);
    assert.equal(undoable(context.journal).length, Number(isUndoable));
    if (!isUndoable) return;
    assert.equal(mode, 'doh');
    assert.deepEqual(await undoLast(within), ['setMode warp']);
    assert.deepEqual([mode, undoable(context.journal)], ['warp', []]);
  });

test('a fix whose command failed can be undone, unless its program is missing', async t => {
  const { directory, context } = setUp(t);
  const path = join(directory, 'made');
  const fix = (command: string[]): Fix => ({
    kind: 'commands',
    label: 'Make',
    commands: [command],
    undo: [['rm', path]],
    privileged: false,
  });
  await assert.rejects(applyFix(result(fix(['no-such-program'])), context), /not installed/);
  assert.deepEqual(undoable(context.journal), []);
  await assert.rejects(applyFix(result(fix(['sh', '-c', `touch ${path}; exit 1`])), context), /exit code 1/);
  assert.deepEqual([existsSync(path), await undoLast(context), existsSync(path)], [true, [`rm ${path}`], false]);
  await assert.rejects(applyFix(result(fix(['sh', '-c', 'exit 1'])), context), /exit code 1/);
  assert.deepEqual([await undoLast(context), undoable(context.journal)], [[], []], 'there was nothing to remove');
});

test('an undo without an answer forgets only what was undone, and can be repeated', async t => {
  const { context, performed } = setUp(t);
  const entry = { id: 'test', label: 'Both', at: '2026-01-01T00:00:00.000Z', steps: [] };
  begin(context.journal, entry, () => ({ kind: 'action', action: 'setMode', value: 'warp' }));
  begin(context.journal, entry, () => ({ kind: 'action', action: 'removeSplitRange', value: '10.1.0.0/16' }));
  const within: FixContext = {
    ...context,
    async runAction(action, value) {
      if (action === 'setMode') throw new Problem('service-stopped', 'It does not run.');
      return context.runAction(action, value);
    },
  };
  await assert.rejects(undoLast(within), /does not run/);
  assert.deepEqual(
    undoable(context.journal).map(({ steps }) => steps),
    [['setMode warp']],
  );
  assert.deepEqual(await undoLast(context), ['setMode warp']);
  assert.deepEqual(performed, ['removeSplitRange 10.1.0.0/16', 'setMode warp']);
  assert.deepEqual(undoable(context.journal), []);
});

for (const [title, extras] of [
  ['is killed', { exitCode: null, stderr: '' }],
  ['panics', { exitCode: 101, stderr: '' }],
  ['panics behind a script', { exitCode: 1, stderr: "thread 'main' panicked at src/main.rs:1" }],
] as const)
  test(`an undo whose WARP command ${title} forgets nothing, and can be repeated`, async t => {
    const { context, performed } = setUp(t);
    const crash = new Problem('tunnel-cli-failed', 'It crashed.', extras);
    crash.uncertain = true;
    const fails: FixContext = {
      ...context,
      async runAction() {
        throw crash;
      },
    };
    const actions = (value: string) => [{ action: 'setMode' as const, value }];
    const fix: Fix = { kind: 'action', label: 'Use DNS only', actions: actions('doh'), undo: actions('warp') };
    await assert.rejects(applyFix(result(fix), fails), /Use DNS only failed/);
    await assert.rejects(undoLast(fails), { code: 'failed', message: 'setMode warp failed: It crashed.' });
    assert.equal(undoable(context.journal).length, 1);
    assert.deepEqual(await undoLast(context), ['setMode warp']);
    assert.deepEqual([performed, undoable(context.journal)], [['setMode warp'], []]);
  });

test('an undo goes on where WARP answers a begun step, although the answer may be uncertain', async t => {
  const { context } = setUp(t);
  const entry = { id: 'test', label: 'Exclude', at: '2026-01-01T00:00:00.000Z', steps: [] };
  begin(context.journal, entry, () => ({ kind: 'action', action: 'removeSplitRange', value: '10.1.0.0/16' }));
  const answers: FixContext = {
    ...context,
    async runAction() {
      const problem = new Problem('tunnel-cli-failed', 'No such route.', { exitCode: 1, stderr: 'No such route.' });
      problem.uncertain = true;
      throw problem;
    },
  };
  assert.deepEqual([await undoLast(answers), undoable(context.journal)], [[], []]);
});

test('an undo whose command a signal ends forgets nothing, and can be repeated', async t => {
  const { directory, context } = setUp(t);
  const [made, ready] = [join(directory, 'made'), join(directory, 'ready')];
  const fix: Fix = {
    kind: 'commands',
    label: 'Make',
    commands: [['sh', '-c', `touch ${made}; kill -9 $$`]],
    undo: [['sh', '-c', `[ -e ${ready} ] || kill -9 $$; rm ${made}`]],
    privileged: false,
  };
  const ended = { code: 'ended', message: /was ended by a signal\. It may have taken effect\.$/ };
  await assert.rejects(applyFix(result(fix), context), ended);
  await assert.rejects(undoLast(context), ended);
  assert.deepEqual([existsSync(made), undoable(context.journal).length], [true, 1]);
  writeFileSync(ready, '');
  assert.equal((await undoLast(context)).length, 1);
  assert.deepEqual([existsSync(made), undoable(context.journal)], [false, []]);
});

test('copies are made and deleted under the lock of the journal only', t => {
  const { context } = setUp(t);
  const { journal } = context;
  const copies = () => readdirSync(join(journal, '..')).filter(name => name.startsWith('before-fix-'));
  const entry: Entry = { id: 'test', label: 'Test', at: '2026-11-24T00:00:00Z', steps: [] };
  begin(journal, entry, () => ({ kind: 'action', action: 'connect' }));
  writeFileSync(join(journal, '..', 'before-fix-1'), 'copy of another process\n');
  const holder = spawn('sleep', ['600'], { stdio: 'ignore' });
  t.after(() => holder.kill('SIGKILL'));
  writeFileSync(`${journal}.lock`, `${holder.pid} ${startTime(holder.pid!)}`);
  assert.throws(() => forgetStep(journal, entry, entry.steps[0]!), { code: 'busy' });
  let isMade = false;
  const undo = () => {
    isMade = true;
    return { kind: 'action', action: 'disconnect' } as const;
  };
  assert.throws(() => begin(journal, { ...entry, steps: [] }, undo), { code: 'busy' });
  assert.equal(isMade, false, 'a copy made now could be deleted before it is in the journal');
  abandon(journal, { ...entry, steps: [...entry.steps] });
  assert.deepEqual(copies(), ['before-fix-1']);
  rmSync(`${journal}.lock`);
  forgetStep(journal, entry, entry.steps[0]!);
  assert.deepEqual(copies(), []);
});

test('a journal that is damaged counts as empty', async t => {
  const { directory, context } = setUp(t);
  writeFileSync(join(directory, 'undo.json'), '{"half');
  await assert.rejects(undoLast({ ...context, journal: join(directory, 'undo.json') }), { code: 'nothing' });
});

test('the lines for an administrator do what the fix says, whatever the text contains', t => {
  const { directory } = setUp(t);
  const path = join(directory, "it's here");
  writeFileSync(path, 'old\n');
  const content = "new 'quoted' $HOME `id` \\ %s\n";
  const fix = fileFix(message('Change'), path, { before: 'old\n', content })!;
  const shell = (lines: string[]) =>
    spawnSync('sh', ['-ec', lines.join('\n').replaceAll('sudo ', '')], { encoding: 'utf8' });
  assert.equal(shell(adminLines(fix)).stderr, '');
  assert.equal(readFileSync(path, 'utf8'), content);
  shell(adminUndoLines(fix));
  assert.equal(readFileSync(path, 'utf8'), 'old\n');
  const words: Fix = { kind: 'commands', label: '', commands: [['a', 'b c', "d'e", '']], undo: [], privileged: true };
  assert.deepEqual(adminLines(words), [`sudo a 'b c' 'd'\\''e' ''`]);
});

test('one function of the daemon puts words in quotes for a shell', () => {
  const byHand = ['daemon', 'gnome'].flatMap(part =>
    readdirSync(part, { recursive: true, encoding: 'utf8' })
      .map(name => join(part, name))
      .filter(file => /\.tsx?$/.test(file) && readFileSync(file, 'utf8').includes(`'\\\\''`)),
  );
  assert.deepEqual(byHand, ['daemon/view/fix.ts']);
});

test('the difference of a fix shows no text that goes, whatever ends its lines', () => {
  const before = 'token=canary-1\n# canary-2\u2028canary-3\r canary-4\nlast\n';
  const fix = fileFix(message('Change'), '/etc/x', { before, content: 'new\nlast\n' })!;
  assert.match(fix.diff, /^\+new$/m);
  assert.doesNotMatch(fix.diff, /canary/);
});
