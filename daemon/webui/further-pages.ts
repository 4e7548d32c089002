// Loads the pages beside the first and all texts, a script and a catalog, when one of them is opened.
import { signal } from '@preact/signals';
import type { App } from './app.ts';
import { loadTranslator } from './locale.ts';

type FurtherPages = typeof import('./pages/index.tsx');

/** Null until they are loaded. */
export const furtherPages = signal<FurtherPages | null>(null);
let loading: Promise<FurtherPages> | null = null;

/** Loads the script once. @throws Error when the daemon is away, or was updated and has other files now */
export function loadScript(): Promise<FurtherPages> {
  loading ??= import('./pages/index.tsx');
  return loading;
}

/** Loads script and texts; `furtherPages` has them then. @throws as `loadScript` */
export async function loadFurtherPages({ tr }: Pick<App, 'tr'>): Promise<void> {
  const language = tr.value.locale;
  const [pages, translator] = await Promise.all([loadScript(), language ? loadTranslator(language) : null]);
  if (translator && tr.value.locale === language) tr.value = translator;
  furtherPages.value = pages;
}

/** Loads them, or loads the whole page again when they are gone, as soon as a daemon answers: nothing is open in them yet. */
export async function openFurtherPages(app: App): Promise<void> {
  try {
    await loadFurtherPages(app);
  } catch {
    const reload = () => app.model.state().offline === null && location.reload();
    if (!reload()) app.model.subscribe(reload);
  }
}
