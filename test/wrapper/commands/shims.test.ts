// Installing without names, and a shim that an upgrade has replaced.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FAKE, setUp } from '../../support/wrapper/fake-cli.ts';
import { buildWrapper } from '../../support/wrapper/sandbox.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

test('L12: installing without names leaves system directories alone and asks at a terminal', async t => {
  const box = setUp(t);
  box.script('tvly', '#!/bin/sh\necho tvly\n');
  const asked = (await box.wrap(['install', '--help'])).stdout.replace(/\s+/g, ' ');
  assert.match(asked, /by default, of each known tool in your own directories/);
  const installed = JSON.parse((await box.wrap(['install', '--json'])).stdout);
  const bins = installed.installed.map(({ bin }: { bin: string }) => bin);
  assert.ok(bins.includes(path.join(box.bin, 'tvly')));
  assert.ok(
    bins.every((bin: string) => bin.startsWith(box.bin)),
    bins.join(' '),
  );
  assert.match((await box.wrap(['uninstall'])).stdout, /restored/);
  const program = `'${process.execPath}' '${buildWrapper()}'`;
  const declined = await atTerminal(box, `${program} install`, {
    answer: screen => (/\[y\/N\] (?:\x1b\[\d*G)?$/.test(screen) ? 'n\n' : undefined),
  });
  assert.match(declined.screen, /puts shims in place of .*tvly/);
  assert.equal(fs.readFileSync(path.join(box.bin, 'tvly'), 'utf8'), '#!/bin/sh\necho tvly\n');
});

test('L15: a shim that an upgrade has replaced is noticed by the next run through any wrapped command', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  box.script('other', FAKE);
  box.provider('other', 'inject = ["FAKE_KEY"]');
  box.accounts('other', { a: 'k1', b: 'k2' });
  assert.equal((await box.run('other', ['x'])).stderr, '');
  fs.rmSync(path.join(box.bin, 'fake'));
  box.script('fake', `${FAKE}# upgraded\n`);
  const line = /^culvert-wrap: fake: an upgrade has replaced the shim .*run `culvert-wrap install fake`\n$/;
  assert.match((await box.run('other', ['x'])).stderr, line);
  assert.equal((await box.run('other', ['x'])).stderr, '');
  box.install('fake');
  assert.equal((await box.run('other', ['x'])).stderr, '');
});
