// Lists this desktop's apps, starts them through the proxy, inside or outside the tunnel, and manages their shortcuts.
import { existsSync } from 'node:fs';
import { type ActionName, actionRequest } from '../api/actions.ts';
import {
  type App,
  type BeforeProxy,
  type LaunchRequest,
  type LaunchResponse,
  type PlacedWay,
  type PlaceRequest,
  type PlaceResponse,
  type ShortcutRequest,
  type ShortcutResponse,
  ShortcutWay,
} from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { type AppList, createAppList, type FoundApps, readEntry } from './catalog.ts';
import { listShortcuts, removeShortcut, shortcutPath, writeShortcut } from './shortcuts.ts';

/**
 * Creates the service of the apps: it lists and starts them, and manages their shortcuts.
 * @param dataHome `$XDG_DATA_HOME`, the parent of the shortcuts; null if unknown
 * @param launcher absolute path of `culvert`; shortcuts start it
 */
export function createAppService(context: FeatureContext, dataHome: string | null, launcher: string) {
  const apps = createAppList(context, dataHome);
  const shortcuts = createShortcutService({ apps, dataHome, launcher, say: context.say });
  let listed: FoundApps | null = null;
  /** Number of starts: an app started later may use the proxy. */
  let starts = 0;

  async function start({ appId, verify, restore: before }: LaunchRequest) {
    const app = await apps.findForProxy(appId);
    const { openProxy, startApp, verifyTunnel } = await import('./start-proxied.ts');
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

  /** Restores the earlier mode after a failure. Never rejects. */
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
   * Starts an app that uses only the tunnel, or bypasses it.
   * @throws Problem app-not-found, app-launch-failed, killswitch-not-installed, killswitch-denied, killswitch-failed
   */
  async function place({ appId }: PlaceRequest, way: PlacedWay): Promise<PlaceResponse> {
    const app = await apps.find(appId);
    const { placeApp } = await import('./start-placed.ts');
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
    /** Updates shortcuts from their originals. Never rejects. */
    renew: shortcuts.renew,
  };
}

interface ShortcutOptions {
  apps: AppList;
  /** `$XDG_DATA_HOME`, the parent of the shortcuts; null if unknown. */
  dataHome: string | null;
  /** Absolute path of `culvert`; shortcuts start it. */
  launcher: string;
  /** Reports a failure of `renew`. */
  say(line: string): void;
}

interface ShortcutService {
  /** @throws Problem app-not-found, app-not-launchable, config-not-writable */
  set(request: ShortcutRequest): Promise<ShortcutResponse>;
  /** Updates shortcuts from their originals, and removes shortcuts of removed apps. Never rejects. */
  renew(): Promise<void>;
  /** Resolves once no renewal is running. */
  settled(): Promise<void>;
}

function createShortcutService({ apps, dataHome, launcher, say }: ShortcutOptions): ShortcutService {
  let renewing: Promise<void> | undefined;

  async function set({ appId, present, way = 'proxy' }: ShortcutRequest): Promise<ShortcutResponse> {
    if (!dataHome)
      throw new Problem(
        'config-not-writable',
        'Neither XDG_DATA_HOME nor HOME is set, so there is no place for shortcuts.',
      );
    const path = shortcutPath(dataHome, appId, way);
    try {
      await (present ? add(dataHome, appId, way) : remove(dataHome, appId, way));
    } catch (cause) {
      if (cause instanceof Problem) throw cause;
      throw new Problem(
        'config-not-writable',
        `${path} could not be ${present ? 'written' : 'removed'}: ${(cause as Error).message}.`,
        { hint: 'Check the free space and the permissions of the directory.' },
        cause,
      );
    }
    return { ok: true, appId, shortcut: present ? path : null };
  }

  async function add(home: string, appId: string, way: ShortcutWay): Promise<void> {
    const { entry, path } = await (way === 'proxy' ? apps.findForProxy(appId) : apps.find(appId));
    writeShortcut(home, { id: appId, way, path, entry }, launcher);
  }

  async function remove(home: string, appId: string, way: ShortcutWay): Promise<void> {
    const own = listShortcuts(home).filter(shortcut => shortcut.id === appId && shortcut.way === way);
    // refuses an unknown app without a shortcut
    if (own.length === 0 && !(await apps.read()).has(appId)) await apps.find(appId);
    for (const { path } of own) removeShortcut(path);
  }

  async function renewAll(home: string): Promise<void> {
    const entries = await apps.read();
    for (const { id, way, path, original } of listShortcuts(home)) {
      const now = entries.get(id);
      const entry = now?.value.kind === 'shown' ? readEntry(now.path) : null;
      if (now && entry) writeShortcut(home, { id, way, path: now.path, entry }, launcher);
      // keeps shortcuts of apps that this session hides, or whose directory it doesn't know
      else if (!now && !existsSync(original)) removeShortcut(path);
    }
  }

  function renew(): Promise<void> {
    if (!dataHome) return Promise.resolve();
    renewing ??= renewAll(dataHome)
      .catch((error: Error) => say(`Shortcuts of apps could not be renewed: ${reason(error)}`))
      .finally(() => {
        renewing = undefined;
      });
    return renewing;
  }

  return { set, renew, settled: async () => renewing };
}

/**
 * Restores mode, protocol and connection, unless another mode was set since.
 * @returns true if anything was restored
 * @throws Problem of the tunnel client
 */
export async function restore(before: BeforeProxy, { tunnel, state }: FeatureContext): Promise<boolean> {
  await tunnel.refresh('stale');
  const { settings, status } = state.snapshot();
  // the failed start may have set a mode that can't be read now
  const isKnown = !tunnel.stale().some(({ part }) => part === 'settings');
  if ((isKnown && settings.Mode !== 'proxy') || before.mode === 'proxy') return false;
  const act = (action: ActionName, value?: string) => tunnel.runAction(actionRequest(action, value));
  await act('setMode', before.mode);
  if (before.protocol === 'WireGuard') await act('setProtocol', before.protocol); // proxy mode needs MASQUE
  if (!before.connected && status.state !== 'disconnected') await act('disconnect');
  return true;
}
