// Translation as an argument, so that the presentation can be tested without GJS and shared with the browser.

import type { ConfigResponse } from '../api/schema.ts';

export interface Translator {
  _(text: string): string;
  ngettext(one: string, many: string, n: number): string;
  /** BCP 47 tag of the language, for numbers and dates; undefined for the environment's own. */
  locale?: string;
}

/** Marks a text that the daemon sends in English and a client translates, so that the catalogs have it. */
export const N_ = (text: string): string => text;

/** The texts as they are written, for the command line and the API, which speak English. */
export const english: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en', // otherwise the environment's digits and decimal comma would stand in English sentences
};

/** The tag in `ui.locale` where someone has set it; its default leaves the language to the desktop or the browser. */
export function chosenLanguage(config: ConfigResponse | null): string | null {
  return config && (config.sources['ui.locale'] ?? 'default') !== 'default' ? config.config.ui.locale : null;
}

/** Fills `%s` and `%d` in order, and `%2$s` with the second value; a translation may leave one out. */
export function fill(text: string, ...values: (string | number)[]): string {
  let next = 0;
  return text.replace(/%(?:(\d)\$)?[sd]/g, (place, nth?: string) =>
    String(values[nth ? Number(nth) - 1 : next++] ?? place),
  );
}
