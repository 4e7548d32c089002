// Apps that use the tunnel only, or send nothing through it: the command line they start with, and when nothing is started.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { PlacedWay } from '../../../daemon/api/schema.ts';
import { placedCommand } from '../../../daemon/apps/command-line.ts';
import { handoverReason, isKept, runsElsewhere, takeoverOf } from '../../../daemon/apps/escapes.ts';
import { placeApp } from '../../../daemon/apps/start-placed.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { SERVICE_PATHS } from '../../../daemon/killswitch/client/published-state.ts';
import { temporary } from '../../support/temporary.ts';
import { noBus, startBus } from './session-bus.ts';

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
    writeFileSync(join(directory, 'cmdline'), `${exe}\0`);
  }
  mkdirSync(join(proc, 'self'));
  return proc;
}

test('names the option for a browser that already runs outside, unless it has a separate profile', t => {
  const proc = procfs(t, [
    ['/usr/lib/firefox-esr/firefox-esr', OUTSIDE],
    ['/opt/google/chrome/chrome', OUTSIDE],
    ['/usr/bin/thunderbird', KEPT],
  ]);
  const option = (...command: string[]) =>
    takeoverOf(command, 'tunnel-only', { path: '', procfs: proc })?.option ?? null;
  assert.match(option('firefox')!, /-profile/);
  assert.match(option('/usr/bin/firefox-esr', 'http://x')!, /-profile/);
  assert.equal(option('firefox', '-no-remote', '-profile', '/tmp/x'), null);
  assert.match(option('google-chrome')!, /--user-data-dir/);
  assert.equal(option('google-chrome', '--user-data-dir=/tmp/x'), null);
  for (const command of ['thunderbird', 'chromium', 'curl']) assert.equal(option(command), null, command);
  assert.equal(runsElsewhere('/opt/google/chrome/chrome', 'tunnel-only', proc), true);
  assert.equal(runsElsewhere('/usr/bin/thunderbird', 'tunnel-only', proc), false);
  // each program outside the tunnel has its own network
  assert.match(takeoverOf(['thunderbird'], 'outside', { path: '', procfs: proc })!.option!, /-profile/);
  assert.equal(runsElsewhere('/usr/bin/thunderbird', 'outside', proc), true);
  assert.deepEqual([isKept(10, proc), isKept(12, proc)], [false, true]);
});

test('programs that hand over are known by their names, and by what their names lead to', t => {
  const directory = temporary(t, 'bin');
  const exports = join(directory, 'flatpak/exports/bin');
  mkdirSync(exports, { recursive: true });
  for (const path of [join(exports, 'org.x.Y'), join(directory, 'gio')]) writeFileSync(path, '', { mode: 0o755 });
  symlinkSync(join(directory, 'gio'), join(directory, 'opener'));
  const path = `${directory}:${exports}`;
  assert.match(handoverReason('org.x.Y', path)!, /Flatpak/);
  assert.match(handoverReason('opener', path)!, /the desktop starts the app/);
  assert.match(handoverReason('/snap/bin/firefox', path)!, /snapd/);
  assert.match(handoverReason('gapplication', path)!, /the desktop/);
  assert.equal(handoverReason('curl', path), null);
});

const described = (kind: 'firefox' | 'chromium' | 'generic') =>
  ({
    id: 'org.example.A.desktop',
    name: 'A',
    icon: null,
    kind,
    method: 'none',
    packaging: 'native',
  }) as unknown as Parameters<typeof placedCommand>[0];

test('a browser gets a separate profile, which is not the profile for the proxy', () => {
  const line = (...args: string[]) => ({ args, located: { at: 0, program: args[0]!, packaging: 'native' as const } });
  const options = { state: '/state', way: 'tunnel-only' as const };
  assert.deepEqual(placedCommand(described('firefox'), line('firefox', '-P', 'x', '--new-tab'), options), {
    argv: ['firefox', '-profile', '/state/profiles-tunnel/org.example.A', '--new-tab'],
    env: { MOZ_NO_REMOTE: '' },
    profile: '/state/profiles-tunnel/org.example.A',
  });
  const { argv } = placedCommand(described('chromium'), line('chromium', '--user-data-dir=/x', '--incognito'), options);
  assert.deepEqual(argv, [
    'chromium',
    '--user-data-dir=/state/profiles-tunnel/org.example.A',
    '--no-first-run',
    '--incognito',
  ]);
  const outside = placedCommand(described('chromium'), line('chromium'), { ...options, way: 'outside' });
  assert.equal(outside.profile, '/state/profiles-outside/org.example.A');
  assert.deepEqual(placedCommand(described('generic'), line('x', 'y'), options), {
    argv: ['x', 'y'],
    env: {},
    profile: null,
  });
});

/** Starts an app with a `culvert` that is this script. */
function stage(t: TestContext, way: PlacedWay, culvert: string, env: NodeJS.ProcessEnv = {}) {
  const directory = temporary(t, 'place');
  const program = (name: string, text: string) =>
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('culvert', culvert);
  program('tool', ':');
  program('flatpak', ':');
  const context = {
    env: { PATH: `${directory}:${process.env.PATH}`, HOME: directory, ...env },
    paths: { state: directory, runtime: directory },
  } as unknown as FeatureContext;
  const installed = [join(directory, 'tool')];
  const place = (exec: string, activation = installed, more: [key: string, value: string][] = []) =>
    placeApp(
      { app: described('generic'), entry: new Map([['Exec', exec], ...more]), path: '/x.desktop' } as never,
      {
        way,
        launcher: join(directory, 'culvert'),
        service: { ...SERVICE_PATHS, activation, units: [], systemd: directory },
      },
      context,
    );
  return { directory, place };
}

for (const [way, cannot] of [
  ['tunnel-only', 'be kept in the tunnel'],
  ['outside', 'run outside the tunnel'],
] as const)
  test(`nothing is started without the root service or by another process, and a failure is reported: ${way}`, async t => {
    const { directory, place } = stage(t, way, 'exit 1');
    await assert.rejects(place('tool', []), { code: 'killswitch-not-installed' });
    for (const exec of ['flatpak run org.x.Y', ''])
      await assert.rejects(place(exec), new RegExp(`A can’t ${cannot}, because another process starts it`));
    await assert.rejects(place('absent'), /is not installed/);
    await assert.rejects(place('tool --flag %u'), /A did not start\. culvert ended at once, with exit code 1/);
    assert.deepEqual(readdirSync(directory).sort(), ['culvert', 'flatpak', 'tool']);
  });

test('a refusal is passed on with its code, its words and what helps', async t => {
  const refusal = (text: string) =>
    stage(
      t,
      'outside',
      `[ "$*" = 'run --json --outside -- tool' ] || exit 0\ncat >"$CULVERT_REPORT" <<'E'\n${text}\nE\nexit 1`,
    );
  const said = { type: 'urn:x', title: 'X', status: 502, detail: 'The kill switch is on.', code: 'killswitch-failed' };
  const wording = [{ text: 'The kill switch is on.', values: [] }];
  await assert.rejects(refusal(JSON.stringify({ ok: false, ...said, wording, hint: 'Turn it off' })).place('tool'), {
    code: 'killswitch-failed',
    message: said.detail,
    wording,
    extras: { hint: 'Turn it off' },
  });
  const own = {
    ok: false,
    type: 'urn:x',
    title: 'Failure',
    code: 'failure',
    detail: 'tool runs already.',
    hint: 'Close it',
  };
  await assert.rejects(refusal(JSON.stringify(own)).place('tool'), {
    code: 'app-launch-failed',
    message: 'A did not start. tool runs already.',
    extras: { hint: 'Close it' },
  });
  await assert.rejects(refusal('culvert: This system lets users make no network namespaces\nAllow it').place('tool'), {
    message: 'A did not start. This system lets users make no network namespaces',
    extras: { hint: 'Allow it' },
  });
});

test('limits of an app outside the tunnel are passed on, once it has started', async t => {
  try {
    execFileSync('unshare', ['-rn', 'true'], { stdio: 'ignore' });
  } catch {
    return t.skip('needs network namespaces of users');
  }
  const limits = [{ text: 'It has no %s.', values: ['IPv6'] }];
  const culvert = `echo '${JSON.stringify({ limits })}' >"$CULVERT_REPORT"; exec unshare -rn -- sleep 60`;
  const started = await stage(t, 'outside', culvert).place('tool');
  process.kill(started.pid!, 'SIGKILL');
  assert.deepEqual(started.limits, limits);
});

for (const way of ['tunnel-only', 'outside'] as const)
  test(`an app that the session bus would hand to its running instance is not started: ${way}`, {
    skip: noBus,
  }, async t => {
    const bus = await startBus(t);
    const { directory, place } = stage(t, way, 'echo >"$0.started"; exit 1', bus.env);
    const installed = [join(directory, 'tool')];
    const end = await bus.own('org.example.A');
    const activatable = () => place('tool', installed, [['DBusActivatable', 'true']]);
    await assert.rejects(activatable(), {
      message: 'A is already running and would open the new window itself, outside its place. Nothing was started.',
      extras: { hint: 'Close A, then try again.' },
    });
    assert.ok(!existsSync(join(directory, 'culvert.started')));
    // the bus starts only what says so
    await assert.rejects(place('tool'), /A did not start/);
    rmSync(join(directory, 'culvert.started'));
    await end();
    await assert.rejects(activatable(), /A did not start/);
    assert.ok(existsSync(join(directory, 'culvert.started')));
  });
