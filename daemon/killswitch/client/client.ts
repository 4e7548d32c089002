// The daemon's side of the kill switch: keeps the configuration, the root service and the published state in step.
import type { KillSwitch, KillSwitchRequest } from '../../api/schema.ts';
import type { FeatureContext, KillSwitchControl } from '../../controls.ts';
import { Problem } from '../../problem.ts';
import type { Report } from '../report.ts';
import { wantedEndpoints } from '../rules/endpoint-allowlist.ts';
import type { Endpoint } from '../rules/rules.ts';
import { explained, message, wordingOf } from '../wording.ts';
import type { Call } from './busctl.ts';
import { type Places, places as usual } from './published-state.ts';
import { createPublisher } from './publisher.ts';
import { createServiceLink } from './service-link.ts';

/** Any program can slow the bus down. After that long, what the service last published answers a reader. */
const READ_MS = 500;

const LEFT_OUT =
  'Kill switch: warp.endpoints needs an administrator and is left out. Turn the kill switch on again to be asked.';
const DEMO = {
  detail: message('This is the demo: it never changes the kill switch of this machine.'),
  hint: 'End the demo with: culvert stop. Then repeat the command.',
};

/** @param places where the service publishes and how it is called; tests have their own */
export function createKillSwitch(context: FeatureContext, places: Places = usual): KillSwitchControl {
  const { state, settings, say } = context;
  const link = createServiceLink(places, () => publishFile());
  const { publish, publishFile, publishAbsent, setUnmet } = createPublisher(context, link, places);
  let unsubscribe = () => {};
  /** The endpoints that this daemon last gave the service. */
  let given = '';

  const emulated = () => state.snapshot().tunnelCli.emulated;
  const endpoints = (own = settings.config.warp.endpoints) => wantedEndpoints(state.snapshot().tunnel.endpoints, own);

  /** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
  async function enable(allowLan: boolean, interactive: boolean, seconds?: number): Promise<Report> {
    const wanted = endpoints();
    for (const why of wanted.refused) say(`Kill switch: ${why}`);
    given = JSON.stringify(wanted.endpoints); // asked once, whatever the answer
    try {
      const change = { allowLan, endpoints: wanted.endpoints };
      const call: Call =
        seconds === undefined ? { method: 'Enable', ...change } : { method: 'TryEnable', ...change, seconds };
      return await link.ask(call, interactive);
    } catch (error) {
      const without = endpoints('').endpoints;
      // no user can be asked here, and blocking matters more than endpoints that need an administrator
      if (interactive || !isDenied(error) || without.length === wanted.endpoints.length) throw error;
      say(LEFT_OUT);
      return link.ask({ method: 'Enable', allowLan, endpoints: without }, false);
    }
  }

  /** The tunnel has moved to an address that the rules do not let through. */
  async function followTunnel(): Promise<void> {
    const { enabled, active, allowLan, unconfirmed } = state.snapshot().killSwitch;
    if (!enabled || active !== true || emulated()) return;
    const { endpoints: wanted, beyondShipped } = endpoints();
    if ((!beyondShipped && given === '') || JSON.stringify(wanted) === given) return;
    await (unconfirmed ? setEndpoints(wanted) : enable(allowLan, false)).then(publish, error =>
      say(`Kill switch: ${error.message}`),
    );
  }

  /** Turning it on again would confirm what the user has yet to confirm. */
  function setEndpoints(wanted: readonly Endpoint[]): Promise<Report> {
    given = JSON.stringify(wanted);
    return link.ask({ method: 'SetEndpoints', endpoints: wanted }, false);
  }

  async function applyConfiguration(): Promise<void> {
    const known = await read();
    if (!settings.config.warp.killSwitch || known.enabled || !known.installed || emulated()) return;
    if (known.unconfirmed) return; // it was turned off, and returns unless that is confirmed
    try {
      publish(await enable(settings.config.warp.allowLan, false));
    } catch (error) {
      const unmet = [message('It is wanted but not in force.'), ...wordingOf(error)];
      setUnmet(unmet);
      say(`Kill switch: ${explained(unmet).detail}`);
      publishFile();
    }
  }

  async function read(): Promise<KillSwitch> {
    link.follow();
    if (!link.isInstalled()) return publishAbsent();
    try {
      const asked = link.ask({ method: 'Status' }, false);
      const isKnown = (await within(READ_MS, asked)) !== null;
      return isKnown || 'unreadable' in link.published() ? publish(await asked) : publishFile();
    } catch (error) {
      // if a bus policy refuses the call, the published file is still readable
      return isDenied(error) ? publishFile() : publish(null, wordingOf(error));
    }
  }

  async function set({ enabled, allowLan, confirmWithin: seconds }: KillSwitchRequest): Promise<KillSwitch> {
    refuseInDemo();
    // a switch that is off, or not installed, stays off without an administrator
    const isOff = !enabled && (!link.isInstalled() || (await isSurelyOff()));
    const off = (): Call => (seconds === undefined ? { method: 'Disable' } : { method: 'TryDisable', seconds });
    const report = isOff ? null : await (enabled ? enable(allowLan, true, seconds) : link.ask(off(), true));
    setUnmet([]);
    // an unconfirmed value must not return with the next start
    if (!report?.unconfirmed) await remember(context, enabled, allowLan);
    return report ? publish(report) : read();
  }

  /** @throws Problem unsupported-by-cli */
  function refuseInDemo(): void {
    if (emulated()) throw new Problem('unsupported-by-cli', DEMO.detail, { hint: DEMO.hint });
  }

  async function isSurelyOff(): Promise<boolean> {
    const { enabled, unconfirmed } = await link.ask({ method: 'Status' }, false);
    return !enabled && unconfirmed === null;
  }

  async function decide(what: 'confirm' | 'revert'): Promise<KillSwitch> {
    refuseInDemo();
    const report = await link.ask({ method: what === 'confirm' ? 'Confirm' : 'Revert' }, true);
    if (what === 'confirm') await remember(context, report.enabled, report.allowLan);
    return publish(report);
  }

  return {
    start() {
      link.follow();
      unsubscribe = state.subscribe(({ event }) => {
        if (event === 'tunnel') void followTunnel();
      });
      void applyConfiguration();
    },
    async stop() {
      unsubscribe();
      link.close();
    },
    read,
    set,
    decide,
    // without a root service there is nothing to pause
    async pause(seconds) {
      refuseInDemo();
      return link.isInstalled() ? publish(await link.ask({ method: 'Pause', seconds }, true)) : publishAbsent();
    },
  };
}

/** The promised value; null where it takes longer. */
function within<T>(ms: number, promised: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, null);
    promised.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Keeps a choice for the next start. Blocking does not depend on whether the file can be written. */
async function remember({ settings, say }: FeatureContext, killSwitch: boolean, allowLan: boolean): Promise<void> {
  const choice = { warp: { killSwitch, allowLan } };
  try {
    await settings.setUser(choice);
  } catch (error) {
    say(`Kill switch: ${(error as Error).message}`);
  }
  if (settings.config.warp.killSwitch !== killSwitch) settings.setSession(choice);
}

function isDenied(error: unknown): boolean {
  return error instanceof Problem && error.code === 'killswitch-denied';
}
