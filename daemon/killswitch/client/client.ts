// Keeps the configuration, the root service and the published state of the kill switch in step, for the daemon.
import type { Change, KillSwitch, KillSwitchRequest } from '../../api/schema.ts';
import type { FeatureContext, KillSwitchControl } from '../../controls.ts';
import { Problem } from '../../problem.ts';
import { NO_KILL_SWITCH, setPart } from '../../state/store.ts';
import type { Report } from '../report.ts';
import type { Endpoint } from '../rules/endpoints.ts';
import { explained, type Message, message, wordingOf } from '../wording.ts';
import { absent, SERVICE_PATHS, type ServicePaths } from './published-state.ts';
import { createBlockedRenewal, readBlocked } from './records.ts';
import { type Call, createServiceLink, type ServiceLink } from './service-link.ts';

/** Time limit for an answer: any program can slow the bus down. After it, readers get the last published state. */
const READ_MS = 500;

const DEMO = {
  detail: message('This is the demo: it never changes the kill switch of this machine.'),
  hint: 'End the demo with: culvert stop. Then repeat the command.',
};

/** @param service paths of the service and how to call it; tests pass their own */
export function createKillSwitch(context: FeatureContext, service: ServicePaths = SERVICE_PATHS): KillSwitchControl {
  const { state, settings, say } = context;
  const link = createServiceLink(service, () => void publishFile());
  const { publish, publishFile, publishAbsent, setUnmet } = createPublisher(context, link, service);
  let unsubscribe = () => {};
  const emulated = () => state.snapshot().tunnelCli.emulated;
  const { enable, followTunnel, prepare } = createEnabler(context, link);
  const renewal = createBlockedRenewal(context, service);

  async function applyConfiguration(): Promise<void> {
    const { enabled, installed, unconfirmed } = await read();
    if (!settings.config.warp.killSwitch || enabled || !installed || emulated()) return;
    if (unconfirmed) return; // turning it off is unconfirmed; it returns unless that is confirmed
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
      // a bus policy may refuse the call, but the published file is readable
      return isDenied(error) ? publishFile() : publish(null, wordingOf(error));
    }
  }

  async function set({ enabled, allowLan, confirmWithin: seconds }: KillSwitchRequest): Promise<KillSwitch> {
    refuseInDemo();
    // a switch that is off or not installed stays off without an administrator
    const isOff = !enabled && (!link.isInstalled() || (await isSurelyOff()));
    const off = (): Call => (seconds === undefined ? { method: 'Disable' } : { method: 'TryDisable', seconds });
    const report = isOff ? null : await (enabled ? enable(allowLan, true, seconds) : link.ask(off(), true));
    setUnmet([]);
    // an unconfirmed value must not return at the next start
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
    reapply: applyConfiguration,
    set,
    decide,
    blocked: () => readBlocked(service),
    // without a root service there is nothing to pause
    async pause(seconds) {
      refuseInDemo();
      return link.isInstalled() ? publish(await link.ask({ method: 'Pause', seconds }, true)) : publishAbsent();
    },
  };
}

/** Resolves to the promised value, or to null if it takes longer. */
function within<T>(ms: number, promised: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, null);
    promised.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Keeps a choice for the next start. Blocking works even if the file can't be written. */
async function remember({ settings, say }: FeatureContext, killSwitch: boolean, allowLan: boolean): Promise<void> {
  const choice = { warp: { killSwitch, allowLan } };
  try {
    await settings.setUser(choice);
  } catch (error) {
    say(`Kill switch: ${(error as Error).message}`);
  }
  if (settings.config.warp.killSwitch !== killSwitch) settings.setSession(choice);
}

const { installed: _, command: __, ...REST } = NO_KILL_SWITCH;
const UNKNOWN: Report = { ...REST, ...explained([]) };

function createPublisher({ state, settings }: FeatureContext, link: ServiceLink, service: ServicePaths) {
  /** Why the configured kill switch is not in force, until the configuration changes. */
  let unmet: Message[] = [];

  /** @param report null if the state is unknown @param why the reason */
  function publish(report: Report | null, why: Message[] = []): KillSwitch {
    const installed = link.isInstalled();
    if (report?.enabled) unmet = []; // another client turned it on
    const facts = report ?? { ...UNKNOWN, enabled: state.snapshot().killSwitch.enabled };
    const value: KillSwitch = {
      ...facts,
      enabled: facts.enabled || (unmet.length > 0 && settings.config.warp.killSwitch),
      // while it is off, the value that turning it on would use
      allowLan: facts.enabled ? facts.allowLan : settings.config.warp.allowLan,
      ...(why.length ? explained(why) : facts.detail === null && unmet.length ? explained(unmet) : {}),
      installed,
      ...(installed ? { command: null } : { command: absent(service).command }),
    };
    state.set('killSwitch', value);
    setPart(state, 'kill-switch', changesOf(value));
    return value;
  }

  /** Publishes the state that the service last wrote. */
  function publishFile(): KillSwitch {
    if (!link.isInstalled()) return publishAbsent();
    const read = link.published();
    return 'unreadable' in read ? publish(null, [read.unreadable]) : publish(read);
  }

  function publishAbsent(): KillSwitch {
    const { killSwitch } = settings.config.warp;
    const why = message('The root service is not installed, so nothing is blocked.');
    const { command: _, ...reason } = absent(service);
    return publish({
      ...UNKNOWN,
      enabled: killSwitch,
      ...explained(killSwitch ? [why] : []),
      ...(reason.detail ? reason : {}),
    });
  }

  return {
    publish,
    publishFile,
    publishAbsent,
    setUnmet(why: Message[]): void {
      unmet = why;
    },
  };
}

/** Returns the unconfirmed change in the form that clients show. */
function changesOf({ enabled, allowLan, unconfirmed }: KillSwitch): Change[] {
  if (!unconfirmed) return [];
  const { setAt, confirmBy, previous } = unconfirmed;
  const change = { subject: 'killSwitch' as const, value: wordOf({ enabled, allowLan }), previous: wordOf(previous) };
  return [{ ...change, setAt, confirmBy, endsAt: null, endingSoon: false, problem: null }];
}

function wordOf({ enabled, allowLan }: { enabled: boolean; allowLan: boolean }): string {
  if (!enabled) return 'off';
  return allowLan ? 'on-lan' : 'on';
}

const LEFT_OUT =
  'Kill switch: warp.endpoints needs an administrator and is left out. Turn the kill switch on again to be asked.';

/** Loads the parser of addresses, which an idle daemon does without. */
const load = () => import('../rules/endpoints.ts');

function createEnabler({ state, settings, say }: FeatureContext, link: ServiceLink) {
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

  /** Sets the endpoints alone: turning the switch on again would confirm a change that the user has yet to confirm. */
  function setEndpoints(next: readonly Endpoint[]): Promise<Report> {
    given = JSON.stringify(next);
    return link.ask({ method: 'SetEndpoints', endpoints: next }, false);
  }

  return {
    enable,
    /** Loads the code for later calls while this version's files exist: a package may replace them. */
    async prepare(): Promise<void> {
      await load().catch(() => {}); // a later use reports the failure
    },
    /** Lets the tunnel's present endpoints through; null if the rules already do so, or if nothing is blocked. */
    async followTunnel(): Promise<Report | null> {
      const { enabled, active, allowLan, unconfirmed } = state.snapshot().killSwitch;
      if (!enabled || active !== true) return null;
      const { endpoints: next, beyondShipped } = await endpoints();
      if ((!beyondShipped && given === '') || JSON.stringify(next) === given) return null;
      return unconfirmed ? setEndpoints(next) : enable(allowLan, false);
    },
  };
}

function isDenied(error: unknown): boolean {
  return error instanceof Problem && error.code === 'killswitch-denied';
}
