// The door to the apps: what stands behind it is loaded by the first who asks, or by a shortcut that may need renewing.
import { readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { AppsControl, Ground } from '../features.ts';
import { programs } from '../place.ts';

/** What the files of shortcuts begin with, in `$XDG_DATA_HOME/applications`. */
export const SHORTCUT_PREFIX = 'org.culvert.Culvert.proxy.';

/** @param launcher absolute path of `culvert`, which shortcuts start */
export function createApps(ground: Ground, launcher = programs.culvert): AppsControl {
  const dataHome = userData(ground.env);
  let desktop: ReturnType<typeof open> | undefined;
  const open = async () => (await import('./desktop.ts')).createDesktop(ground, dataHome, launcher);
  const load = () => (desktop ??= open());
  return {
    start() {
      if (hasShortcuts()) void load().then(loaded => loaded.renew());
    },
    async stop() {
      await (await desktop)?.stop();
    },
    list: async () => (await load()).list(),
    launch: async request => (await load()).launch(request),
    setShortcut: async request => (await load()).setShortcut(request),
  };

  function hasShortcuts(): boolean {
    try {
      return (
        dataHome !== null && readdirSync(join(dataHome, 'applications')).some(name => name.startsWith(SHORTCUT_PREFIX))
      );
    } catch {
      return false; // no such directory
    }
  }
}

/** `$XDG_DATA_HOME`, or null where there is no home. */
export function userData(env: NodeJS.ProcessEnv): string | null {
  if (env.XDG_DATA_HOME && isAbsolute(env.XDG_DATA_HOME)) return env.XDG_DATA_HOME;
  return env.HOME && isAbsolute(env.HOME) ? join(env.HOME, '.local/share') : null;
}
