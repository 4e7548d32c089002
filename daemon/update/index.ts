// Answers the API requests about updates, and loads the checks for updates some time after the start.
import type { FeatureContext } from '../controls.ts';
import { begin, type Feature, lazy } from '../feature.ts';
import { INSTALL_FORMAT } from '../system/installation.ts';

/** Delay before loading. The first check is even later, and only a user installation may have an update to complete. */
const LOADED_AFTER_MS = 90_000;

export function openUpdates(context: FeatureContext): Feature<'update'> {
  const updates = lazy(async () => (await import('./update.ts')).createUpdates(context));
  let later: NodeJS.Timeout | undefined;
  return {
    handlers: {
      'GET /api/update/check': async ({ query }) => (await updates()).check(query?.fresh === '1'),
      'POST /api/update/apply': async () => (await updates()).apply(),
      'POST /api/update/rollback': async () => (await updates()).rollback(),
    },
    start() {
      const waitMs = INSTALL_FORMAT === 'user' ? 0 : LOADED_AFTER_MS;
      later = setTimeout(() => begin('updates', updates, context.say), waitMs).unref();
    },
    async stop() {
      clearTimeout(later);
      await (await updates.loaded())?.stop();
    },
  };
}
