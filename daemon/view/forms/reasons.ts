// Says why controls can't be used now, for all pages.
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';

export interface Reason {
  text: string;
  /** It lasts a moment: a change is under way. */
  passing: boolean;
}

/** The reason that holds on every page; null if no such reason exists, or the banner about the lost daemon has it. */
export function generalReason({ client, tunnel, banners }: View, tr: Translator): Reason | null {
  const { offline, snapshot, pending, killSwitchPending } = client;
  if (banners.offline) return null;
  if (offline || !snapshot) return { text: tunnel.sentence, passing: false };
  if (pending || killSwitchPending) return { text: underWay(tr), passing: true };
  return tunnel.settable ? null : { text: tunnel.sentence, passing: false };
}

export function underWay({ _ }: Translator): string {
  return _('A change is under way.');
}
