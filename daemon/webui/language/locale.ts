// Chooses the page's language, by the configuration or else by the browser, and loads its catalog.
import type { ConfigResponse } from '../../api/schema.ts';
import { chooseLanguage, chosenLanguage, type Translator } from '../../view/translator.ts';
import { parseCatalog, parseFiles, translatorOf } from './catalog.ts';

/** The texts as they are written. */
export const ENGLISH: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en',
};

/** Files of the catalogs by language. */
const files = () => parseFiles(document.documentElement.dataset.locales ?? '{}');

/** The language that the configuration asks for, or else the browser. */
export function wantedLanguage(config: ConfigResponse | null): string {
  const chosen = chosenLanguage(config);
  return chooseLanguage(chosen ? [chosen] : navigator.languages, Object.keys(files()));
}

/** A translator. Null when its catalog can't be loaded: the daemon went away, as the stream reports. */
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
