// Answers the API requests about accounts of command-line tools.
import type { FeatureContext } from '../controls.ts';
import { begin, type Feature, lazy } from '../feature.ts';
import type { Options } from './tool-accounts.ts';

/** The interface to accounts of command-line tools for the daemon's other parts. */
export interface ToolAccountsFeature extends Required<Feature<'accounts'>> {
  /** Publishes whether clients offer tool accounts, unless it did so moments ago. */
  offer(): void;
  /** Publishes the stored accounts, and also later changes until the returned function is called. */
  follow(): Promise<() => void>;
}

export function openToolAccounts(context: FeatureContext, options?: Options): ToolAccountsFeature {
  const accounts = lazy(async () => (await import('./tool-accounts.ts')).createToolAccounts(context, options));
  const offer = lazy(async () => (await import('./offer.ts')).createToolOffer(context));
  return {
    handlers: {
      'GET /api/accounts': async () => (await accounts()).read(),
      'POST /api/accounts': async ({ body }) => (await accounts()).change(body),
    },
    offer: () => void offer.loaded().then(loaded => loaded?.refresh()),
    follow: async () => (await accounts()).follow(),
    start: () => begin('tool accounts', offer, context.say),
    stop: async () => (await accounts.loaded())?.stop(),
  };
}
