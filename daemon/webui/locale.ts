// Chooses the page's language, by the configuration or else by the browser. The daemon writes its texts for the first
// page into the HTML; the whole catalog is a separate file.
import type { ConfigResponse } from '../api/schema.ts';
import { chooseLanguage } from '../view/language.ts';
import { chosenLanguage, type Translator } from '../view/translator.ts';
import { parseCatalog, parseFiles, translatorOf } from './catalog.ts';

/** The texts as they are written. */
export const ENGLISH: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en',
};

/** Files of the catalogs by language. */
const files = () => parseFiles(document.documentElement.dataset.locales ?? '{}');

/** A translator for the first page, from what came with it. */
export function firstTranslator(): Translator {
  const catalog = document.getElementById('catalog')?.textContent;
  return catalog ? translatorOf(document.documentElement.lang, parseCatalog(catalog)) : ENGLISH;
}

/** The language that the configuration asks for, or else the browser. */
export function wantedLanguage(config: ConfigResponse | null): string {
  const chosen = chosenLanguage(config);
  return chooseLanguage(chosen ? [chosen] : navigator.languages, Object.keys(files()));
}

/** A translator for all pages. Null when its catalog can't be loaded: the daemon went away, as the stream reports. */
export async function loadTranslator(language: string): Promise<Translator | null> {
  const file = files()[language];
  if (!file) return ENGLISH;
  try {
    const response = await fetch(`/${file}`);
    return response.ok ? translatorOf(language, parseCatalog(await response.text())) : null;
  } catch {
    return null;
  }
}
