// Apps that use the tunnel only: the command line they start with, and when nothing is started.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { handsOver, isKept, optionAgainstRunning, runsOutside } from '../../../../daemon/apps/launch/escapes.ts';
import { keepApp } from '../../../../daemon/apps/launch/keep-app.ts';
import { ownProfile } from '../../../../daemon/apps/launch/proxy-launch.ts';
import type { FeatureContext } from '../../../../daemon/controls.ts';
import { places } from '../../../../daemon/killswitch/client/published-state.ts';
import { temporary } from '../../../support/temporary.ts';

const OUTSIDE = '0::/user.slice/user-1000.slice/session-1.scope\n';
const KEPT = '0::/user.slice/user-1000.slice/user-1000-culvert.slice/culvert-1.scope\n';

/** A directory that plays /proc, with these processes. */
function procfs(t: TestContext, processes: [exe: string, cgroup: string][]): string {
  const proc = temporary(t, 'proc');
  for (const [i, [exe, cgroup]] of processes.entries()) {
    const directory = join(proc, String(i + 10));
    mkdirSync(directory);
    symlinkSync(exe, join(directory, 'exe'));
    writeFileSync(join(directory, 'cgroup'), cgroup);
  }
  mkdirSync(join(proc, 'self'));
  return proc;
}

test('a browser that runs outside would open the window, unless it is told to stay apart', t => {
  const proc = procfs(t, [
    ['/usr/lib/firefox-esr/firefox-esr', OUTSIDE],
    ['/opt/google/chrome/chrome', OUTSIDE],
    ['/usr/bin/thunderbird', KEPT],
  ]);
  const option = (...command: string[]) => optionAgainstRunning(command, proc);
  assert.match(option('firefox')!, /-profile/);
  assert.match(option('/usr/bin/firefox-esr', 'http://x')!, /-profile/);
  assert.equal(option('firefox', '-no-remote', '-profile', '/tmp/x'), null);
  assert.match(option('google-chrome')!, /--user-data-dir/);
  assert.equal(option('google-chrome', '--user-data-dir=/tmp/x'), null);
  for (const command of ['thunderbird', 'chromium', 'curl']) assert.equal(option(command), null, command);
  assert.equal(runsOutside('/opt/google/chrome/chrome', proc), true);
  assert.equal(runsOutside('/usr/bin/thunderbird', proc), false);
  assert.deepEqual([isKept(10, proc), isKept(12, proc)], [false, true]);
});

test('programs that hand over are known by their names, and by what their names lead to', t => {
  const directory = temporary(t, 'bin');
  const exports = join(directory, 'flatpak/exports/bin');
  mkdirSync(exports, { recursive: true });
  for (const path of [join(exports, 'org.x.Y'), join(directory, 'gio')]) writeFileSync(path, '', { mode: 0o755 });
  symlinkSync(join(directory, 'gio'), join(directory, 'opener'));
  const path = `${directory}:${exports}`;
  assert.match(handsOver('org.x.Y', path)!, /Flatpak/);
  assert.match(handsOver('opener', path)!, /the desktop starts the app/);
  assert.match(handsOver('/snap/bin/firefox', path)!, /snapd/);
  assert.match(handsOver('gapplication', path)!, /the desktop/);
  assert.equal(handsOver('curl', path), null);
});

const described = (kind: 'firefox' | 'chromium' | 'generic') =>
  ({ id: 'a.desktop', name: 'A', icon: null, kind, method: 'none', packaging: 'native' }) as unknown as Parameters<
    typeof ownProfile
  >[0];

test('a browser gets a profile of its own, apart from the one for the proxy', () => {
  const line = (...args: string[]) => ({ args, located: { at: 0, program: args[0]!, packaging: 'native' as const } });
  const places = { home: '/home/a', state: '/state' };
  assert.deepEqual(ownProfile(described('firefox'), line('firefox', '-P', 'x', '--new-tab'), places), {
    argv: ['firefox', '-profile', '/state/profiles-tunnel/a', '--new-tab'],
    env: { MOZ_NO_REMOTE: '' },
    profile: '/state/profiles-tunnel/a',
  });
  const { argv } = ownProfile(described('chromium'), line('chromium', '--user-data-dir=/x', '--incognito'), places);
  assert.deepEqual(argv, ['chromium', '--user-data-dir=/state/profiles-tunnel/a', '--no-first-run', '--incognito']);
  assert.deepEqual(ownProfile(described('generic'), line('x', 'y'), places), {
    argv: ['x', 'y'],
    env: {},
    profile: null,
  });
});

test('nothing is started without the root service or by another process, and a failure is told', async t => {
  const directory = temporary(t, 'keep');
  const program = (name: string, text: string) =>
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('culvert', `printf '%s\\n' "$@" >'${directory}/words'; exit 1`);
  program('tool', ':');
  program('flatpak', ':');
  const context = {
    env: { PATH: `${directory}:${process.env.PATH}`, HOME: directory },
    paths: { state: directory },
  } as unknown as FeatureContext;
  const keep = (exec: string, activation: string[]) =>
    keepApp(
      { app: described('generic'), entry: new Map([['Exec', exec]]), path: '/x.desktop' } as never,
      { launcher: join(directory, 'culvert'), places: { ...places, activation } },
      context,
    );
  const installed = [join(directory, 'tool')];
  await assert.rejects(keep('tool', []), { code: 'killswitch-not-installed' });
  for (const exec of ['flatpak run org.x.Y', ''])
    await assert.rejects(keep(exec, installed), /another process starts it/);
  await assert.rejects(keep('absent', installed), /is not installed/);
  await assert.rejects(keep('tool --flag %u', installed), /A did not start\. culvert ended at once, with exit code 1/);
});
