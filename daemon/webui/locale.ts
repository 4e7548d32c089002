// Chooses the page's language from the configuration or the browser, and loads its catalog: the texts of the first page, and those
// of the further pages once they are needed.
import type { ConfigResponse } from '../api/schema.ts';
import { isRightToLeft } from '../view/format.ts';
import { chooseLanguage, chosenLanguage, type Translator } from '../view/translator.ts';
import type { App } from './app.ts';
import { type Catalog, parseCatalog, parseFiles, translatorOf } from './catalog.ts';

/** Translator that returns the source's English texts. */
export const ENGLISH: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en',
};

/** True once the page needs the texts of its further pages. */
let isWhole = false;
/** Loads and shows the language in use. */
let show = async () => {};

/** Follows `ui.locale`: loads texts, sets the page's language and direction. Resolves after the first language. */
export function followLocale({ host: { model }, tr }: App): Promise<void> {
  let { config } = model.state();
  let language = wantedLanguage(config);
  show = async () => {
    const [wanted, whole] = [language, isWhole];
    const loaded = await loadTranslator(wanted, whole);
    if (!loaded || language !== wanted || isWhole !== whole) return;
    tr.value = loaded;
    document.documentElement.lang = wanted;
    document.documentElement.dir = isRightToLeft(loaded) ? 'rtl' : 'ltr';
  };
  model.subscribe(() => {
    const state = model.state();
    if (state.config === config) return;
    config = state.config;
    const wanted = wantedLanguage(config);
    if (wanted === language) return;
    language = wanted;
    void show();
  });
  return show();
}

/** Loads the texts of the further pages as well, once. Never rejects. */
export async function loadFurtherTexts(): Promise<void> {
  if (isWhole) return;
  isWhole = true;
  await show();
}

/** Returns the catalogs' file names by language. */
const files = () => parseFiles(document.documentElement.dataset.locales ?? '{}');

/** Returns the language from the configuration, or else from the browser's preferences. */
function wantedLanguage(config: ConfigResponse | null): string {
  const chosen = chosenLanguage(config);
  return chooseLanguage(chosen ? [chosen] : navigator.languages, Object.keys(files()));
}

/**
 * Returns a translator; null if its catalog can't be loaded. The stream reports a daemon that is gone.
 * @param whole true for the texts of the further pages as well; otherwise the first missing text loads them
 */
async function loadTranslator(language: string, whole: boolean): Promise<Translator | null> {
  const file = files()[language];
  if (!file) return ENGLISH;
  const names = whole ? [file, file.replace('.json', '-further.json')] : [file];
  try {
    const [first, further] = await Promise.all(names.map(readCatalog));
    if (!further) return translatorOf(language, first!, () => void loadFurtherTexts());
    return translatorOf(language, { ...first!, texts: { ...first!.texts, ...further.texts } });
  } catch {
    return null;
  }
}

/** @throws Error if the file can't be loaded, or is not a catalog */
async function readCatalog(name: string): Promise<Catalog> {
  const response = await fetch(`/${name}`);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return parseCatalog(await response.text());
}
