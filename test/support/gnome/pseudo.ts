// A language for tests: texts with accents, in brackets and longer, so that what does not go through gettext, or
// does not fit, shows.
import { po } from 'gettext-parser';

const [PLAIN, ACCENTED] = [
  'abcdefghijklmnoprstuvwyzABCDEFGHIJKLNOPRSTUVWYZ',
  'áƀçđéƒğĥíĵķĺɱñóþŕšťúṽŵýžÁƁÇĐÉƑĞĤÍĴĶĹÑÓÞŔŠŤÚṼŴÝŽ',
];
/** Texts of most languages are longer than English by this much. */
const LONGER = 0.4;
/** Brackets that no text of ours has. */
const [OPEN, CLOSE] = ['⟦', '⟧'];

/** `Open %s` -> `⟦Óþéñ %s~~~⟧`: placeholders stay. */
export function pseudo(text: string): string {
  const accented = text.replace(/%(?:\d\$)?[sd%]|[a-z]/gi, part =>
    part.length > 1 ? part : (ACCENTED[PLAIN.indexOf(part)] ?? part),
  );
  return `${OPEN}${accented}${' ~~~~'.repeat(Math.ceil((text.length * LONGER) / 5))}${CLOSE}`;
}

/** The part of a shown text that is not in the pseudo-language: the text outside all brackets. */
export function foreign(text: string): string {
  let [depth, rest] = [0, ''];
  for (const character of text) {
    if (character === OPEN) depth++;
    else if (character === CLOSE) depth--;
    else if (depth === 0) rest += character;
  }
  return rest;
}

/** A catalog in the pseudo-language. @param template text of the .pot file @param language such as `en_XA` */
export function pseudoCatalog(template: string, language: string): string {
  const catalog = po.parse(template);
  for (const entry of Object.values(catalog.translations[''] ?? {}))
    entry.msgstr = [entry.msgid, ...(entry.msgid_plural === undefined ? [] : [entry.msgid_plural])].map(pseudo);
  catalog.headers.Language = language;
  catalog.headers['Plural-Forms'] = 'nplurals=2; plural=(n != 1);';
  catalog.translations['']![''] = { msgid: '', msgstr: [''] };
  return po.compile(catalog).toString();
}
