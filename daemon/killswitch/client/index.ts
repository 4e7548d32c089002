// Answers the requests for the kill switch.
import type { FeatureContext, KillSwitchControl } from '../../controls.ts';
import { begin, type Feature, type Lazy, lazy } from '../../feature.ts';

/** @returns the feature, and the control that other features use */
export function openKillSwitch(context: FeatureContext): Feature<'killswitch'> & { control: Lazy<KillSwitchControl> } {
  const killSwitch = lazy(async () => (await import('./client.ts')).createKillSwitch(context));
  return {
    control: killSwitch,
    handlers: answerWith(killSwitch),
    start: () => begin('kill switch', killSwitch, context.say),
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
