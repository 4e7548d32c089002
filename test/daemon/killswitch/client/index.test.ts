// The client of the kill switch is loaded at the start only where a root service is installed or wanted.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../../daemon/controls.ts';
import { openKillSwitch } from '../../../../daemon/killswitch/client/index.ts';
import type { ServicePaths } from '../../../../daemon/killswitch/client/published-state.ts';
import { createState } from '../../../../daemon/state/store.ts';
import { temporary } from '../../../support/temporary.ts';

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
    const settings = await loadConfig({ system: at('none'), user: at('config.json') }, {});
    const state = createState({ available: true, path: null, version: null, emulated: false });
    const context = { state, settings, env: {}, say() {} } as unknown as FeatureContext;
    const service: ServicePaths = {
      run: at('run'),
      activation: [at('activation')],
      units: [],
      busctl: at('no-busctl'),
      bus: null,
      install: 'sudo install-it',
      systemd,
    };
    const feature = openKillSwitch(context, service);
    t.after(() => feature.stop?.());
    feature.start?.();
    const isLoaded = (isInstalled && systemd === '/') || isWanted;
    assert.equal(feature.control.wasCalled(), isLoaded);
    if (isLoaded) await feature.control();
    const shown = state.snapshot().killSwitch;
    if (!isLoaded) assert.deepEqual([shown.enabled, shown.command === null], [false, systemd !== '/']);
    if (!isLoaded) assert.deepEqual(await (await feature.control()).read(), shown, 'as the client measures it');
  });
