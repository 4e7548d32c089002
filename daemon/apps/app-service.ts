// Serves the apps of this desktop: lists them, starts them through the local proxy, and gives them shortcuts.
import type { LaunchRequest, LaunchResponse } from '../api/schema.ts';
import type { AppsControl, FeatureContext } from '../controls.ts';
import { createAppList, type FoundApps } from './app-list.ts';
import { openProxy, startApp, verifyTunnel } from './launch/start-app.ts';
import { createShortcutService } from './shortcut-service.ts';

export interface Desktop extends Omit<AppsControl, 'start'> {
  /** Brings shortcuts up to date with their originals. Never rejects. */
  renew(): Promise<void>;
}

/**
 * @param dataHome `$XDG_DATA_HOME`, the parent of the shortcuts; null for no place
 * @param launcher absolute path of `culvert`, which shortcuts start
 */
export function createDesktop(context: FeatureContext, dataHome: string | null, launcher: string): Desktop {
  const apps = createAppList(context, dataHome);
  const shortcuts = createShortcutService({ apps, dataHome, launcher, say: context.say });
  let listed: FoundApps | null = null;

  async function launch({ appId, shortcut, verify }: LaunchRequest): Promise<LaunchResponse> {
    const app = await apps.find(appId);
    const proxy = await openProxy(context);
    if (verify) await verifyTunnel(proxy.port, context);
    const pid = await startApp(app, proxy, context);
    const { host, port } = proxy;
    const shortcutPath = shortcut
      ? (await shortcuts.set({ appId, present: true })).shortcut
      : (apps.shortcuts(await apps.read()).get(appId) ?? null);
    return { ok: true, appId, pid, proxy: { host, port }, shortcut: shortcutPath };
  }

  return {
    async stop() {
      apps.close();
      await shortcuts.settled();
    },
    async list() {
      const entries = await apps.read();
      if (entries !== listed && apps.shortcuts(entries).size > 0) void shortcuts.renew();
      listed = entries;
      return apps.list(entries);
    },
    launch,
    setShortcut: shortcuts.set,
    renew: shortcuts.renew,
  };
}
