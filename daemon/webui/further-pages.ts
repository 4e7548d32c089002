// Loads the script of the pages other than the first when one of them is opened.
import { signal } from '@preact/signals';
import type { App } from './client/app.ts';

type FurtherPages = typeof import('./pages/index.tsx');

/** Null until they are loaded. */
export const furtherPages = signal<FurtherPages | null>(null);
let loading: Promise<FurtherPages> | null = null;

/** Loads the script once. @throws Error when the daemon is away, or was updated and has other files now */
export function loadScript(): Promise<FurtherPages> {
  loading ??= import('./pages/index.tsx');
  return loading;
}

/** Loads the script; `furtherPages` has the pages then. @throws as `loadScript` */
export async function loadFurtherPages(): Promise<void> {
  furtherPages.value = await loadScript();
}

/** Loads them, or loads the whole page again when they are gone, as soon as a daemon answers: nothing is open in them yet. */
export async function openFurtherPages(app: App): Promise<void> {
  try {
    await loadFurtherPages();
  } catch {
    const reload = () => app.host.model.state().offline === null && location.reload();
    if (!reload()) app.host.model.subscribe(reload);
  }
}
