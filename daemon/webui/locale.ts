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

/** True once the page needs the texts of its further pages; false again after these texts could not be loaded. */
let isWhole = false;
/** True if the newest load of the further texts failed. */
let hasFailed = false;
/** Starts a load of the language in use, and shows the texts. */
let load = async () => {};
/** The newest load. */
let newest = Promise.resolve();

/** Follows `ui.locale`: loads texts, sets the page's language and direction. Resolves after the first language. */
export function followLocale({ host: { model }, tr }: App): Promise<void> {
  let { config } = model.state();
  let language = wantedLanguage(config);
  let begun = 0;
  load = async () => {
    begun += 1;
    const [turn, wanted, whole] = [begun, language, isWhole];
    const loaded = await loadTexts(wanted, whole);
    // callers that wait for these texts need the newer ones
    if (turn < begun) return newest;
    hasFailed = whole && !loaded?.whole;
    isWhole = whole && !hasFailed;
    const isShown = hasFailed && tr.peek().locale === wanted;
    if (!loaded || isShown) return;
    tr.value = loaded.translator;
    document.documentElement.lang = wanted;
    document.documentElement.dir = isRightToLeft(loaded.translator) ? 'rtl' : 'ltr';
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

function show(): Promise<void> {
  newest = load();
  return newest;
}

/** Loads the texts of the further pages as well, unless they are loaded. Resolves once they are shown or have failed. Never rejects. */
export function loadFurtherTexts(): Promise<void> {
  if (isWhole) return newest;
  isWhole = true;
  return show();
}

/** Loads the further texts for the first missing text. After a failure, only the opening of a page loads them again. */
function loadMissed(): void {
  if (!hasFailed) void loadFurtherTexts();
}

/** Returns the catalogs' file names by language. */
const files = () => parseFiles(document.documentElement.dataset.locales ?? '{}');

/** Returns the language from the configuration, or else from the browser's preferences. */
function wantedLanguage(config: ConfigResponse | null): string {
  const chosen = chosenLanguage(config);
  return chooseLanguage(chosen ? [chosen] : navigator.languages, Object.keys(files()));
}

interface Loaded {
  translator: Translator;
  /** True if it has the texts of the further pages. */
  whole: boolean;
}

/**
 * Loads a translator. If the further texts fail, it has those of the first page alone.
 * @param whole true for the texts of the further pages as well
 * @returns null if the texts of the first page can't be loaded; the stream reports a daemon that is gone
 */
async function loadTexts(language: string, whole: boolean): Promise<Loaded | null> {
  const file = files()[language];
  if (!file) return { translator: ENGLISH, whole };
  const names = [file, ...(whole ? [file.replace('.json', '-further.json')] : [])];
  const [first, further] = await Promise.all(names.map(name => readCatalog(name).catch(() => null)));
  if (!first) return null;
  if (!further) return { translator: translatorOf(language, first, loadMissed), whole: false };
  const texts = { ...first.texts, ...further.texts };
  return { translator: translatorOf(language, { ...first, texts }), whole: true };
}

/** @throws Error if the file can't be loaded, or is not a catalog */
async function readCatalog(name: string): Promise<Catalog> {
  const response = await fetch(`/${name}`);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return parseCatalog(await response.text());
}
