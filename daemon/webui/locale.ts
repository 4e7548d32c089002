// Chooses the page's language, by the configuration or else by the browser, and loads its catalog.
import type { ConfigResponse } from '../api/schema.ts';
import { isRightToLeft } from '../view/format.ts';
import { chooseLanguage, chosenLanguage, type Translator } from '../view/translator.ts';
import type { App } from './app.ts';
import { parseCatalog, parseFiles, translatorOf } from './catalog.ts';

/** The texts of the source. */
export const ENGLISH: Translator = {
  _: text => text,
  ngettext: (one, many, n) => (n === 1 ? one : many),
  locale: 'en',
};

/** Follows `ui.locale`: loads its texts, and marks the page with the language and its direction. Resolves with the first. */
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

/** Files of the catalogs by language. */
const files = () => parseFiles(document.documentElement.dataset.locales ?? '{}');

/** The language that the configuration asks for, or else the browser. */
function wantedLanguage(config: ConfigResponse | null): string {
  const chosen = chosenLanguage(config);
  return chooseLanguage(chosen ? [chosen] : navigator.languages, Object.keys(files()));
}

/** A translator. Null when its catalog can't be loaded: the daemon went away, as the stream reports. */
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
