// Turns the kill switch on with the endpoints of the tunnel, and replaces them when the tunnel moves.
import type { FeatureContext } from '../../controls.ts';
import { Problem } from '../../problem.ts';
import type { Report } from '../report.ts';
import type { Endpoint } from '../rules/rules.ts';
import type { Call } from './busctl.ts';
import type { ServiceLink } from './service-link.ts';

const LEFT_OUT =
  'Kill switch: warp.endpoints needs an administrator and is left out. Turn the kill switch on again to be asked.';

/** An idle daemon does without the parser of addresses. */
const load = () => import('../rules/endpoint-allowlist.ts');

export function createEnabler({ state, settings, say }: FeatureContext, link: ServiceLink) {
  /** The endpoints that this daemon last gave the service. */
  let given = '';

  async function endpoints(own = settings.config.warp.endpoints) {
    const { wantedEndpoints } = await load();
    return wantedEndpoints(state.snapshot().tunnel.endpoints, own);
  }

  /** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
  async function enable(allowLan: boolean, interactive: boolean, seconds?: number): Promise<Report> {
    const wanted = await endpoints();
    for (const why of wanted.refused) say(`Kill switch: ${why}`);
    given = JSON.stringify(wanted.endpoints); // asked once, whatever the answer
    try {
      const change = { allowLan, endpoints: wanted.endpoints };
      const call: Call =
        seconds === undefined ? { method: 'Enable', ...change } : { method: 'TryEnable', ...change, seconds };
      return await link.ask(call, interactive);
    } catch (error) {
      const without = (await endpoints('')).endpoints;
      // no user can be asked here, and blocking matters more than endpoints that need an administrator
      if (interactive || !isDenied(error) || without.length === wanted.endpoints.length) throw error;
      say(LEFT_OUT);
      return link.ask({ method: 'Enable', allowLan, endpoints: without }, false);
    }
  }

  /** Turning it on again would confirm what the user has yet to confirm. */
  function setEndpoints(next: readonly Endpoint[]): Promise<Report> {
    given = JSON.stringify(next);
    return link.ask({ method: 'SetEndpoints', endpoints: next }, false);
  }

  return {
    enable,
    /** Loads what both take while this version's files are there: a package may replace them. */
    async prepare(): Promise<void> {
      await load().catch(() => {}); // a later use reports the failure
    },
    /** Lets the tunnel through where it is now; null if the rules do so already, or nothing is blocked. */
    async followTunnel(): Promise<Report | null> {
      const { enabled, active, allowLan, unconfirmed } = state.snapshot().killSwitch;
      if (!enabled || active !== true) return null;
      const { endpoints: next, beyondShipped } = await endpoints();
      if ((!beyondShipped && given === '') || JSON.stringify(next) === given) return null;
      return unconfirmed ? setEndpoints(next) : enable(allowLan, false);
    },
  };
}

export function isDenied(error: unknown): boolean {
  return error instanceof Problem && error.code === 'killswitch-denied';
}
