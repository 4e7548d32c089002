// The daemon's side of the kill switch: keeps the configuration, the root service and the published state in step.
import type { HistorySignIn, KillSwitch, KillSwitchRequest } from '../../api/schema.ts';
import type { FeatureContext, KillSwitchControl } from '../../controls.ts';
import { Problem } from '../../problem.ts';
import { explained, message, wordingOf } from '../wording.ts';
import { createBlockedRenewal, readBlocked } from './blocked.ts';
import type { Call } from './busctl.ts';
import { createEnabler, isDenied } from './enabler.ts';
import { type Places, places as usual } from './published-state.ts';
import { createPublisher } from './publisher.ts';
import { createServiceLink } from './service-link.ts';
import { createSignedIn } from './signed-in.ts';

/** Any program can slow the bus down. After that long, what the service last published answers a reader. */
const READ_MS = 500;

const DEMO = {
  detail: message('This is the demo: it never changes the kill switch of this machine.'),
  hint: 'End the demo with: culvert stop. Then repeat the command.',
};

interface Options {
  /** Paths of the service and how to call it; tests have their own. */
  places?: Places;
  /** Called with each sign-in to a network that ended. */
  signedIn?(signIn: HistorySignIn): void;
}

export function createKillSwitch(
  context: FeatureContext,
  { places = usual, signedIn = () => {} }: Options = {},
): KillSwitchControl {
  const { state, settings, say } = context;
  const link = createServiceLink(places, () => {
    publishFile();
    followSignIns();
  });
  const signIns = createSignedIn(places, signedIn);
  const { publish, publishFile, publishAbsent, setUnmet } = createPublisher(context, link, places);
  let unsubscribe = () => {};
  const emulated = () => state.snapshot().tunnelCli.emulated;
  const { enable, followTunnel, prepare } = createEnabler(context, link);
  const renewal = createBlockedRenewal(context, places);

  function followSignIns(): void {
    if (!emulated()) void signIns.take().catch((error: Error) => say(`Kill switch: ${error.message}`));
  }

  async function applyConfiguration(): Promise<void> {
    const { enabled, installed, unconfirmed } = await read();
    if (!settings.config.warp.killSwitch || enabled || !installed || emulated()) return;
    if (unconfirmed) return; // it was turned off, and returns unless that is confirmed
    try {
      publish(await enable(settings.config.warp.allowLan, false));
    } catch (error) {
      const unmet = [message('It is turned on but not in force.'), ...wordingOf(error)];
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
      followSignIns();
      unsubscribe = state.subscribe(({ event }) => {
        if (event === 'killSwitch' && state.snapshot().killSwitch.enabled) void prepare();
        if (event === 'tunnel' && !emulated())
          void followTunnel().then(
            report => report && publish(report),
            (error: Error) => say(`Kill switch: ${error.message}`),
          );
      });
      void applyConfiguration();
      renewal.start();
    },
    async stop() {
      unsubscribe();
      renewal.stop();
      link.close();
    },
    read,
    set,
    decide,
    lastSignIn: signIns.last,
    blocked: () => readBlocked(places),
    // without a root service there is nothing to pause
    async pause(seconds) {
      refuseInDemo();
      return link.isInstalled() ? publish(await link.ask({ method: 'Pause', seconds }, true)) : publishAbsent();
    },
  };
}

/** The promised value; null if it takes longer. */
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
