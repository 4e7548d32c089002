// Gettext bound to this prefix's catalogs, in the form that the pure files take.

import GLib from 'gi://GLib?version=2.0';
import Gettext from 'gettext';
import type { ConfigResponse } from '../daemon/api/schema.ts';
import { chosenLanguage, type Translator } from '../daemon/view/translator.ts';
import { localedir } from './install-paths.ts';

const DOMAIN = 'culvert';
const desktopLanguage = GLib.getenv('LANGUAGE');
Gettext.bindtextdomain(DOMAIN, localedir);
Gettext.textdomain(DOMAIN);

export const _ = Gettext.gettext;
export const tr: Translator = { _, ngettext: Gettext.ngettext };
setLocale(null);

/**
 * Follows the configuration.
 * @returns whether the language is now another.
 */
export function followLocale(config: ConfigResponse | null): boolean {
  const chosen = chosenLanguage(config);
  const language = chosen?.replaceAll('-', '_') ?? desktopLanguage;
  if (language === GLib.getenv('LANGUAGE')) return false;
  if (language === null) GLib.unsetenv('LANGUAGE');
  else GLib.setenv('LANGUAGE', language, true);
  // glibc looks at the variable again only after this (gettext manual, 11.2.4)
  Gettext.textdomain(DOMAIN);
  setLocale(chosen);
  return true;
}

/** Numbers and dates take the language of the texts; where those stay English, the environment's. */
function setLocale(chosen: string | null): void {
  // the translation of '' is the catalog's header (gettext manual, 11.2.3)
  const language = /^Language: (\w+)$/m.exec(Gettext.gettext(''))?.[1];
  // `de` is of Austria where the desktop says `de_AT`
  const own = GLib.get_language_names().find(name => /^\w+$/.test(name) && name.startsWith(`${language}_`));
  const tag = (chosen ?? own ?? language)?.replaceAll('_', '-');
  // Arabic of no country has Latin digits since CLDR 42, which GJS 1.74 does not have yet
  if (tag && isTag(tag)) tr.locale = tag === 'ar' ? 'ar-u-nu-latn' : tag;
  else delete tr.locale;
}

/** Whether this is formed as BCP 47 requires: formatting throws otherwise. */
function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
