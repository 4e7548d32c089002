// Parses the message catalogs that the build writes, and translates texts with them.
import type { Translator } from '../view/translator.ts';

/** Format of the file that data/build/webui.mjs writes. */
export interface Catalog {
  /** Maps a category of Intl.PluralRules to the index of the plural form. */
  plurals: Record<string, number>;
  texts: Record<string, string | string[]>;
}

/** @throws SyntaxError, TypeError if the text is not a catalog */
export function parseCatalog(json: string): Catalog {
  const { plurals, texts } = recordOf(JSON.parse(json), isRecord);
  return { plurals: recordOf(plurals, isNumber), texts: recordOf(texts, isText) };
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isString = (value: unknown): value is string => typeof value === 'string';
const isText = (value: unknown): value is string | string[] =>
  isString(value) || (Array.isArray(value) && value.every(isString));

/** Returns `value` as a record of one kind of values. @throws TypeError */
function recordOf<T>(value: unknown, isOne: (value: unknown) => value is T): Record<string, T> {
  if (!isRecord(value)) throw new TypeError('Not an object');
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (!isOne(each)) throw new TypeError(`Not a value: ${key}`);
      return [key, each];
    }),
  );
}

/** Parses the build's table of catalog files by language. @throws SyntaxError, TypeError as `parseCatalog` does */
export function parseFiles(json: string): Record<string, string> {
  return recordOf(JSON.parse(json), isString);
}

/** Creates a translator from a catalog; missing texts stay English. @param missed called for each missing text */
export function translatorOf(language: string, { plurals, texts }: Catalog, missed = () => {}): Translator {
  let rules: Intl.PluralRules | undefined; // created on first use, since that takes milliseconds
  const find = (text: string) => {
    const found = texts[text];
    if (found === undefined) missed();
    return found;
  };
  return {
    locale: language,
    _(text) {
      const translation = find(text);
      return (Array.isArray(translation) ? translation[0] : translation) ?? text;
    },
    ngettext(one, many, n) {
      rules ??= new Intl.PluralRules(language);
      const forms = find(one);
      // a language without plurals has a single form; a category that is missing in the catalog uses the last form
      const form = Array.isArray(forms) ? forms[plurals[rules.select(n)] ?? forms.length - 1] : forms;
      return form ?? (n === 1 ? one : many);
    },
  };
}
