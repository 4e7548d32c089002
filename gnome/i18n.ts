// Binds gettext to this prefix's catalogs and follows the configured language.
import GLib from 'gi://GLib?version=2.0';
import Gettext from 'gettext';
import type { ConfigResponse } from '../daemon/api/schema.ts';
import { chosenLanguage, type Translator } from '../daemon/view/translator.ts';
import { localedir } from './install-paths.ts';

const DOMAIN = 'culvert';
const { MESSAGES } = Gettext.LocaleCategory;
const desktop = { language: GLib.getenv('LANGUAGE'), locale: Gettext.setlocale(MESSAGES, null) };
/**
 * Another name for C.UTF-8. gettext ignores LANGUAGE if the locale's name is "C" or, since glibc 2.39, begins with "C."
 * (sourceware.org bug 16621). With a slash before the name, glibc finds the same locale.
 */
const TRANSLATABLE = '/C.UTF-8';
Gettext.bindtextdomain(DOMAIN, localedir);
Gettext.textdomain(DOMAIN);

export const _ = Gettext.gettext;
export const tr: Translator = { _, ngettext: Gettext.ngettext };
let chosen: string | null = null;
setLocale(null);

/**
 * Applies the configured language.
 * @returns true if the language changed.
 */
export function followLocale(config: ConfigResponse | null): boolean {
  const language = chosenLanguage(config);
  if (language === chosen) return false;
  chosen = language;
  const names = language?.replaceAll('-', '_') ?? desktop.language;
  if (names === null) GLib.unsetenv('LANGUAGE');
  else GLib.setenv('LANGUAGE', names, true);
  // the locale is also "C" if the desktop's locale is not installed; without a chosen language, "C" stays English
  if (/^C(\.|$)/.test(desktop.locale)) Gettext.setlocale(MESSAGES, language ? TRANSLATABLE : desktop.locale);
  // glibc reads the variable again only after this (gettext manual, 11.2.4)
  Gettext.textdomain(DOMAIN);
  setLocale(language);
  return true;
}

/** Sets the locale of numbers and dates: that of the texts, or the environment's if the texts stay English. */
function setLocale(language: string | null): void {
  // the translation of '' is the catalog's header (gettext manual, 11.2.3)
  const catalog = /^Language: (\w+)$/m.exec(Gettext.gettext(''))?.[1];
  // on a desktop in de_AT, German means Austrian German
  const own = GLib.get_language_names().find(name => /^\w+$/.test(name) && name.startsWith(`${catalog}_`));
  const tag = (language ?? own ?? catalog)?.replaceAll('_', '-');
  // Arabic without a country has Latin digits since CLDR 42; GJS 1.74 has an older CLDR
  if (tag && isTag(tag)) tr.locale = tag === 'ar' ? 'ar-u-nu-latn' : tag;
  else delete tr.locale;
}

/** True if the tag has the form that BCP 47 requires: formatting throws for any other tag. */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
