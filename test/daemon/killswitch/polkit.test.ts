// The real polkit with the real action file: that the two understand each other, and what holds without a session.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { missing, stageFor } from '../../support/killswitch/stage.ts';
import { until } from '../../support/until.ts';

const POLKITD = ['/usr/lib/polkit-1/polkitd', '/usr/libexec/polkitd'].find(existsSync);
const policy = resolve(import.meta.dirname, '../../../data/killswitch/org.culvert.killswitch.policy');
const [DAEMON, BIN] = [1, 2];
const NARROW = ['ba(ssaq)', 'false', '0'];
const RULE = `polkit.addRule(function (action, subject) {
  if (subject.user == "bin" && action.id.indexOf("org.culvert.killswitch.") == 0) return polkit.Result.YES;
});`;

test('polkit decides by the shipped actions and by an administrator’s rules', {
  skip: missing || (POLKITD ? false : 'needs polkitd'),
}, async t => {
  const stage = await stageFor(t, 'real');
  for (const name of ['actions', 'rules.d', 'more.d']) mkdirSync(stage.path(name));
  copyFileSync(policy, join(stage.path('actions'), 'org.culvert.killswitch.policy'));
  writeFileSync(join(stage.path('rules.d'), '10-test.rules'), RULE);
  const mounts = [
    ['actions', '/usr/share/polkit-1/actions'],
    ['rules.d', '/etc/polkit-1/rules.d'],
    ['more.d', '/usr/share/polkit-1/rules.d'],
  ].map(([from, to]) => `mount --bind ${stage.path(from!)} ${to} && `);
  stage.start(['unshare', '-m', 'sh', '-c', `${mounts.join('')}exec ${POLKITD} --no-debug`], stage.env);
  await stage.serve();
  await until(async () => (await stage.call('Enable', NARROW, BIN)).ok);
  const before = await stage.table();
  assert.notEqual(before, null);
  // without a session, no user is active and polkit has no one to ask
  for (const [method, args] of [
    ['Enable', NARROW],
    ['Disable', []],
    ['Pause', ['u', '5']],
  ] as const)
    assert.match((await stage.call(method, args, DAEMON)).text, /Denied: /, method);
  assert.equal(await stage.table(), before);
  assert.ok((await stage.call('Disable', [], BIN)).ok);
  assert.equal(await stage.table(), null);
});
