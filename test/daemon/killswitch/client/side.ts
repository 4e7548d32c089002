// The daemon's side of the kill switch over a stage: its context, and a busctl that notes each call.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import type { KillSwitch } from '../../../../daemon/api/schema.ts';
import { loadConfig } from '../../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../../daemon/controls.ts';
import { createKillSwitch } from '../../../../daemon/killswitch/client/client.ts';
import type { ServicePaths } from '../../../../daemon/killswitch/client/published-state.ts';
import { createState } from '../../../../daemon/state/store.ts';
import { type Stage, which } from '../../../support/killswitch/stage.ts';
import type { Ends } from '../../../support/temporary.ts';

interface Side {
  context: FeatureContext;
  service: ServicePaths;
  said: string[];
  control: ReturnType<typeof createKillSwitch>;
  killSwitch(): KillSwitch;
}

/** A daemon's context, as far as the kill switch needs it. */
export async function createSide(
  t: Ends,
  stage: Stage,
  more: { emulated?: boolean; uid?: number; systemd?: string } = {},
): Promise<Side> {
  const said: string[] = [];
  const user = stage.path('config/config.json');
  mkdirSync(stage.path('config'), { recursive: true });
  const settings = await loadConfig({ system: stage.path('none'), user }, {});
  const state = createState({ available: true, path: null, version: null, emulated: more.emulated === true });
  const busctl = stage.path('busctl');
  const as = more.uid === undefined ? '' : `setpriv --reuid=${more.uid} --regid=${more.uid} --clear-groups `;
  writeFileSync(busctl, `#!/bin/sh\necho "$@" >>'${stage.path('calls')}'\nexec ${as}${which('busctl')} "$@"\n`);
  chmodSync(busctl, 0o755);
  writeFileSync(stage.path('calls'), '');
  chmodSync(stage.path('calls'), 0o666);
  const service: ServicePaths = {
    run: stage.path('run'),
    activation: [stage.path('activation')],
    units: [stage.path('unit')],
    busctl,
    bus: stage.env.DBUS_SYSTEM_BUS_ADDRESS,
    install: 'sudo install-it',
    systemd: more.systemd ?? '/',
  };
  writeFileSync(stage.path('activation'), '');
  const context = {
    state,
    settings,
    env: {},
    say: (line: string) => void said.push(line),
  } as unknown as FeatureContext;
  const control = createKillSwitch(context, service);
  t.after(() => control.stop());
  return { context, service, said, control, killSwitch: () => state.snapshot().killSwitch };
}
