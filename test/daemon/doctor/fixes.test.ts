// Fixes of files and commands: applied whole, remembered, taken back, and refused where something else has changed.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CheckResult, Fix } from '../../../daemon/api/schema/doctor.ts';
import { message } from '../../../daemon/doctor/check.ts';
import { fileFix } from '../../../daemon/doctor/file-fix.ts';
import { begin, settle } from '../../../daemon/doctor/fix-journal.ts';
import { applyFix, type FixError, type Hands, handedOver, undoable, undoLast } from '../../../daemon/doctor/fixes.ts';
import { adminCommands } from '../../../daemon/doctor/world/facts.ts';
import { createTools } from '../../../daemon/doctor/world/tools.ts';
import { adminLines, adminUndoLines } from '../../../daemon/view/fix.ts';
import { ENV } from '../../support/doctor/world.ts';
import { missing, temporary } from '../../support/temporary.ts';

function setUp(t: TestContext) {
  const directory = temporary(t, 'fix');
  const performed: string[] = [];
  const hands: Hands = {
    tools: createTools({ env: ENV, signal: new AbortController().signal }),
    journal: join(directory, 'state', 'undo.json'),
    async perform(action, value) {
      if (value === 'refused') throw new Error('The tunnel CLI refused.');
      performed.push([action, value].filter(Boolean).join(' '));
    },
  };
  return { directory, hands, performed };
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
  const { directory, hands } = setUp(t);
  const [real, link] = [join(directory, 'real'), join(directory, 'link')];
  writeFileSync(real, 'a\nb\n');
  chmodSync(real, 0o640);
  symlinkSync(real, link);
  const fix = fileFix(message('Change'), link, { before: 'a\nb\n', content: 'a\nc\n' }, false)!;
  assert.match(fix.kind === 'file' ? fix.diff : '', /\n-b\n\+c\n/);
  assert.deepEqual(await applyFix(result(fix), hands), [`wrote ${link}`]);
  assert.deepEqual([readFileSync(real, 'utf8'), statSync(real).mode & 0o777], ['a\nc\n', 0o640]);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(undoable(hands.journal).length, 1);
  assert.deepEqual(await undoLast(hands), [`restore ${real}`]);
  assert.deepEqual([readFileSync(real, 'utf8'), undoable(hands.journal).length], ['a\nb\n', 0]);
});

test('a fix keeps owner, mode and attributes of a file, and undo restores every byte', async t => {
  const { directory, hands } = setUp(t);
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
  await applyFix(result(fix), hands);
  assert.deepEqual([readFileSync(path, 'utf8'), has()], ['new\n', before]);
  await undoLast(hands);
  assert.deepEqual([readFileSync(path, 'utf8'), has()], [text, before]);
  assert.deepEqual(
    [readdirSync(directory).sort(), readdirSync(join(directory, 'state'))],
    [['file', 'state'], ['undo.json']],
    'no copy stays',
  );
});

test('a file that is not UTF-8 gets no fix, and one that became so is left as it is', async t => {
  const { directory, hands } = setUp(t);
  const path = join(directory, 'file');
  const bytes = Buffer.from('# gr\xf6\xdfer\r\nold\n', 'latin1');
  writeFileSync(path, bytes);
  assert.equal(fileFix(message('Change'), path, { before: readFileSync(path, 'utf8'), content: 'new\n' }), null);
  const earlier = fileFix(message('Change'), path, { before: 'old\n', content: 'new\n' }, false)!;
  await assert.rejects(applyFix(result(earlier), hands), /is not UTF-8 text.*Nothing was changed/);
  assert.deepEqual(readFileSync(path), bytes);
});

test('a file that the fix made is removed by undo', async t => {
  const { directory, hands } = setUp(t);
  const path = join(directory, 'new');
  await applyFix(result(fileFix(message('Make'), path, { before: null, content: 'x\n' }, false)!), hands);
  assert.equal(readFileSync(path, 'utf8'), 'x\n');
  await undoLast(hands);
  assert.ok(!existsSync(path));
});

test('a file that was changed after the fix is left as it is, and undo can be tried again', async t => {
  const { directory, hands } = setUp(t);
  const path = join(directory, 'file');
  writeFileSync(path, 'old\n');
  await applyFix(result(fileFix(message('Change'), path, { before: 'old\n', content: 'new\n' }, false)!), hands);
  writeFileSync(path, 'mine\n');
  await assert.rejects(undoLast(hands), { code: 'changed' });
  assert.deepEqual([readFileSync(path, 'utf8'), undoable(hands.journal).length], ['mine\n', 1]);
});

test('actions that fail half-way are remembered as far as they went', async t => {
  const { hands, performed } = setUp(t);
  const steps = (verb: 'add' | 'remove') =>
    ['10.1.0.0/16', 'refused'].map(value => ({ action: `${verb}SplitRange` as const, value }));
  const fix: Fix = { kind: 'action', label: 'Exclude', actions: steps('add'), undo: steps('remove') };
  await assert.rejects(applyFix(result(fix), hands), /Exclude failed: The tunnel CLI refused\./);
  await undoLast(hands);
  assert.deepEqual(performed, ['addSplitRange 10.1.0.0/16', 'removeSplitRange 10.1.0.0/16']);
});

test('a command that fails or is missing is reported with its output', async t => {
  const { hands } = setUp(t);
  const fix = (...argv: string[]): Fix => ({
    kind: 'commands',
    label: 'Run',
    commands: [argv],
    undo: [],
    privileged: false,
  });
  await assert.rejects(applyFix(result(fix('ls', missing(t))), hands), /ls \S+ failed: .*No such file/);
  await assert.rejects(applyFix(result(fix('no-such-program')), hands), /no-such-program is not installed/);
  assert.deepEqual(undoable(hands.journal), []);
});

test('what was printed for an administrator is listed with what takes it back, unless it was never run', async t => {
  const { directory, hands } = setUp(t);
  const user = process.getuid;
  t.after(() => Object.assign(process, { getuid: user }));
  Object.assign(process, { getuid: () => 1000 });
  const path = join(directory, 'file');
  writeFileSync(path, 'old\n');
  const ofFile = fileFix(message('Change'), path, { before: 'old\n', content: 'new\n' })!;
  const ofCommands = adminCommands(
    message('Stop %s', 'x'),
    [['systemctl', 'stop', 'x']],
    [['systemctl', 'start', 'x']],
  );
  const hints: string[] = [];
  for (const fix of [
    ofFile,
    ofCommands,
    ofCommands,
    adminCommands(message('Restart'), [['systemctl', 'restart', 'x']]),
  ])
    await assert.rejects(
      applyFix(result(fix), hands),
      (error: FixError) => hints.push(error.hint ?? '') && error.code === 'privileged',
    );
  assert.match(hints[1] ?? '', /^sudo systemctl stop x\nTake it back with:\nsudo systemctl start x$/);
  assert.equal(hints[3], 'sudo systemctl restart x', 'nothing takes a restart back');
  const listed = () => handedOver(hands.journal).map(({ label, shell }) => [label, ...shell]);
  const commands = ['Stop x', 'sudo systemctl start x'];
  assert.deepEqual(listed(), [commands], 'the file is as it was, so nobody ran it');
  writeFileSync(path, 'new\n');
  assert.deepEqual(listed(), [commands, ['Change', `sudo mv -T ${path}.before-culvert ${path}`]]);
  assert.deepEqual(undoable(hands.journal), []);
});

test('a file that can’t be read is left as it is, because undo could not bring it back', async t => {
  const { directory, hands } = setUp(t);
  const path = join(directory, 'directory');
  mkdirSync(path);
  const fix = fileFix(message('Change'), path, { before: null, content: 'x' }, false)!;
  await assert.rejects(applyFix(result(fix), hands), /can't be read.*Nothing was changed/);
  assert.ok(statSync(path).isDirectory());
});

test('a step of which nobody knows whether it was made does not hold undo up', async t => {
  const { hands, performed } = setUp(t);
  const entry = { id: 'test', label: 'Exclude', at: '2026-01-01T00:00:00.000Z', steps: [] };
  begin(hands.journal, entry, { kind: 'action', action: 'setMode', value: 'doh' });
  settle(hands.journal, entry);
  // as after a kill: this one was about to be made
  begin(hands.journal, entry, { kind: 'action', action: 'removeSplitRange', value: 'refused' });
  assert.deepEqual(await undoLast(hands), ['setMode doh']);
  assert.deepEqual([performed, undoable(hands.journal)], [['setMode doh'], []]);
});

test('a journal that is damaged counts as empty', async t => {
  const { directory, hands } = setUp(t);
  writeFileSync(join(directory, 'undo.json'), '{"half');
  await assert.rejects(undoLast({ ...hands, journal: join(directory, 'undo.json') }), { code: 'nothing' });
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
