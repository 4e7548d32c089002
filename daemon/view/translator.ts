// Defines the translator, which callers pass as an argument so that no GJS is needed, and chooses a language with a catalog.
import type { ConfigResponse } from '../api/schema.ts';

export interface Translator {
  _(text: string): string;
  ngettext(one: string, many: string, n: number): string;
  /** BCP 47 tag of the language, for numbers and dates; undefined for the environment's own. */
  locale?: string;
}

/** Marks a text for the catalogs that the daemon sends in English and clients translate. */
export const N_ = (text: string): string => text;

/** Returns texts untranslated, for the command line and the API, which are in English. */
export const english: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en', // otherwise the environment's digits and decimal comma would stand in English sentences
};

/** Returns the tag in `ui.locale` if it is set; null if the desktop or the browser decides the language. */
export function chosenLanguage(config: ConfigResponse | null): string | null {
  return config && (config.sources['ui.locale'] ?? 'default') !== 'default' ? config.config.ui.locale : null;
}

/** Fills `%s` and `%d` in order, and `%2$s` with the second value; a translation may omit values. */
export function fill(text: string, ...values: (string | number)[]): string {
  let next = 0;
  return text.replace(/%(?:(\d)\$)?[sd]/g, (place, nth?: string) =>
    String(values[nth ? Number(nth) - 1 : next++] ?? place),
  );
}

/** Matches English in Latin script; avoids `Intl.Locale`, whose data takes a browser 5 ms to load. */
const ENGLISH = /^en(-[a-z]{2}|-\d{3})?$/i;

/**
 * Returns the first wanted language with a catalog: the same tag, or else a tag with the same language and script, such
 * as zh-SG and zh-CN, but not zh-TW.
 * @param wanted tags (BCP 47, or with `_`), the best first
 * @param available tags besides English
 */
export function chooseLanguage(wanted: readonly string[], available: readonly string[]): string {
  for (const each of wanted) {
    const tag = each.replaceAll('_', '-');
    if (available.includes(tag)) return tag;
    if (ENGLISH.test(tag)) return 'en';
    const readable = readers(tag);
    const match = available.find(other => readers(other) === readable);
    if (match) return match;
    if (readable === 'en-Latn') return 'en';
  }
  return 'en';
}

/** Returns the language and script, `pt` -> `pt-Latn`; '' for a tag that is malformed by BCP 47. */
function readers(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return '';
  }
}
