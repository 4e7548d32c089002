// A finding's Fix in the window: pkexec asks, the list ticks itself off, and a dialog that is closed changes nothing.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Fix } from '../../daemon/api/doctor.ts';
import { createDaemon } from '../support/gnome/daemon.ts';
import { missing, openDesktop, talk } from '../support/gnome/desktop.ts';
import { checkResult } from '../support/gnome/initial.ts';
import { closeStage, type Stage, stageOf } from '../support/gnome/stage.ts';

const skip = missing('xdotool') || (process.getuid?.() !== 0 && 'needs root, whose program it is');

describe('a repair as root', { skip }, () => {
  let stage: Stage;
  let directory: string;
  let program: string;
  const file = (name: string) => join(directory, name);
  /** Sets the answer of the password dialog: exit code and words of pkexec. */
  const answer = (code: number, words = '') => writeFileSync(file('answer'), `${code} ${words}\n`);
  const fix: Fix = {
    kind: 'commands',
    label: 'Turn IPv6 off on these interfaces',
    commands: [['sysctl', '-w', 'net.ipv6.conf.eth0.disable_ipv6=1']],
    undo: [['sysctl', '-w', 'net.ipv6.conf.eth0.disable_ipv6=0']],
    privileged: true,
    repair: ['ipv6-off', 'eth0'],
  };
  const broken = checkResult('ipv6-beside', 'problem', { title: 'IPv6', fix, fixId: 'a' });
  const COMMAND = 'sudo sysctl -w net.ipv6.conf.eth0.disable_ipv6=1';
  const checks = async () => {
    await stage.turn('connection');
    stage.daemon.checks = [broken];
    await stage.turn('checks');
    await stage.find('Fix: IPv6');
  };
  /** Opens the question of the repair, which shows the commands, and agrees. */
  const repair = async () => {
    await stage.press('Fix: IPv6');
    await stage.find(COMMAND.replace('sudo ', ''));
    await stage.press('Apply');
  };

  before(async () => {
    const desktop = await openDesktop();
    directory = desktop.directory;
    program = join(desktop.prefix, 'lib', 'culvert-repair', 'culvert-repair');
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '');
    mkdirSync(file('bin'));
    const pkexec = `#!/bin/sh\necho "$@" >>${file('asked')}\nread -r code words <${file('answer')}\n[ -z "$words" ] || echo "$words" >&2\nexit "$code"\n`;
    writeFileSync(file('bin/pkexec'), pkexec);
    for (const path of [program, file('bin/pkexec')]) chmodSync(path, 0o755);
    desktop.env.PATH = `${file('bin')}:${process.env.PATH}`;
    const daemon = createDaemon(desktop.socket);
    daemon.checks = [broken];
    await daemon.listen();
    const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'inside.js')]);
    stage = stageOf(desktop, daemon, panel, talk(panel));
    await stage.find('Culvert');
  });
  after(() => closeStage(stage));

  test('a dialog that is closed has changed nothing, and says so', async () => {
    answer(126);
    await checks();
    assert.ok(!(await stage.names()).includes(COMMAND), 'the commands are folded');
    await repair();
    await stage.find('Not allowed, so nothing was changed.');
    assert.equal(readFileSync(file('asked'), 'utf8'), `${program} fix ipv6-off eth0\n`);
    await stage.find('Fix: IPv6');
  });

  test('a repair that fails says why', async () => {
    answer(3, 'culvert-repair: There is no interface eth0 with IPv6. Nothing was changed.');
    await checks();
    await repair();
    await stage.shows('There is no interface eth0 with IPv6');
    await stage.press('Details');
    await stage.find('OK');
    await stage.press('OK');
  });

  test('after a repair the check runs again, and its row is in order', async () => {
    answer(0);
    await checks();
    stage.daemon.checks = [checkResult('ipv6-beside', 'ok', { title: 'IPv6' })];
    await repair();
    await stage.find('1 check is fine');
    await stage.gone('Fix: IPv6');
  });

  test('without anything that can ask, the commands are in the open', async () => {
    rmSync(file('asked'));
    answer(127, 'Error executing command as another user: No authentication agent found.');
    stage.daemon.checks = [broken];
    await stage.press('Run Again');
    await stage.find('Fix: IPv6');
    await repair();
    await stage.find('This desktop cannot ask for a password. Run the commands in a terminal.');
    await stage.press('Fix: IPv6');
    await stage.find(COMMAND);
    await stage.find('Copy');
    await stage.press('Cancel');
    assert.ok(existsSync(file('asked')));
  });
});
