// Defines translation as an argument, which tests and the browser can pass without GJS, and chooses a language with a catalog.
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

/** English in Latin script, without `Intl.Locale`: a browser takes 5 ms to load the data behind it. */
const ENGLISH = /^en(-[a-z]{2}|-\d{3})?$/i;

/**
 * The first wanted language with a catalog: the same tag, or else one with the same readers, as zh-SG and zh-CN have,
 * and zh-TW has not.
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

/** Language and script: `pt` -> `pt-Latn`; '' for what is not formed as BCP 47 requires. */
function readers(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return '';
  }
}
