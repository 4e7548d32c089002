// Programs that would leave their place in the tunnel: programs that hand over, and where the search for a program ends.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { handoverReason, runsElsewhere, startedCommand, takeoverOf } from '../../../daemon/apps/escapes.ts';
import { temporary } from '../../support/temporary.ts';

function setProcess(proc: string, pid: string, exe: string, words = [exe]): void {
  mkdirSync(join(proc, pid), { recursive: true });
  symlinkSync(exe, join(proc, pid, 'exe'));
  writeFileSync(join(proc, pid, 'cgroup'), '0::/user.slice\n');
  writeFileSync(join(proc, pid, 'cmdline'), words.map(word => `${word}\0`).join(''));
}

test('a directory of PATH that can’t be entered is passed over, as a shell does', t => {
  const directory = temporary(t);
  const odd = join(directory, 'odd');
  symlinkSync(odd, odd); // a loop, which not even root can enter
  writeFileSync(join(directory, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('/usr/bin/flatpak', join(directory, 'alias'));
  assert.equal(handoverReason('tool', `${odd}:${directory}`), null);
  assert.match(handoverReason('flatpak', `${odd}:${directory}`) ?? '', /Flatpak/);
});

test('the command counts that another one starts', () => {
  const commands: [words: string[], started: string[]][] = [
    [
      ['curl', 'x'],
      ['curl', 'x'],
    ],
    [
      ['env', '-i', 'A=b', 'flatpak', 'run', 'x'],
      ['flatpak', 'run', 'x'],
    ],
    [
      ['/usr/bin/nice', '-n', '5', 'nohup', 'toolbox', 'run'],
      ['toolbox', 'run'],
    ],
    [
      ['timeout', '5s', 'gio', 'open'],
      ['gio', 'open'],
    ],
    [
      ['sh', '-c', ' A=b exec flatpak run x'],
      ['flatpak', 'run', 'x'],
    ],
    [
      ['bash', '-lc', 'env distrobox enter y'],
      ['distrobox', 'enter', 'y'],
    ],
    [
      ['sh', 'script', 'flatpak'],
      ['sh', 'script', 'flatpak'],
    ],
    [
      ['sh', '-c'],
      ['sh', '-c'],
    ],
    [['env'], ['env']],
    [[], ['']],
  ];
  for (const [words, started] of commands) assert.deepEqual(startedCommand(words), started, words.join(' '));
});

test('a running instance of an editor, a terminal, an Electron app or one of D-Bus takes over a start', t => {
  const directory = temporary(t);
  const app = join(directory, 'chat');
  mkdirSync(join(app, 'bin'), { recursive: true });
  mkdirSync(join(app, 'resources'));
  writeFileSync(join(app, 'resources/app.asar'), '');
  for (const file of [join(app, 'bin/chat'), join(directory, 'nautilus'), join(directory, 'tool')])
    writeFileSync(file, '', { mode: 0o755 });
  const proc = join(directory, 'proc');
  const run = (pid: string, exe: string) => setProcess(proc, pid, exe);
  mkdirSync(proc);
  const path = `${directory}:${join(app, 'bin')}`;
  const optionOf = (words: string[]) => takeoverOf(words, 'tunnel-only', { path: '', procfs: proc })?.option ?? null;
  const taken = () =>
    ['chat', 'nautilus', 'tool'].map(name => takeoverOf([name], 'tunnel-only', { path, procfs: proc }) !== null);
  assert.deepEqual(taken(), [false, false, false]);
  run('1', join(app, 'chat'));
  run('2', join(directory, 'nautilus'));
  run('3', join(directory, 'tool'));
  assert.deepEqual(taken(), [true, true, false]);
  for (const [i, [name, option]] of [
    ['code', '--user-data-dir=DIRECTORY'],
    ['gedit', '--standalone'],
    ['tmux', '-L NAME'],
  ].entries()) {
    const own = option!.split(/[ =]/)[0]!;
    assert.equal(optionOf([name!]), null, name);
    run(String(10 + i), `/usr/bin/${name}`);
    assert.equal(optionOf([name!]), option);
    assert.equal(optionOf([name!, own]), null);
  }
  assert.equal(optionOf(['codelite']), null);
});

test('a script runs where its interpreter has it as its program, and not where an editor shows it', t => {
  const directory = temporary(t);
  const script = join(directory, 'gajim');
  writeFileSync(join(directory, 'gajim.py'), '#!/usr/bin/python3 -Es\n', { mode: 0o755 });
  symlinkSync(join(directory, 'gajim.py'), script);
  const kinds: [words: string[], runs: boolean][] = [
    [['/usr/bin/python3', script], true],
    [['/usr/bin/python3', '-Es', script, '--new'], true],
    [['python3.11', join(directory, 'gajim.py')], true],
    [['/bin/sh', script], true],
    [['/usr/bin/gjs-console', '-m', script], true],
    [['/usr/bin/python3', '/usr/bin/other', script], false],
    [['/usr/bin/python3', '-'], false],
    [['vim', script], false],
  ];
  for (const [i, [words, runs]] of kinds.entries()) {
    const proc = join(directory, `proc${i}`);
    setProcess(proc, '1', '/usr/bin/interpreter', words);
    assert.equal(runsElsewhere(script, 'tunnel-only', proc), runs, words.join(' '));
    assert.equal(takeoverOf(['gajim'], 'outside', { path: directory, procfs: proc }) !== null, runs);
  }
});
