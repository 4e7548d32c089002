// Finds the text that says why a control of the page can't be used.
import { generalReason } from '../../view/forms/reasons.ts';
import { useApp } from './app.ts';

/** Ids of the texts that the shell shows: the banners, and the reason above the page. */
export const WHY = { offline: 'why-offline', here: 'why' } as const;

/** Id of the text that says why nothing like this control can be used now; undefined if nothing of the kind holds. */
export function useGeneralReason(): string | undefined {
  const { view, tr } = useApp();
  if (view.value.banners.offline) return WHY.offline;
  return generalReason(view.value, tr.value) ? WHY.here : undefined;
}

/** Ids as an attribute has them. */
export function idList(...ids: (string | undefined)[]): string | undefined {
  return ids.filter(Boolean).join(' ') || undefined;
}
