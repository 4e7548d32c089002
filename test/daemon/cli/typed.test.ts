// Errors name the option or argument that people typed, not of the field of the API.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../daemon/problem.ts';
import { createHome, culvert, startDaemon, startHome } from '../../support/daemon/command.ts';

const LONG = 'x'.repeat(70_000);

test('no message names the contract or a field of the API', async t => {
  const { home } = await startHome(t);
  for (const words of [
    ['why', ''],
    ['why', LONG],
    ['apps', 'launch', ''],
    ['apps', 'launch', LONG],
    ['apps', 'shortcut', ''],
    ['action', 'setMode', ''],
    ['action', 'setProxyPort', LONG],
    ['account', 'register', '--organization', ''],
    ['proxy', 'on', '--yes', '--port', 'abc'],
    ['routes', 'history', '999999999'],
    ['config', 'set', 'ui.locale', LONG],
    ['history', '--since', '2099-01-01'],
    ['history', '--since', ''],
    ['logs', '--limit', '999999'],
  ]) {
    const { code, stderr } = await culvert(home, words);
    const [name] = [words.join(' ').slice(0, 60)];
    assert.doesNotMatch(
      stderr,
      /contract|Too (small|big)|Invalid (input|string)|[a-z]+=\w/,
      `${name}: ${stderr.slice(0, 300)}`,
    );
    if (code !== 0) assert.match(stderr, /^culvert: [A-Z"<-]/, `${name}: ${stderr.slice(0, 300)}`);
  }
});

test('a refused value is named with its option or argument', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home, () => {
    throw new Problem('argument-rejected', 'The value of setProxyPort was refused: expected a port.');
  });
  daemon.state.set('settings', { Mode: 'warp' });
  const { code, stderr } = await culvert(home, ['proxy', 'on', '--yes', '--port', 'abc']);
  assert.deepEqual([code, stderr], [2, 'culvert: --port can\'t be "abc": expected a port.\n']);
  assert.match((await culvert(home, ['apps', 'shortcut', ''])).stderr, /^culvert: <app> is empty\./);
});
