// English, and facts of a daemon that answers, for tests of what is shown.
import type { Snapshot } from '../../daemon/api/schema.ts';
import type { Facts } from '../../gnome/model.ts';
import type { Words } from '../../gnome/words.ts';
import { initialConfig, initialSnapshot } from './initial.ts';

export const words: Words = { _: text => text, ngettext: (one, many, n) => (n === 1 ? one : many) };

/** @param parts of the snapshot that differ. */
export function factsOf(
  parts: { [P in 'status' | 'settings' | 'tunnel' | 'killSwitch']?: Partial<Snapshot[P]> } = {},
  more: Partial<Facts> = {},
): Facts {
  const snapshot = initialSnapshot(1);
  const changed = Object.entries(parts).map(([part, change]) => [
    part,
    { ...(snapshot[part as keyof Snapshot] as object), ...change },
  ]);
  return {
    ...{ snapshot: { ...snapshot, ...Object.fromEntries(changed) }, loss: null, config: initialConfig() },
    ...{ pending: null, killSwitchPending: false, update: null },
    ...more,
  };
}
