// Installing without names, and a shim that an upgrade has replaced.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FAKE, setUp } from '../../support/wrapper/fake-cli.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

test('L12: installing without names leaves system directories alone and asks at a terminal', async t => {
  const box = setUp(t);
  box.script('tvly', '#!/bin/sh\necho tvly\n');
  const asked = (await box.wrap(['install', '--help'])).stdout.replace(/\s+/g, ' ');
  assert.match(asked, /by default, of each known tool in your own directories/);
  const installed = await box.json('install');
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
  assert.match(
    (await box.wrap(['install', 'fake'])).stderr,
    /^culvert-wrap: fake: the next upgrade .* culvert-wrap install fake --dir ~\/.local\/bin\n$/,
  );
  assert.equal((await box.run('other', ['x'])).stderr, '');
});

test('every command that a person uses says that a shim was replaced, and that a named account is not used there', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.rmSync(path.join(box.bin, 'fake'));
  box.script('fake', `${FAKE}# upgraded\n`);
  const env = { CULVERT_WRAP_ACCOUNT: 'b' };
  for (const args of [
    ['accounts', 'list'],
    ['config', '--json'],
    ['audit', '--json'],
  ]) {
    const { stderr } = await box.wrap(args, { env });
    const text =
      /^culvert-wrap: fake: an upgrade has replaced the shim .*, so no account is used, not even "b" of CULVERT_WRAP_ACCOUNT; /;
    assert.match(stderr, text, args.join(' '));
    assert.match((await box.wrap(args)).stderr, /so no account is used; run `culvert-wrap install fake`\n$/);
  }
  assert.equal((await box.wrap(['completion', 'bash'])).stderr, '');
});

test('a shim in a separate directory is named where PATH or the table of a shell hides it, and where it is missing', async t => {
  const box = setUp(t);
  box.uninstall('fake');
  const own = path.join(box.home, 'shims');
  fs.mkdirSync(own);
  const install = (PATH: string) => box.wrap(['install', 'fake', '--dir', own], { env: { PATH } });
  assert.match(
    (await install(`${box.bin}:${own}`)).stderr,
    /PATH finds .*\/bin\/fake before .*\/shims\/fake, so fake is not wrapped yet/,
  );
  assert.equal((await box.wrap(['uninstall', 'fake'])).stdout, `fake: removed ${own}/fake\n`);
  assert.match(
    (await install(`${own}:${box.bin}`)).stderr,
    /a shell that has run it before finds the shim after `hash -r`/,
  );
  assert.equal((await install(`${own}:${box.bin}`)).stderr, '');
  fs.rmSync(path.join(own, 'fake'));
  assert.equal((await box.wrap(['uninstall', 'fake'])).stdout, `fake: ${own}/fake was removed already\n`);
});

test('doctor names a mistake in the configuration once', async t => {
  const box = setUp(t, { a: 'k1' });
  box.configure('typo = [\n');
  const { findings } = await box.json('doctor');
  assert.equal(findings.filter(({ what }: { what: string }) => what.includes("can't be used")).length, 1);
});

test('doctor asks for a shim only where there is a command to put it in front of', async t => {
  const box = sandbox(t);
  await box.wrap(['accounts', 'add', 'firecrawl', 'a', '--file'], { input: 'fc-canary\n' });
  assert.doesNotMatch((await box.wrap(['doctor'])).stdout, /no shim/);
  box.script('firecrawl', FAKE);
  assert.match((await box.wrap(['doctor'])).stdout, /no shim/);
});
