/** Writes the page into a directory, in place of what is there. @returns absolute paths of the sources that went in. */
export function bundleWebui(
  directory: string,
  define?: Record<string, string>,
  debuggable?: boolean,
): Promise<string[]>;
export interface Catalog {
  /** Category of Intl.PluralRules -> index of the plural form. */
  plurals: Record<string, number>;
  /** English text -> translation, or its plural forms. */
  texts: Record<string, string | string[]>;
}
/** Reads a catalog of gettext. @param language as in po/LINGUAS @param only files whose texts are wanted; absent: all */
export function readCatalog(text: Uint8Array | string, language: string, only?: ReadonlySet<string>): Catalog;
