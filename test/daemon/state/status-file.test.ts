// The status file names the mode only while the settings are those of now.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { areSettingsKnown, keepStatusFile } from '../../../daemon/state/status-line.ts';
import { createState } from '../../../daemon/state/store.ts';
import { startTunnel } from '../../support/daemon/tunnel.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

test('mode and protocol are left out until the settings are read again', t => {
  const file = join(temporary(t, 'status'), 'status');
  const state = createState({ available: true, path: null, version: null, emulated: false });
  let isModeKnown = true;
  const write = keepStatusFile(file, state, { port: () => null, isModeKnown: () => isModeKnown });
  state.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
  assert.match(readFileSync(file, 'utf8'), /· All traffic · MASQUE\n[\s\S]*"mode":"warp"/);
  isModeKnown = false;
  write();
  assert.doesNotMatch(readFileSync(file, 'utf8'), /warp|MASQUE/);
  assert.match(readFileSync(file, 'utf8'), /"mode":null/);
});

test('a file that can no longer be written is removed, so that no state from before is shown', t => {
  // the temporary file next to it has a longer name, too long for any file system
  const file = join(temporary(t, 'status'), 's'.repeat(255));
  writeFileSync(file, '● Connected');
  const state = createState({ available: true, path: null, version: null, emulated: false });
  keepStatusFile(file, state, { port: () => null, isModeKnown: () => true });
  assert.ok(!existsSync(file));
});

test('settings are known unless they were never read or are being changed, whatever their age', () => {
  const old = { part: 'settings', ageSeconds: 61 };
  const cases: [
    stale: { part: string; ageSeconds: number | null }[],
    changing: 'now' | 'lately' | null,
    known: boolean,
  ][] = [
    [[], null, true],
    [[{ part: 'account', ageSeconds: null }], 'now', true],
    [[old], null, true],
    [[old], 'lately', true],
    [[old], 'now', false],
    [[{ part: 'settings', ageSeconds: null }], null, false],
  ];
  for (const [stale, changing, known] of cases)
    assert.equal(
      areSettingsKnown({ stale: () => stale, changing: () => changing }, { Mode: 'warp' }),
      known,
      JSON.stringify([stale, changing]),
    );
});

test('the mode is read after a start, an action, and a change by another program, without a client', async t => {
  const { tunnel, state, cli } = await startTunnel(t);
  const isMode = (mode: string) => until(() => state.snapshot().settings.Mode === mode, mode);
  await isMode('warp');
  await tunnel.runAction({ action: 'setMode', value: 'doh' });
  await isMode('doh');
  await cli.run('mode', 'tunnel_only');
  await isMode('tunnel_only');
});

test('a line that is too wide for the terminal is broken by the command line, any other one needs no Node', t => {
  const home = temporary(t, 'status');
  mkdirSync(join(home, 'culvert'));
  const state = createState({ available: true, path: null, version: null, emulated: true });
  state.set('status', { ...state.snapshot().status, state: 'connected', raw: 'Connected' });
  state.set('settings', { Mode: 'warp+doh', 'WARP tunnel protocol': 'WireGuard' });
  state.set('splitTunnel', { mode: 'exclude', ips: [], hosts: [] });
  keepStatusFile(join(home, 'culvert/status'), state, { port: () => null, isModeKnown: () => true });
  const launcher = launcherIn(home);
  const at = (columns: number, words: string) => {
    const { stdout } = spawnSync('script', ['-qec', `stty cols ${columns}; ${launcher} ${words}`, '/dev/null'], {
      env: { PATH: process.env.PATH, XDG_RUNTIME_DIR: home, TERM: 'dumb', LANG: 'C.UTF-8' },
      encoding: 'utf8',
    });
    return stdout.trim();
  };
  const line = '● Connected · All traffic, encrypted DNS (HTTPS) · WireGuard · demo: no tunnel';
  assert.equal(at(120, 'status'), line);
  for (const words of ['status', 'status --check'])
    assert.match(at(60, words), new RegExp(`^handed over: .* ${words}$`));
  state.set('settings', { Mode: 'doh' });
  assert.equal(at(60, 'status'), '● Connected · DNS only · demo: no tunnel');
});

test('the launcher leaves --check to the command line while changed settings are being read', t => {
  const home = temporary(t, 'status');
  mkdirSync(join(home, 'culvert'));
  const state = createState({ available: true, path: null, version: null, emulated: false });
  let isModeKnown = true;
  const write = keepStatusFile(join(home, 'culvert/status'), state, {
    port: () => null,
    isModeKnown: () => isModeKnown,
  });
  const launcher = launcherIn(home);
  const check = () => {
    const { status, stdout } = spawnSync(launcher, ['status', '--check'], {
      env: { PATH: process.env.PATH, XDG_RUNTIME_DIR: home },
      encoding: 'utf8',
    });
    return [status, stdout.startsWith('handed over:')];
  };
  state.set('status', { ...state.snapshot().status, state: 'connected', raw: 'Connected' });
  assert.deepEqual(check(), [0, false]);
  isModeKnown = false;
  write();
  assert.deepEqual(check(), [0, true]);
  const { status } = state.snapshot();
  for (const known of [true, false]) {
    isModeKnown = known;
    state.set('status', { ...status, lastKnown: { at: '2020-02-29T12:00:00.000Z', said: null } });
    assert.deepEqual(check(), [3, false], 'a state that could not be read again is not connected');
    state.set('status', status);
  }
  state.set('status', { ...state.snapshot().status, state: 'disconnected', raw: 'Disconnected' });
  assert.deepEqual(check(), [3, false]);
});

test('the launcher leaves old settings to the command line, which says how old they are', t => {
  const home = temporary(t, 'status');
  mkdirSync(join(home, 'culvert'));
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const file = join(home, 'culvert/status');
  let isOld = false;
  const write = keepStatusFile(file, state, { port: () => 1, isModeKnown: () => true, hasOldParts: () => isOld });
  state.set('status', { ...state.snapshot().status, state: 'disconnected', raw: 'Disconnected' });
  state.set('settings', { Mode: 'warp' });
  const launcher = launcherIn(home);
  for (isOld of [true, false]) {
    write();
    for (const words of [['status'], ['status', '--json'], ['status', '--check']]) {
      const env = { PATH: process.env.PATH, XDG_RUNTIME_DIR: home, LANG: 'C.UTF-8' };
      const { stdout } = spawnSync(launcher, words, { env, encoding: 'utf8' });
      assert.equal(stdout.startsWith('handed over:'), isOld, words.join(' '));
    }
    assert.equal(/All traffic|warp/.test(readFileSync(file, 'utf8')), !isOld);
  }
});

for (const words of ['status', 'status --json', 'status --check', '--status', '--version'])
  for (const output of ['/dev/full', '&-'])
    test(`the launcher fails where it can't write its answer: ${words} >${output}`, t => {
      const home = temporary(t, 'status');
      mkdirSync(join(home, 'culvert'));
      const state = createState({ available: true, path: null, version: null, emulated: false });
      keepStatusFile(join(home, 'culvert/status'), state, { port: () => 1, isModeKnown: () => true });
      state.set('status', { ...state.snapshot().status, state: 'connected', raw: 'Connected' });
      const { status, stderr } = spawnSync('sh', ['-c', `exec ${launcherIn(home)} ${words} >${output}`], {
        env: { PATH: process.env.PATH, XDG_RUNTIME_DIR: home, LANG: 'C.UTF-8' },
        encoding: 'utf8',
      });
      assert.deepEqual([status, stderr], [1, "culvert: The output can't be written.\n"]);
    });

test('the launcher hands over an output that fails in place of a closed one, and any other as it is', t => {
  const home = temporary(t, 'status');
  const program = join(home, 'program');
  const look = `#!${process.execPath}\nconst { readlinkSync } = require('node:fs');\n`;
  writeFileSync(program, `${look}process.stderr.write(readlinkSync('/proc/self/fd/1'));`, { mode: 0o755 });
  const launcher = launcherIn(home, program);
  const output = (words: string, to: string) =>
    spawnSync('sh', ['-c', `exec ${launcher} ${words} ${to}`], {
      env: { PATH: process.env.PATH, XDG_RUNTIME_DIR: home, LANG: 'C.UTF-8' },
      encoding: 'utf8',
    }).stderr.trim();
  for (const words of ['mode', 'logs', 'status --long', 'explain Manual', 'history --json']) {
    assert.equal(output(words, '>&-'), '/dev/full', words);
    assert.equal(output(words, '>/dev/null'), '/dev/null', words);
    assert.match(output(words, ''), /^(pipe|socket):/, words);
  }
  // the daemon prints its log there, which it does without
  assert.notEqual(output('--no-open', '>&-'), '/dev/full');
});

/** The launcher, which says what it passes to Node, or runs a program instead. */
function launcherIn(home: string, program = 'echo handed over:'): string {
  const launcher = join(home, 'launcher');
  const text = readFileSync('data/bin/culvert.in', 'utf8').replaceAll('@NAME@', 'culvert');
  writeFileSync(launcher, text.replaceAll('@NODE@', program), { mode: 0o755 });
  return launcher;
}
