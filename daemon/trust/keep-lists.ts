// Writes the lists that tools are pointed to again when the daemon starts, and when WARP connects or the account changes.
import { existsSync } from 'node:fs';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../system/errno.ts';
import type { Place } from './certificates.ts';

type Context = Pick<FeatureContext, 'env' | 'paths' | 'state' | 'say'>;

/** Loads nothing until a tool was changed. @param place stands for the machine, in tests */
export function keepTrustLists({ env, paths, state, say }: Context, place?: Place) {
  const ended = new AbortController();
  let unsubscribe = () => {};
  let last: Promise<void> = Promise.resolve();

  async function refresh(): Promise<void> {
    if (!existsSync(`${paths.trust}/trust.json`) || ended.signal.aborted) return;
    try {
      const { createTrust } = await import('./trust.ts');
      const { registered, managed, organization } = state.snapshot().account;
      const isMember = registered === null ? null : managed === true || Boolean(organization);
      await createTrust({ env, paths, signal: ended.signal, isMember, place }).refresh();
    } catch (error) {
      say(`The certificates for tools could not be renewed: ${reason(error)}`);
    }
  }

  return {
    start() {
      const next = () => {
        last = last.then(refresh);
      };
      unsubscribe = state.subscribe(({ event }) => {
        if (event === 'account' || event === 'status') next();
      });
      next();
    },
    async stop() {
      unsubscribe();
      ended.abort();
      await last;
    },
  };
}
