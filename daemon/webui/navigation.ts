// Keeps the user's place in the fragment of the address, so that bookmarks and the browser's history work.
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { PAGE_NAMES, type PageName, placeOf } from '../view/page-list.ts';

/** Replaces a former page's address with the address of its content's present page. */
function replaceFormerAddress(): void {
  const name = /^#\/([a-z]+)$/.exec(location.hash)?.[1];
  const place = name === undefined ? null : placeOf(name);
  if (place?.row) history.replaceState(history.state, '', addressOfPage(place.page, place.row));
}

/** Returns a signal of the page in the address; the connection page if the address names no known page. */
export function followAddress(): ReadonlySignal<PageName> {
  replaceFormerAddress();
  const hash = signal(location.hash);
  addEventListener('hashchange', () => {
    replaceFormerAddress();
    hash.value = location.hash;
  });
  return computed(() => {
    const name = /^#\/([a-z]+)(?:\/|$)/.exec(hash.value)?.[1];
    return PAGE_NAMES.find(page => page === name) ?? 'connection';
  });
}

/** @param row ID of the row to reveal on the page */
export function addressOfPage(page: PageName, row?: string): string {
  return row === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(row)}`;
}

/** Duration of a revealed row's highlight, in ms. */
const REVEALED_MS = 2000;

/** Returns the ID of the row in the address, or an empty string. */
export function rowInAddress(): string {
  const [, id = ''] = /^#\/[a-z]+\/(.+)$/.exec(location.hash) ?? [];
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

/**
 * Scrolls to the row in the address, highlights it briefly and focuses it, unless the user is typing a search.
 * @returns false if there is no such row
 */
export function revealRow(): boolean {
  const [, id] = /^#\/[a-z]+\/(.+)$/.exec(location.hash) ?? [];
  if (id === undefined || document.activeElement?.closest('search')) return false;
  const row =
    [...document.querySelectorAll<HTMLElement>('main [data-row]')].find(each => each.dataset.row === id) ??
    [...document.querySelectorAll<HTMLElement>('main [data-rows]')].flatMap(card => {
      const place = (card.dataset.rows ?? '').split(' ').indexOf(id);
      const child = card.children[place];
      return child instanceof HTMLElement ? [child] : [];
    })[0];
  if (!row) return false;
  if (row instanceof HTMLDetailsElement) row.open = true;
  const controls = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), summary';
  const control = row.matches(controls) ? row : (row.querySelector<HTMLElement>(controls) ?? row);
  if (control === row && !row.matches(controls)) row.tabIndex = -1; // the row shows a fact, without a control
  row.scrollIntoView({ block: 'center' });
  control.focus({ preventScroll: true });
  row.dataset.revealed = '';
  setTimeout(() => delete row.dataset.revealed, REVEALED_MS);
  return true;
}

export function goTo(page: PageName): void {
  location.hash = addressOfPage(page);
}
