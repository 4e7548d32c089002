// tray.autostart: the entry comes and goes with the key, is valid, and never touches the user's own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { paths } from '../../../daemon/system/paths.ts';
import { setAutostart } from '../../../daemon/system/session.ts';
import { temporary } from '../../support/temporary.ts';

function home(t: TestContext) {
  const directory = temporary(t, 'autostart');
  return paths({ HOME: directory });
}

test('the entry is made, kept as it is, and taken away with the key', t => {
  const p = home(t);
  setAutostart(p, '/opt/culvert/bin/culvert', false);
  assert.ok(!existsSync(p.autostart));
  setAutostart(p, '/opt/culvert/bin/culvert', true);
  assert.match(readFileSync(p.autostart, 'utf8'), /^Exec="\/opt\/culvert\/bin\/culvert" --no-panel$/m);
  setAutostart(p, '/opt/culvert/bin/culvert', true);
  setAutostart(p, '/opt/culvert/bin/culvert', false);
  assert.ok(!existsSync(p.autostart));
});

test('a path with blanks and special characters stays one argument of a valid entry', t => {
  const p = home(t);
  setAutostart(p, '/home/a b/$x/100%/"q"/culvert', true);
  assert.match(
    readFileSync(p.autostart, 'utf8'),
    /^Exec="\/home\/a b\/\\\\\$x\/100%%\/\\\\"q\\\\"\/culvert" --no-panel$/m,
  );
  const validated = spawnSync('desktop-file-validate', [p.autostart], { encoding: 'utf8' });
  if (validated.error) return t.skip('desktop-file-validate is not installed');
  assert.equal(validated.status, 0, validated.stdout);
});

test('an entry of the user under that name is kept', t => {
  const p = home(t);
  mkdirSync(dirname(p.autostart), { recursive: true });
  writeFileSync(p.autostart, '[Desktop Entry]\nName=Mine\n');
  for (const wanted of [true, false]) setAutostart(p, '/x/culvert', wanted);
  assert.equal(readFileSync(p.autostart, 'utf8'), '[Desktop Entry]\nName=Mine\n');
});
