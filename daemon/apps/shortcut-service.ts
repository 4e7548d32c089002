// Adds, removes and renews shortcuts of apps for the API.
import { existsSync } from 'node:fs';
import type { ShortcutRequest, ShortcutResponse, ShortcutWay } from '../api/schema.ts';
import { Problem } from '../problem.ts';
import { type AppList, readEntry } from './app-list.ts';
import { listShortcuts, removeShortcut, shortcutPath, writeShortcut } from './shortcuts.ts';

interface ShortcutOptions {
  apps: AppList;
  /** `$XDG_DATA_HOME`, the parent of the shortcuts; null for no place. */
  dataHome: string | null;
  /** Absolute path of `culvert`, which shortcuts start. */
  launcher: string;
  /** Reports a failure of `renew`. */
  say(line: string): void;
}

export interface ShortcutService {
  /** @throws Problem app-not-found, app-not-launchable, config-not-writable */
  set(request: ShortcutRequest): Promise<ShortcutResponse>;
  /** Brings shortcuts up to date with their originals, and removes those of removed apps. Never rejects. */
  renew(): Promise<void>;
  /** Resolves when no renewal runs. */
  settled(): Promise<void>;
}

export function createShortcutService({ apps, dataHome, launcher, say }: ShortcutOptions): ShortcutService {
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
    // without a shortcut, an unknown app is refused, and a known one is not
    if (own.length === 0 && !(await apps.read()).has(appId)) await apps.find(appId);
    for (const { path } of own) removeShortcut(path);
  }

  async function renewAll(home: string): Promise<void> {
    const entries = await apps.read();
    for (const { id, way, path, original } of listShortcuts(home)) {
      const now = entries.get(id);
      const entry = now?.value.kind === 'shown' ? readEntry(now.path) : null;
      if (now && entry) writeShortcut(home, { id, way, path: now.path, entry }, launcher);
      // not for an app that this session only doesn't show, or whose directory it doesn't know
      else if (!now && !existsSync(original)) removeShortcut(path);
    }
  }

  function renew(): Promise<void> {
    if (!dataHome) return Promise.resolve();
    renewing ??= renewAll(dataHome)
      .catch((error: Error) => say(`Shortcuts of apps could not be renewed: ${error.message}`))
      .finally(() => {
        renewing = undefined;
      });
    return renewing;
  }

  return { set, renew, settled: async () => renewing };
}
