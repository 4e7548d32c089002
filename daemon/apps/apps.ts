// Lazy facade: loads the apps on first use, or at start when there are shortcuts that may need renewing.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AppsControl, FeatureContext } from '../controls.ts';
import { programs } from '../system/install-paths.ts';
import { userData, wayOfShortcut } from './data-home.ts';

/** @param launcher absolute path of `culvert`, which shortcuts start */
export function createApps(context: FeatureContext, launcher = programs.culvert): AppsControl {
  const dataHome = userData(context.env);
  let desktop: ReturnType<typeof open> | undefined;
  const open = async () => (await import('./app-service.ts')).createDesktop(context, dataHome, launcher);
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
    place: async (request, way) => (await load()).place(request, way),
    setShortcut: async request => (await load()).setShortcut(request),
  };

  function hasShortcuts(): boolean {
    try {
      return (
        dataHome !== null && readdirSync(join(dataHome, 'applications')).some(name => wayOfShortcut(name) !== null)
      );
    } catch {
      return false; // no such directory
    }
  }
}
