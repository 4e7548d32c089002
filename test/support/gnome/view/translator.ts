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
