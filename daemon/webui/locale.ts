// Chooses the page's language from the configuration or the browser, and loads its catalog.
import type { ConfigResponse } from '../api/schema.ts';
import { isRightToLeft } from '../view/format.ts';
import { chooseLanguage, chosenLanguage, type Translator } from '../view/translator.ts';
import type { App } from './app.ts';
import { parseCatalog, parseFiles, translatorOf } from './catalog.ts';

/** Translator that returns the source's English texts. */
export const ENGLISH: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en',
};

/** Follows `ui.locale`: loads texts, sets the page's language and direction. Resolves after the first language. */
export function followLocale({ host: { model }, tr }: App): Promise<void> {
  let { config } = model.state();
  let language = 'en';
  const show = async (wanted: string) => {
    language = wanted;
    const loaded = await loadTranslator(wanted);
    if (!loaded || language !== wanted) return;
    tr.value = loaded;
    document.documentElement.lang = wanted;
    document.documentElement.dir = isRightToLeft(loaded) ? 'rtl' : 'ltr';
  };
  model.subscribe(() => {
    const state = model.state();
    if (state.config === config) return;
    config = state.config;
    const wanted = wantedLanguage(config);
    if (wanted !== language) void show(wanted);
  });
  return show(wantedLanguage(config));
}

/** Returns the catalogs' file names by language. */
const files = () => parseFiles(document.documentElement.dataset.locales ?? '{}');

/** Returns the language from the configuration, or else from the browser's preferences. */
function wantedLanguage(config: ConfigResponse | null): string {
  const chosen = chosenLanguage(config);
  return chooseLanguage(chosen ? [chosen] : navigator.languages, Object.keys(files()));
}

/** Returns a translator; null if its catalog can't be loaded. The stream reports a daemon that is gone. */
async function loadTranslator(language: string): Promise<Translator | null> {
  const file = files()[language];
  if (!file) return ENGLISH;
  try {
    const response = await fetch(`/${file}`);
    return response.ok ? translatorOf(language, parseCatalog(await response.text())) : null;
  } catch {
    return null;
  }
}
