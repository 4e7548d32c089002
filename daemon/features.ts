// What no first request needs: kill switch, apps and updates. Each is loaded when it is first asked for, or has to begin.
import { INSTALL_FORMAT } from './about.ts';
import type {
  App,
  KillSwitch,
  KillSwitchRequest,
  LaunchRequest,
  LaunchResponse,
  ShortcutRequest,
  ShortcutResponse,
  UpdateCheck,
  UpdateResponse,
} from './api/schema.ts';
import { createApps } from './apps/apps.ts';
import type { Settings } from './config.ts';
import type { Paths } from './paths.ts';
import type { State } from './state.ts';
import type { Tunnel } from './warp/tunnel.ts';

/** What the features stand on. */
export interface Ground {
  env: NodeJS.ProcessEnv;
  paths: Paths;
  state: State;
  settings: Settings;
  tunnel: Tunnel;
  /** One line for whoever started the daemon, on stderr. */
  say(line: string): void;
  /** Ends the daemon after the replies under way, and has it started again from where it is installed by then. */
  restart(): void;
}

export interface KillSwitchControl {
  /** Follows the root service from now on: what it tells goes into the state. Applies `warp.killSwitch`. */
  start(): void;
  /** Stops following. The rules stay as they are. */
  stop(): Promise<void>;
  /** The state measured now. Never rejects: what can't be known is null, with the reason in `detail`. */
  read(): Promise<KillSwitch>;
  /** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
  set(request: KillSwitchRequest): Promise<KillSwitch>;
  /** @param seconds 0 ends a pause. @throws Problem as `set` */
  pause(seconds: number): Promise<KillSwitch>;
}

export interface AppsControl {
  /** Renews or removes shortcuts whose original changed. */
  start(): void;
  stop(): Promise<void>;
  list(): Promise<App[]>;
  /** @throws Problem app-not-found, app-not-launchable, app-launch-failed, proxy-not-enabled, proxy-not-answering, proxy-not-verified */
  launch(request: LaunchRequest): Promise<LaunchResponse>;
  /** @throws Problem app-not-found, app-not-launchable, config-not-writable */
  setShortcut(request: ShortcutRequest): Promise<ShortcutResponse>;
}

export interface UpdatesControl {
  /** With `updates.checkOnStartup`: checks once, later. What it finds is published as `update`. */
  start(): void;
  stop(): Promise<void>;
  /**
   * Never rejects: why no answer could be had stands in `problem`.
   * @param fresh looks now, instead of repeating what was found a few minutes ago.
   */
  check(fresh?: boolean): Promise<UpdateCheck>;
  /** @throws Problem update-refused (with `reason`), update-not-applicable, update-failed, busy */
  apply(): Promise<UpdateResponse>;
  /** @throws Problem as `apply` */
  rollback(): Promise<UpdateResponse>;
}

export interface Features {
  killSwitch(): Promise<KillSwitchControl>;
  apps(): Promise<AppsControl>;
  updates(): Promise<UpdatesControl>;
  /** Starts what runs by itself. */
  start(): void;
  stop(): Promise<void>;
}

/** The check at start comes later still; before it, only a user's installation may have something to complete. */
const UPDATES_AFTER_MS = 90_000;

export function createFeatures(ground: Ground): Features {
  const killSwitch = once(async () => (await import('./killswitch/client.ts')).createKillSwitch(ground));
  const apps = createApps(ground);
  const updates = once(async () => (await import('./update/update.ts')).createUpdates(ground));
  let later: NodeJS.Timeout | undefined;
  // a package that replaced the program's files meanwhile is no reason for the daemon to end
  const begin = (name: string, load: () => Promise<{ start(): void }>) =>
    void load()
      .then(loaded => loaded.start())
      .catch((error: Error) =>
        ground.say(`The part for the ${name} could not be loaded: ${error.message}. Restart Culvert.`),
      );
  return {
    killSwitch: killSwitch.get,
    apps: async () => apps,
    updates: updates.get,
    start() {
      begin('kill switch', killSwitch.get);
      apps.start();
      later = setTimeout(() => begin('updates', updates.get), INSTALL_FORMAT === 'user' ? 0 : UPDATES_AFTER_MS);
      later.unref();
    },
    async stop() {
      clearTimeout(later);
      await Promise.all([(await killSwitch.loaded())?.stop(), apps.stop(), (await updates.loaded())?.stop()]);
    },
  };
}

function once<T>(load: () => Promise<T>) {
  let loading: Promise<T> | undefined;
  return {
    get: () => (loading ??= load()),
    loaded: () => Promise.resolve(loading).catch(() => undefined),
  };
}
