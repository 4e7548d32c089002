// The daemon's side of the kill switch: reads what the root service publishes, and asks it over the system bus.
import { type FSWatcher, watch } from 'node:fs';
import type { KillSwitch, KillSwitchRequest } from '../api/schema.ts';
import type { Ground, KillSwitchControl } from '../features.ts';
import { Problem } from '../problem.ts';
import { NO_KILL_SWITCH } from '../state.ts';
import { type Call, callService } from './calls.ts';
import { isInstalled, type Places, readPublished, places as usual } from './published.ts';
import type { Published, Report } from './report.ts';
import { wantedEndpoints } from './wish.ts';

/** @param places where the service publishes and how it is called; tests have their own */
export function createKillSwitch(ground: Ground, places: Places = usual): KillSwitchControl {
  const { state, settings, say } = ground;
  let watcher: FSWatcher | null = null;
  let unsubscribe = () => {};
  /** Why the wish of the configuration is not in force, as long as nobody has decided otherwise. */
  let unmet: string | null = null;
  /** Endpoints that the service was last given by this daemon. */
  let given = '';

  const emulated = () => state.snapshot().tunnelCli.emulated;

  function publish(report: Report | null, why: string | null = null): KillSwitch {
    const installed = isInstalled(places);
    if (report?.enabled) unmet = null; // somebody else did it
    const known = report ?? { ...NOTHING, enabled: state.snapshot().killSwitch.enabled };
    const value: KillSwitch = {
      enabled: known.enabled || (unmet !== null && settings.config.warp.killSwitch),
      // while it is off, what the next turning on would ask for
      allowLan: known.enabled ? known.allowLan : settings.config.warp.allowLan,
      active: known.active,
      protection: known.protection,
      bootGuard: known.bootGuard,
      backend: known.backend,
      detail: why ?? known.detail ?? unmet,
      installed,
      command: installed ? null : places.install,
      pausedUntil: known.pausedUntil,
    };
    state.set('killSwitch', value);
    return value;
  }

  /** What was published, or why that says nothing about now. */
  function fromFile(): KillSwitch {
    if (!isInstalled(places)) return absent();
    const read = readPublished(places);
    return typeof read === 'string' ? publish(null, read) : publish(strip(read));
  }

  function absent(): KillSwitch {
    const { killSwitch } = settings.config.warp;
    const detail = killSwitch ? 'The part that blocks is not installed, so nothing is blocked.' : null;
    return publish({ ...NOTHING, enabled: killSwitch, detail });
  }

  function follow(): void {
    if (watcher) return;
    try {
      watcher = watch(places.run, { persistent: false }, () => fromFile());
      watcher.on('error', () => {
        watcher?.close();
        watcher = null;
      });
    } catch {
      // the directory comes with the service; it is looked for again with every call
    }
  }

  /** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
  async function ask(call: Call, interactive: boolean): Promise<Report> {
    if (!isInstalled(places))
      throw new Problem('killswitch-not-installed', 'The kill switch is not installed on this machine.', {
        hint: `Install it with: ${places.install}`,
      });
    const report = await callService(call, interactive, places);
    follow();
    return report;
  }

  /** @throws Problem as `ask` */
  async function enable(allowLan: boolean, interactive: boolean): Promise<Report> {
    const { endpoints, refused } = wantedEndpoints(state.snapshot().tunnel.endpoints, settings.config.warp.endpoints);
    for (const why of refused) say(`Kill switch: ${why}`);
    const report = await ask({ method: 'Enable', allowLan, endpoints }, interactive);
    given = JSON.stringify(endpoints);
    return report;
  }

  /** The tunnel has moved to where the service lets nobody through. */
  async function followTunnel(): Promise<void> {
    const { enabled, active, allowLan } = state.snapshot().killSwitch;
    if (!enabled || active !== true || emulated()) return;
    const { endpoints, beyondShipped } = wantedEndpoints(
      state.snapshot().tunnel.endpoints,
      settings.config.warp.endpoints,
    );
    if ((!beyondShipped && given === '') || JSON.stringify(endpoints) === given) return;
    given = JSON.stringify(endpoints); // asked once, whatever the answer
    await enable(allowLan, false).then(publish, error => say(`Kill switch: ${error.message}`));
  }

  /** What is to hold after the next start too. A file that can't be written is no reason not to block. */
  async function remember(killSwitch: boolean, allowLan: boolean): Promise<void> {
    const wish = { warp: { killSwitch, allowLan } };
    try {
      await settings.setUser(wish);
    } catch (error) {
      say(`Kill switch: ${(error as Error).message}`);
    }
    if (settings.config.warp.killSwitch !== killSwitch) settings.setSession(wish);
  }

  async function applyConfiguration(): Promise<void> {
    const known = await read();
    if (!settings.config.warp.killSwitch || known.enabled || !known.installed || emulated()) return;
    try {
      publish(await enable(settings.config.warp.allowLan, false));
    } catch (error) {
      unmet = `It is wanted but not in force: ${(error as Error).message}`;
      say(`Kill switch: ${unmet}`);
      fromFile();
    }
  }

  async function read(): Promise<KillSwitch> {
    follow();
    if (!isInstalled(places)) return absent();
    try {
      return publish(await ask({ method: 'Status' }, false));
    } catch (error) {
      return publish(null, (error as Error).message);
    }
  }

  return {
    start() {
      follow();
      unsubscribe = state.subscribe(({ event }) => {
        if (event === 'stats') void followTunnel();
      });
      void applyConfiguration();
    },
    async stop() {
      unsubscribe();
      watcher?.close();
      watcher = null;
    },
    read,
    async set({ enabled, allowLan }: KillSwitchRequest) {
      if (enabled && emulated())
        throw new Problem(
          'killswitch-failed',
          'This is the demo: nothing is tunnelled, so everything would be cut off.',
          {
            hint: 'Start Culvert with a real warp-cli.',
          },
        );
      const isOff = !enabled && !(await ask({ method: 'Status' }, false)).enabled;
      const call = () => (enabled ? enable(allowLan, true) : ask({ method: 'Disable' }, true));
      // what is off already needs no administrator to stay so
      const report = isOff ? null : await call();
      unmet = null;
      await remember(enabled, allowLan);
      return report ? publish(report) : read();
    },
    pause: async seconds => publish(await ask({ method: 'Pause', seconds }, true)),
  };
}

const { installed: _, command: __, ...NOTHING } = NO_KILL_SWITCH;

function strip({ version: _, pid: __, startTime: ___, ...report }: Published): Report {
  return report;
}
