// `--json` prints one object with `ok` on one line, on stdout for a result and on stderr for a failure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHome, culvert, startDaemon } from '../../support/daemon/command.ts';

const COMMANDS = [
  ...[
    ['status'],
    ['status', '--long'],
    ['connect'],
    ['disconnect'],
    ['toggle'],
    ['mode'],
    ['mode', 'doh'],
    ['protocol'],
  ],
  ...[['proxy'], ['split'], ['split', 'add', '10.1.0.0/16'], ['split', 'reset'], ['split', 'export'], ['actions']],
  ...[['action', 'connect'], ['config'], ['config', 'get', 'ui.theme'], ['config', 'set', 'ui.theme', 'dark']],
  ...[['logs'], ['killswitch'], ['killswitch', 'off'], ['killswitch', 'pause', '5'], ['apps'], ['account'], ['update']],
  ...[['token'], ['version'], ['apps', 'shortcut', '--remove-all']],
];

test('every command prints one line of JSON with ok: true', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  const { state } = daemon;
  state.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
  state.set('splitTunnel', { mode: 'exclude', ips: [{ value: '10.0.0.0/8', description: null }], hosts: [] });
  state.set('status', { ...state.snapshot().status, state: 'disconnected' });
  for (const words of COMMANDS) {
    const { code, stdout, stderr } = await culvert(home, [...words, '--json']);
    assert.deepEqual([code, stderr], [0, ''], words.join(' '));
    assert.match(stdout, /^\{"ok":true[,}].*\}\n$/, words.join(' '));
    JSON.parse(stdout);
  }
});

test('a failure is one line of JSON with ok: false on stderr', async t => {
  const home = createHome(t);
  for (const [words, exitCode] of [
    [['mode'], 5],
    [['bogus'], 2],
    [['config', 'get'], 2],
  ] as const) {
    const { code, stdout, stderr } = await culvert(home, [...words, '--json']);
    assert.deepEqual([code, stdout], [exitCode, ''], words.join(' '));
    assert.match(stderr, /^\{"ok":false,.*\}\n$/);
    assert.ok(JSON.parse(stderr).detail);
  }
});

test('a check for updates without an answer is not ok', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  const updates = await daemon.features.updates();
  const check = await updates.check();
  updates.check = async () => ({ ...check, problem: { code: 'unreachable', detail: 'There is no network.' } });
  daemon.features.updates = async () => updates;
  const { code, stdout } = await culvert(home, ['update', 'check', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).ok], [1, false]);
});
