// Root with the home of another user, as sudo may keep it: what would write there refuses, and leaves nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { putFiles } from '../../../daemon/cli/commands/culvert/shell.ts';
import { writeDocument } from '../../../daemon/cli/document.ts';
import { writeBundle } from '../../../daemon/doctor/diagnose/bundle.ts';
import { keepCopy } from '../../../daemon/doctor/fix-journal.ts';
import { worldAlone } from '../../../daemon/doctor/gather.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { withJournal } from '../../../daemon/trust/journal.ts';
import { bundledOnce } from '../../support/built.ts';
import { program } from '../../support/daemon/command.ts';
import { temporary } from '../../support/temporary.ts';

const UID = 54_321;
const options = { skip: process.getuid?.() !== 0 && 'only root can write into the home of another user' };
const REFUSAL =
  /belongs to the user 54321, who could not use what root writes there\. Run this as that user, or with root’s own home/;

function homeOfAnother(t: TestContext): string {
  const home = join(temporary(t), 'home');
  mkdirSync(home, { mode: 0o700 });
  chownSync(home, UID, UID);
  return home;
}

for (const [name, file, words] of [
  ['the daemon', () => join(bundledOnce('daemon'), 'main.cjs'), ['--demo', '--no-open', '--no-tray', '--no-panel']],
  ['an installation', () => program, ['__install', '/nowhere']],
  ['a restart', () => program, ['restart']],
  ['a command that starts the daemon', () => program, ['web']],
  ['what has tools connect', () => program, ['trust']],
] as const) {
  test(`${name} refuses to write into the home of another user, as root`, options, t => {
    const home = homeOfAnother(t);
    const env = { HOME: home, PATH: process.env.PATH, LANG: 'C.UTF-8' };
    const { status, stderr, stdout } = spawnSync(process.execPath, [file(), ...words], {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(status, 1, stdout + stderr);
    assert.match(stderr, REFUSAL);
    assert.deepEqual(readdirSync(home), []);
  });
}

test('files for the shell, a fix and trust of tools are not written there either', options, async t => {
  const home = homeOfAnother(t);
  const state = join(home, '.local/state/culvert');
  assert.throws(() => putFiles(join(state, 'shells/gnome.json'), []), REFUSAL);
  assert.throws(() => keepCopy(join(state, 'doctor-undo.json'), '/etc/hosts'), REFUSAL);
  await assert.rejects(
    withJournal(join(state, 'trust'), () => Promise.resolve()),
    REFUSAL,
  );
  assert.deepEqual(readdirSync(home), []);
});

test('the doctor looks with the home of another user, and remembers nothing there', options, async t => {
  const home = homeOfAnother(t);
  const env = { HOME: home, PATH: '/nothing' };
  const world = await worldAlone({ env, paths: paths(env) });
  world.remember({ at: 1, started: '1', memoryBytes: 1, descriptors: 1, logBytes: null });
  assert.deepEqual(readdirSync(home), []);
});

test('a file that root writes there belongs to that user, and a replaced file keeps its owner', options, async t => {
  const home = homeOfAnother(t);
  const files = ['report.zip', 'settings.toml', 'old.toml'].map(name => join(home, name));
  await writeBundle(files[0]!, { files: [], redacted: {} });
  writeDocument(files[1]!, 'x', { mode: 0o600, force: false });
  writeFileSync(files[2]!, 'old');
  chownSync(files[2]!, UID + 1, UID);
  writeDocument(files[2]!, 'x', { mode: 0o600, force: true });
  const own = join(temporary(t), 'settings.toml');
  writeDocument(own, 'x', { mode: 0o600, force: false });
  assert.deepEqual(
    [...files, own].map(file => statSync(file).uid),
    [UID, UID, UID + 1, 0],
  );
});
