// `culvert doctor`: what is broken is found, named, and comes with what to do.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Check } from '../../../daemon/cli/doctor.ts';
import { NO_KILL_SWITCH } from '../../../daemon/state.ts';
import { createHome, culvert, type Home, startDaemon, status } from './command.ts';

async function examine(home: Home, env: Record<string, string> = {}) {
  const { code, stdout } = await culvert(home, ['doctor', '--json'], '', env);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  assert.equal(ok, code === 0);
  for (const { level, action, name } of checks) if (level === 'broken') assert.ok(action, `${name} says what to do`);
  return { code, levels: Object.fromEntries(checks.map(({ name, level }) => [name, level])), checks };
}

/** An executable of that name in a directory that becomes the whole PATH. */
function program(home: Home, name: string, text: string): Record<string, string> {
  const bin = join(home.path, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), text, { mode: 0o755 });
  return { PATH: `${bin}` };
}

test('a daemon that is well is found well', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('status', status('connected'));
  daemon.state.set('account', { registered: true, type: 'Free', organization: null, managed: false });
  const { code, levels } = await examine(home);
  assert.deepEqual(
    [code, levels],
    [
      0,
      {
        'Socket directory': 'ok',
        Daemon: 'warning', // the test's program and the test's daemon differ in version
        Port: 'ok',
        'Tunnel CLI': 'ok',
        'Tunnel service': 'ok',
        Registration: 'ok',
        Tunnel: 'ok',
        Configuration: 'ok',
        Display: 'warning',
      },
    ],
  );
  const { stdout } = await culvert(home, ['doctor']);
  assert.match(stdout, /^✓ Registration: Free$/m);
  assert.match(stdout, /^! Daemon: version .* runs, 9\.9\.9 is installed\n {4}Restart it: culvert stop/m);
});

for (const [blocked, name, action] of [
  ['cli-missing', 'Tunnel CLI', /Install Cloudflare WARP/],
  ['service-stopped', 'Tunnel service', /systemctl enable --now warp-svc/],
  ['terms-not-accepted', 'Terms of service', /culvert account accept-terms/],
  ['not-registered', 'Registration', /culvert account register/],
  ['not-authorized', 'Authorisation', /administrator/],
] as const) {
  test(`a tunnel that is blocked by ${blocked} is broken at: ${name}`, async t => {
    const home = createHome(t);
    const { daemon } = await startDaemon(t, home);
    daemon.state.set('status', status('unable', { blocked }));
    const { code, checks } = await examine(home);
    const broken = checks.filter(({ level }) => level === 'broken');
    assert.deepEqual([code, broken.map(check => check.name)], [1, [name]]);
    assert.match(broken[0]!.action!, action);
  });
}

test('without a daemon it looks for a free port and the tunnel CLI by itself', async t => {
  const home = createHome(t);
  const taken = createServer();
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve));
  t.after(() => taken.close());
  const CULVERT_SERVER_PORT = String((taken.address() as { port: number }).port);
  const found = await examine(home, { ...program(home, 'warp-cli', '#!/bin/sh\n'), CULVERT_SERVER_PORT });
  assert.equal(found.code, 1);
  assert.deepEqual([found.levels.Daemon, found.levels.Port, found.levels['Tunnel CLI']], ['broken', 'warning', 'ok']);
  const missing = await examine(home, { PATH: '/nowhere' });
  assert.equal(missing.levels['Tunnel CLI'], 'broken');
  const variable = await examine(home, { CULVERT_SERVER_PORT: 'soon' });
  assert.match(variable.checks.find(({ name }) => name === 'Configuration')!.detail, /CULVERT_SERVER_PORT=soon/);
});

test('a broken configuration file is named with its line', async t => {
  const home = createHome(t);
  mkdirSync(join(home.path, '.config', 'culvert'), { recursive: true });
  writeFileSync(join(home.path, '.config', 'culvert', 'config.json'), '{\n  "ui": {,\n}\n');
  const { checks } = await examine(home);
  const found = checks.find(({ name }) => name === 'Configuration')!;
  assert.equal(found.level, 'broken');
  assert.match(found.detail, /culvert\/config\.json, line 2: /);
});

test('a socket directory that is open to others is broken', async t => {
  const home = createHome(t);
  await startDaemon(t, home);
  chmodSync(join(home.path, 'run', 'culvert'), 0o755);
  const { code, levels } = await examine(home);
  assert.deepEqual([code, levels['Socket directory']], [1, 'broken']);
});

test('with a display it asks GJS for the libraries and the tray host', async t => {
  const home = createHome(t);
  await startDaemon(t, home);
  const answer = (found: object) => program(home, 'gjs', `#!/bin/sh\necho '${JSON.stringify(found)}'\n`);
  const with_ = (env: Record<string, string>) => examine(home, { DISPLAY: ':9', ...env }).then(({ levels }) => levels);
  const well = await with_(answer({ missing: [], host: true }));
  assert.deepEqual([well.Display, well.Panel, well.Tray], ['ok', 'ok', 'ok']);
  const poor = await with_(answer({ missing: ['Adw 1'], host: false }));
  assert.deepEqual([poor.Panel, poor.Tray], ['broken', 'warning']);
  const none = await with_({ PATH: '/nowhere' });
  assert.deepEqual([none.Panel, none.Tray], ['broken', undefined]);
});

test('the real GJS answers the probe', async t => {
  const home = createHome(t);
  await startDaemon(t, home);
  const { levels } = await examine(home, { DISPLAY: ':9' });
  assert.deepEqual([levels.Panel, levels.Tray], ['ok', 'warning']);
});

test('a kill switch is found blocking, or comes with what to do', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  const on = { ...NO_KILL_SWITCH, enabled: true, active: true, installed: true, bootGuard: true };
  for (const [state, level, action] of [
    [NO_KILL_SWITCH, undefined, null],
    [{ ...NO_KILL_SWITCH, installed: true, active: false }, 'ok', null],
    [on, 'ok', null],
    [{ ...on, bootGuard: false }, 'warning', /culvert-killswitch-guard/],
    [{ ...on, active: false }, 'broken', /culvert killswitch on/],
    [{ ...on, active: null }, 'warning', /systemctl status/],
    [{ ...on, active: false, pausedUntil: '2026-01-01T10:00:00.000Z' }, 'warning', /culvert killswitch resume/],
    [{ ...NO_KILL_SWITCH, enabled: true, command: 'install-it' }, 'broken', /install-it/],
  ] as const) {
    daemon.state.set('killSwitch', state);
    const check = (await examine(home)).checks.find(({ name }) => name === 'Kill switch');
    assert.equal(check?.level, level);
    if (action) assert.match(check!.action!, action);
  }
});
