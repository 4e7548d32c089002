// The client of the kill switch is loaded at the start only where a root service is installed or wanted.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../../daemon/controls.ts';
import { openKillSwitch } from '../../../../daemon/killswitch/client/index.ts';
import type { ServicePaths } from '../../../../daemon/killswitch/client/published-state.ts';
import { createState, NO_KILL_SWITCH } from '../../../../daemon/state/store.ts';
import { temporary } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

async function open({
  directory,
  systemd = '/',
  busctl = 'no-busctl',
}: {
  directory: string;
  systemd?: string;
  busctl?: string;
}) {
  const at = (name: string) => join(directory, name);
  const settings = await loadConfig({ system: at('none'), user: at('config.json') }, {});
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const context = { state, settings, env: {}, say() {} } as unknown as FeatureContext;
  const service: ServicePaths = {
    run: at('run'),
    activation: [at('share/dbus/activation'), at('activation')],
    units: [at('lib/unit')],
    busctl: at(busctl),
    bus: null,
    install: 'sudo install-it',
    systemd,
  };
  return { feature: openKillSwitch(context, service), state };
}

for (const [title, { isInstalled, isWanted, systemd }] of Object.entries({
  'a machine without the service': { isInstalled: false, isWanted: false, systemd: '/' },
  'a machine without systemd': { isInstalled: true, isWanted: false, systemd: '/no-systemd' },
  'a machine with the service': { isInstalled: true, isWanted: false, systemd: '/' },
  'a switch that is on, without its service': { isInstalled: false, isWanted: true, systemd: '/' },
}))
  test(`${title} shows the same state, with or without the client`, async t => {
    const directory = temporary(t, 'switch');
    const at = (name: string) => join(directory, name);
    const warp = { killSwitch: isWanted, allowLan: true };
    writeFileSync(at('config.json'), JSON.stringify({ warp }), { mode: 0o600 });
    mkdirSync(at('run'));
    if (isInstalled) writeFileSync(at('activation'), '');
    const { feature, state } = await open({ directory, systemd });
    t.after(() => feature.stop?.());
    feature.start?.();
    const isLoaded = (isInstalled && systemd === '/') || isWanted;
    assert.equal(feature.control.wasCalled(), isLoaded);
    if (isLoaded) await feature.control();
    const shown = state.snapshot().killSwitch;
    if (!isLoaded) assert.deepEqual([shown.enabled, shown.command === null], [false, systemd !== '/']);
    if (!isLoaded) assert.deepEqual(await (await feature.control()).read(), shown, 'as the client measures it');
  });

test('a service that is installed while the daemon runs is noticed, and so are its state and its end', async t => {
  const directory = temporary(t, 'switch');
  const at = (name: string) => join(directory, name);
  const { feature, state } = await open({ directory });
  t.after(() => feature.stop?.());
  feature.start?.();
  const shown = () => state.snapshot().killSwitch;
  assert.deepEqual([shown().installed, feature.control.wasCalled()], [false, false]);
  mkdirSync(at('share/dbus'), { recursive: true });
  writeFileSync(at('share/dbus/activation'), '');
  await until(() => shown().installed, 'the service');
  assert.ok(feature.control.wasCalled());
  // the service starts later, and publishes its state
  await until(() => /busctl/.test(shown().detail ?? ''), 'the answer of the bus');
  mkdirSync(at('run'));
  writeFileSync(at('run/state.json'), 'not a state');
  await until(() => /published state/.test(shown().detail ?? ''), 'the state');
  // a restart makes another directory
  rmSync(at('run'), { recursive: true });
  await until(() => /is not running/.test(shown().detail ?? ''), 'the end of the service');
  mkdirSync(at('run'));
  writeFileSync(at('run/state.json'), 'not a state');
  await until(() => /published state/.test(shown().detail ?? ''), 'the state again');
  rmSync(at('share/dbus/activation'));
  await until(() => !shown().installed, 'the removal');
});

test('a unit that can’t be read ends no daemon, and the service counts as installed', async t => {
  const directory = temporary(t, 'switch');
  const at = (name: string) => join(directory, name);
  mkdirSync(at('lib/unit'), { recursive: true });
  writeFileSync(at('activation'), '');
  const { feature, state } = await open({ directory });
  t.after(() => feature.stop?.());
  feature.start?.();
  const shown = () => state.snapshot().killSwitch;
  await until(() => shown().installed, 'the service');
  mkdirSync(at('run'));
  writeFileSync(at('run/state.json'), 'not a state');
  await until(() => /published state/.test(shown().detail ?? ''), 'the state');
});

test('a service is noticed whose program another package installs later', async t => {
  const directory = temporary(t, 'switch');
  const at = (name: string) => join(directory, name);
  mkdirSync(at('lib'));
  writeFileSync(at('lib/unit'), `[Service]\nExecStart=${at('prefix/bin/gjs')} -m service.js\n`);
  writeFileSync(at('activation'), '');
  mkdirSync(at('prefix'));
  const { feature, state } = await open({ directory });
  t.after(() => feature.stop?.());
  feature.start?.();
  assert.equal(state.snapshot().killSwitch.installed, false);
  mkdirSync(at('prefix/bin'));
  writeFileSync(at('prefix/bin/gjs'), '');
  await until(() => state.snapshot().killSwitch.installed, 'the service');
});

test('a switch that is on is turned on in a service that is installed while the daemon runs', async t => {
  const directory = temporary(t, 'switch');
  const at = (name: string) => join(directory, name);
  writeFileSync(at('config.json'), JSON.stringify({ warp: { killSwitch: true } }), { mode: 0o600 });
  const { installed: _, command: __, ...report } = { ...NO_KILL_SWITCH, active: false };
  const answer = (value: unknown) => JSON.stringify({ type: 's', data: [JSON.stringify(value)] });
  writeFileSync(
    at('busctl'),
    `#!/bin/sh
case "$*" in
  *' Enable '*) echo '${answer({ ...report, enabled: true, active: true })}' ;;
  *) echo '${answer(report)}' ;;
esac
`,
    { mode: 0o755 },
  );
  const { feature, state } = await open({ directory, busctl: 'busctl' });
  t.after(() => feature.stop?.());
  feature.start?.();
  await feature.control();
  const shown = () => state.snapshot().killSwitch;
  assert.deepEqual([shown().enabled, shown().installed], [true, false]);
  writeFileSync(at('activation'), '');
  await until(() => shown().installed && shown().enabled && shown().active === true, 'the block');
});
