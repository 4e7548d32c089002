// English, and facts of a daemon that answers, for tests of what is shown.
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { type ClientState, shownState } from '../../../../daemon/view/client/client-state.ts';
import type { Translator } from '../../../../daemon/view/translator.ts';
import { initialConfig, initialSnapshot } from '../initial.ts';

export const tr: Translator = { _: text => text, ngettext: (one, many, n) => (n === 1 ? one : many), locale: 'en' };

/** @param parts of the snapshot that differ. */
export function clientState(
  parts: { [P in Exclude<keyof Snapshot, 'changes'>]?: Partial<Snapshot[P]> } = {},
  more: Partial<ClientState> = {},
): ClientState {
  const snapshot = initialSnapshot(1);
  const changed = Object.entries(parts).map(([part, change]) => [
    part,
    { ...(snapshot[part as keyof Snapshot] as object), ...(change as object) },
  ]);
  return {
    ...shownState({ ...snapshot, ...Object.fromEntries(changed) }),
    config: initialConfig(),
    ...more,
  };
}

/** A client of a device that is not registered. */
export const unregistered = () => {
  const client = clientState({ status: { state: 'unable', blocked: 'not-registered' } });
  client.snapshot!.account.registered = false;
  return client;
};

/** A client with values in each list of options. */
export const rich = () =>
  clientState({
    status: { state: 'connected' },
    options: {
      switchLocked: true,
      trustedSsids: ['Home'],
      fallbackDomains: [
        { domain: 'corp', note: 'CLI add' },
        { domain: 'lan', note: '-> [10.0.0.1]' },
      ],
    },
  });

/** @param allowed whether the local network can be reached for a while; null if WARP does not say */
export const managed = (allowed: boolean | null, endsAt: string | null = null) => {
  const client = clientState({ options: { localNetworkAccess: allowed === null ? null : { allowed, endsAt } } });
  client.snapshot!.account.organization = 'example-team';
  return client;
};
