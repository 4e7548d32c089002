// The files and directories of a user.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paths } from '../../../daemon/system/paths.ts';

test('a demo has its own records of what to revert, and shares all other paths', () => {
  const [real, demo] = [paths({ HOME: '/home/u' }), paths({ HOME: '/home/u' }, true)];
  const different = (Object.keys(real) as (keyof typeof real)[]).filter(key => real[key] !== demo[key]);
  assert.deepEqual(different, [
    'connectWish',
    'changes',
    'brokenChanges',
    'lastPause',
    'routes',
    'networks',
    'networksState',
    'history',
    'settingsBefore',
  ]);
  assert.equal(demo.changes, '/home/u/.local/state/culvert/demo/changes.json');
});

test('a home that is missing, or depends on the current directory, is refused', () => {
  for (const HOME of [undefined, '', 'home', './home', '~'])
    assert.throws(() => paths({ HOME }), /^Error: HOME is .*Set HOME/, HOME);
  for (const HOME of ['home', '/home/u'])
    assert.ok(paths({ HOME, XDG_STATE_HOME: '/s', XDG_CONFIG_HOME: '/c' }), 'not needed');
});
