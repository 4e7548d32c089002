// Answers the requests for the kill switch, and loads its client only where there is something to follow.
import type { FeatureContext, KillSwitchControl } from '../../controls.ts';
import { begin, type Feature, type Lazy, lazy } from '../../feature.ts';
import { NO_KILL_SWITCH } from '../../state/store.ts';
import { explained } from '../wording.ts';
import { absent, isInstalled, SERVICE_PATHS } from './published-state.ts';

/**
 * @param service paths of the root service; tests pass their own
 * @returns the feature, and the control that other features use
 */
export function openKillSwitch(
  context: FeatureContext,
  service = SERVICE_PATHS,
): Feature<'killswitch'> & { control: Lazy<KillSwitchControl> } {
  const { settings, state, say } = context;
  const killSwitch = lazy(async () => {
    const control = (await import('./client.ts')).createKillSwitch(context, service);
    control.start();
    return control;
  });
  return {
    control: killSwitch,
    handlers: answerWith(killSwitch),
    start() {
      if (!settings.config.warp.killSwitch && !isInstalled(service)) {
        // the client would publish the same, but loads only with the first request
        if (!killSwitch.wasCalled())
          state.set('killSwitch', {
            ...NO_KILL_SWITCH,
            allowLan: settings.config.warp.allowLan,
            ...explained([]),
            ...absent(service),
          });
        return;
      }
      begin('kill switch', () => killSwitch().then(() => ({ start() {} })), say);
    },
    stop: async () => (await killSwitch.loaded())?.stop(),
  };
}

/** Returns the function of each request, which calls `control`. */
export function answerWith(control: () => Promise<KillSwitchControl>): Feature<'killswitch'>['handlers'] {
  return {
    'GET /api/killswitch': async () => ({ ok: true, ...(await (await control()).read()) }),
    'POST /api/killswitch': async ({ body }) => ({ ok: true, ...(await (await control()).set(body)) }),
    'POST /api/killswitch/pause': async ({ body }) => ({ ok: true, ...(await (await control()).pause(body.seconds)) }),
    'GET /api/killswitch/blocked': async () => ({ ok: true, ...(await (await control()).blocked()) }),
  };
}
