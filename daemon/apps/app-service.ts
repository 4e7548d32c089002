// Serves the apps of this desktop: lists them, starts them through the local proxy, and gives them shortcuts.
import {
  type App,
  type BeforeProxy,
  type LaunchRequest,
  type LaunchResponse,
  type PlacedWay,
  type PlaceRequest,
  type PlaceResponse,
  ShortcutWay,
} from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../system/errno.ts';
import { createAppList, type FoundApps } from './app-list.ts';
import { restore } from './launch/restore.ts';
import { openProxy, startApp, verifyTunnel } from './launch/start-app.ts';
import { createShortcutService } from './shortcut-service.ts';

/**
 * @param dataHome `$XDG_DATA_HOME`, the parent of the shortcuts; null for no place
 * @param launcher absolute path of `culvert`, which shortcuts start
 */
export function createDesktop(context: FeatureContext, dataHome: string | null, launcher: string) {
  const apps = createAppList(context, dataHome);
  const shortcuts = createShortcutService({ apps, dataHome, launcher, say: context.say });
  let listed: FoundApps | null = null;
  /** Number of starts: an app that was started since may use the proxy. */
  let starts = 0;

  async function start({ appId, verify, restore: before }: LaunchRequest) {
    const app = await apps.findForProxy(appId);
    const proxy = await openProxy(context);
    if (verify) await verifyTunnel(proxy.port, context);
    const { pid, failure } = await startApp(app, { proxy, watched: before !== undefined }, context);
    starts += 1;
    const own = starts;
    if (before)
      void failure.then(async why => {
        if (why !== null && own === starts) await restoreAfter(`${app.app.name} did not start. ${why}`, before);
      });
    return { pid, proxy };
  }

  /** Never rejects. */
  async function restoreAfter(failure: string, before: BeforeProxy): Promise<void> {
    try {
      if (await restore(before, context)) context.say(`${failure} The mode is ${before.mode} again.`);
    } catch (error) {
      context.say(`${failure} The mode ${before.mode} could not be restored: ${reason(error)}`);
    }
  }

  /**
   * @throws Problem app-not-found, app-not-launchable, app-launch-failed, proxy-not-enabled, proxy-not-answering,
   * proxy-not-verified
   */
  async function launch(request: LaunchRequest): Promise<LaunchResponse> {
    const { appId, shortcut, restore: before } = request;
    const { pid, proxy } = await start(request).catch(async error => {
      if (before) await restoreAfter(reason(error), before);
      throw error;
    });
    const { host, port } = proxy;
    const shortcutPath = shortcut
      ? (await shortcuts.set({ appId, present: true })).shortcut
      : (apps.shortcuts(await apps.read(), 'proxy').get(appId) ?? null);
    return { ok: true, appId, pid, proxy: { host, port }, shortcut: shortcutPath };
  }

  /**
   * Starts an app only through the tunnel, or outside it.
   * @throws Problem app-not-found, app-launch-failed, killswitch-not-installed, killswitch-denied, killswitch-failed
   */
  async function place({ appId }: PlaceRequest, way: PlacedWay): Promise<PlaceResponse> {
    const app = await apps.find(appId);
    const { placeApp } = await import('./launch/place-app.ts');
    return { ok: true, appId, ...(await placeApp(app, { way, launcher }, context)) };
  }

  return {
    async stop(): Promise<void> {
      apps.close();
      await shortcuts.settled();
    },
    async list(): Promise<App[]> {
      const entries = await apps.read();
      const hasShortcuts = ShortcutWay.options.some(way => apps.shortcuts(entries, way).size > 0);
      if (entries !== listed && hasShortcuts) void shortcuts.renew();
      listed = entries;
      return apps.list(entries);
    },
    launch,
    place,
    /** @throws Problem app-not-found, app-not-launchable, config-not-writable */
    setShortcut: shortcuts.set,
    /** Brings shortcuts up to date with their originals. Never rejects. */
    renew: shortcuts.renew,
  };
}
