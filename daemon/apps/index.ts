// Answers requests about apps, and renews existing shortcuts at start.
import { join } from 'node:path';
import type { FeatureContext } from '../controls.ts';
import { namesIn } from '../core/files.ts';
import { begin, type Feature, lazy } from '../feature.ts';
import { programs } from '../system/installation.ts';
import { userData, wayOfShortcut } from './data-home.ts';

/** @param launcher absolute path of `culvert`; shortcuts start it */
export function openApps(context: FeatureContext, launcher = programs.culvert): Required<Feature<'apps'>> {
  const dataHome = userData(context.env);
  const desktop = lazy(async () => (await import('./service.ts')).createAppService(context, dataHome, launcher));
  return {
    handlers: {
      'GET /api/apps': async () => ({ ok: true, apps: await (await desktop()).list() }),
      'POST /api/apps/proxy-launcher': async ({ body }) => (await desktop()).launch(body),
      'POST /api/apps/tunnel-launcher': async ({ body }) => (await desktop()).place(body, 'tunnel-only'),
      'POST /api/apps/outside-launcher': async ({ body }) => (await desktop()).place(body, 'outside'),
      'POST /api/apps/shortcut': async ({ body }) => (await desktop()).setShortcut(body),
    },
    start() {
      if (!hasShortcuts()) return;
      begin('apps', async () => ({ start: (await desktop()).renew }), context.say);
    },
    stop: async () => (await desktop.loaded())?.stop(),
  };

  function hasShortcuts(): boolean {
    return dataHome !== null && namesIn(join(dataHome, 'applications')).some(name => wayOfShortcut(name) !== null);
  }
}
