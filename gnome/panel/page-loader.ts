// Creates each page of the window when it is first needed. Only the first page's code loads before the first frame: loading
// the rest takes about as long as a frame.
import GLib from 'gi://GLib?version=2.0';
import { type PageName, pageTitle } from '../../daemon/view/page-list.ts';
import { connectionPage } from '../../daemon/view/pages/connection.ts';
import { tr } from '../i18n.ts';
import type { PageWidget, WindowHost } from './host.ts';
import { FormPage } from './widgets/rows/form-page.ts';

/** Code of the further pages; null until it is loaded. */
let code: typeof import('./further-pages.ts') | null = null;
let loading: Promise<void> | null = null;
let isLoading = false;

/** Loads the code of the further pages once. @throws Error if its file is gone or damaged */
export function loadFurtherPages(): Promise<void> {
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  isLoading = true;
  try {
    code = await import('./further-pages.ts');
  } finally {
    isLoading = false;
  }
}

/** Runs the main loop until no code is loading: GJS aborts if it exits during an import. */
export function finishLoading(): void {
  while (isLoading) GLib.MainContext.default().iteration(true);
}

export interface Pages {
  title(page: PageName): string;
  /** Returns the page, and creates it if necessary; null while its code is not loaded. */
  get(page: PageName): PageWidget | null;
  /** Returns the pages that exist already. */
  made(): PageWidget[];
}

export function createPages(host: WindowHost): Pages {
  const made = new Map<PageName, PageWidget>();
  const title = (page: PageName) => pageTitle(page, tr);
  return {
    title,
    get(name) {
      const ready = made.get(name);
      if (ready) return ready;
      const page =
        name === 'connection' ? new FormPage(host, connectionPage, title(name), true) : code?.makePage(name, host);
      if (page) made.set(name, page);
      return page ?? null;
    },
    made: () => [...made.values()],
  };
}
