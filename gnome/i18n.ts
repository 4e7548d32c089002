// Gettext bound to this prefix's catalogues, in the form that the pure files take.

import GLib from 'gi://GLib?version=2.0';
import Gettext from 'gettext';
import type { ConfigResponse } from '../daemon/api/schema.ts';
import { localedir } from './place.ts';
import type { Words } from './words.ts';

const DOMAIN = 'culvert';
const desktopLanguage = GLib.getenv('LANGUAGE');
Gettext.bindtextdomain(DOMAIN, localedir);
Gettext.textdomain(DOMAIN);

export const _ = Gettext.gettext;
export const words: Words = { _, ngettext: Gettext.ngettext };

/**
 * Follows `ui.locale` where someone has set it; its default leaves the language to the desktop.
 * @returns whether the language is now another.
 */
export function followLocale(config: ConfigResponse | null): boolean {
  const chosen = config && (config.sources['ui.locale'] ?? 'default') !== 'default' ? config.config.ui.locale : null;
  const language = chosen?.replace('-', '_') ?? desktopLanguage;
  if (language === GLib.getenv('LANGUAGE')) return false;
  if (language === null) GLib.unsetenv('LANGUAGE');
  else GLib.setenv('LANGUAGE', language, true);
  // glibc looks at the variable again only after this (gettext manual, 11.2.4)
  Gettext.textdomain(DOMAIN);
  return true;
}
