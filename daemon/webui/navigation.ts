// Keeps the user's place in the part of the address after #, so that a page can be bookmarked and gone back to.
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { PageName } from '../view/forms/form.ts';
import { SHOWN_PAGES, type ShownPage } from './pages/shown-pages.ts';

/** The page in the address, as it changes; the first one for an address that names none. */
export function followAddress(): ReadonlySignal<ShownPage> {
  const hash = signal(location.hash);
  addEventListener('hashchange', () => {
    hash.value = location.hash;
  });
  return computed(() => {
    const name = /^#\/([a-z]+)$/.exec(hash.value)?.[1];
    return SHOWN_PAGES.find(page => page === name) ?? 'connection';
  });
}

export function addressOfPage(page: PageName): string {
  return `#/${page}`;
}

export function goTo(page: PageName): void {
  location.hash = addressOfPage(page);
}
