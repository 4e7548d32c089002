// Answers the requests for the organization's certificate, and keeps the lists that tools are pointed to.
import type { FeatureContext } from '../controls.ts';
import { type Feature, lazy } from '../feature.ts';
import { keepTrustLists } from './keep-lists.ts';

export function openTrust(context: FeatureContext): Feature<'trust'> {
  const lists = keepTrustLists(context);
  const trust = lazy(async () => (await import('./trust-service.ts')).createTrustService(context, lists.refresh));
  return {
    handlers: {
      'POST /api/trust': async ({ body }) => (await trust()).report(body),
      'POST /api/trust/apply': async ({ body }) => (await trust()).apply(body),
      'POST /api/trust/undo': async ({ body }) => (await trust()).undo(body),
    },
    start: lists.start,
    async stop() {
      await Promise.all([lists.stop(), trust.loaded().then(loaded => loaded?.stop())]);
    },
  };
}
