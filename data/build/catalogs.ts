// Checks the catalogs of all languages: node --import tsx data/build/catalogs.ts [--complete]
// Texts that wait for a translator are listed; only a release, with --complete, fails for them.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type GetTextTranslation, po } from 'gettext-parser';

/** Names that no translation changes. */
const NAMES =
  /Cloudflare|Culvert|WARP|MASQUE|WireGuard|FedRAMP|AppIndicator|GNOME|DNS|HTTPS?(?:\/[23])?|TLS|UDP|VPN|SSH|pkexec|proxychains|\/(?:etc|var)[\w./-]*\w|\d+(?:\.\d+){3}/g;

/** Spaces of a language at which a line must not break. */
const BREAKABLE: { [language: string]: RegExp | undefined } = { fr: / [:;!?»]|« / };

/** Counts that tell the plural forms of every language apart (CLDR). */
const COUNTS = Array.from({ length: 1000 }, (_, n) => n);

/** Languages as po/LINGUAS lists them. */
export function languages(): string[] {
  return readFileSync('po/LINGUAS', 'utf8').split(/\s+/).filter(Boolean);
}

/** Result of checking one catalog. */
export interface CatalogReport {
  /** Sentences about errors: a lost placeholder or name, wrong plural forms, a wrong header. */
  errors: string[];
  /** Source texts without a translation: missing, empty or fuzzy. */
  untranslated: string[];
}

/**
 * Checks one catalog against the template.
 * @param catalog text of the .po file
 * @param template text of the .pot file
 * @param language as in po/LINGUAS
 */
export function checkCatalog(catalog: string, template: string, language: string): CatalogReport {
  const { headers, translations } = po.parse(catalog);
  const errors: string[] = [];
  const untranslated: string[] = [];
  if (headers.Language !== language) errors.push(`the header names the language ${headers.Language}`);
  const formOf = pluralRule(headers['Plural-Forms'] ?? '');
  if (!formOf) return { errors: [...errors, 'the header has no plural forms'], untranslated };
  const counts = countsByForm(formOf);
  if (!matchesCldr(formOf, language)) errors.push('the plural forms are not those of the language (CLDR)');
  for (const [msgid, wanted] of Object.entries(po.parse(template).translations[''] ?? {})) {
    if (msgid === '') continue;
    const entry = translations['']?.[msgid];
    if (!entry?.msgstr.every(Boolean) || entry.comments?.flag?.includes('fuzzy')) untranslated.push(msgid);
    else {
      const broken = entry.msgstr.filter(text => BREAKABLE[language]?.test(text));
      const typography = broken.map(text => `lets a line break before a sign in "${text}"`);
      errors.push(...[...entryErrors(entry, wanted, counts), ...typography].map(error => `"${msgid}" ${error}`));
    }
  }
  return { errors, untranslated };
}

function entryErrors(found: GetTextTranslation, wanted: GetTextTranslation, counts: number[][]): string[] {
  const { msgid, msgid_plural: plural } = wanted;
  if (found.msgstr.length !== (plural === undefined ? 1 : counts.length)) return [`has ${found.msgstr.length} forms`];
  const places = placesOf(plural ?? msgid);
  return found.msgstr.flatMap((text, form) => {
    // "one minute" needs no figure
    const one = plural !== undefined && counts[form]!.length === 1;
    const own = placesOf(text);
    const kept = one ? own.every(place => places.includes(place)) : own.join() === places.join();
    const names = [...new Set(msgid.match(NAMES) ?? [])].filter(name => !text.includes(name));
    return [
      ...(kept ? [] : [`has other placeholders in "${text}"`]),
      ...names.map(name => `loses ${name} in "${text}"`),
      ...(text.trim() === text ? [] : [`begins or ends with a space in "${text}"`]),
    ];
  });
}

/** `%s of %2$s` -> `1s`, `2s`: which value goes where, in the order of the values. */
function placesOf(text: string): string[] {
  let next = 0;
  return [...text.matchAll(/%(?:(\d)\$)?([sd%])/g)]
    .map(([, nth, kind]) => (kind === '%' ? '%' : `${nth ?? ++next}${kind}`))
    .sort();
}

/** Sentences about texts without a translation: one for each, or one for all of a new language, which would hide errors. */
export function listUntranslated(texts: string[]): string[] {
  if (texts.length > 100) return [`${texts.length} texts are not translated`];
  return texts.map(text => `"${text}" is not translated`);
}

/** The plural expression of the header as a function; null if it is missing or of an unknown form. */
function pluralRule(header: string): ((n: number) => number) | null {
  const rule = /^nplurals=\d+; plural=([n\d\s()%!=<>&|?:]+);?$/.exec(header)?.[1];
  // arithmetic alone: the expression above admits nothing else
  return rule === undefined ? null : (new Function('n', `return Number(${rule})`) as (n: number) => number);
}

function countsByForm(formOf: (n: number) => number): number[][] {
  const forms = Math.max(...COUNTS.map(formOf)) + 1;
  return Array.from({ length: forms }, (_, form) => COUNTS.filter(n => formOf(n) === form));
}

/** True if each category of the language has exactly one form, and each form one category. */
function matchesCldr(formOf: (n: number) => number, language: string): boolean {
  const categories = new Intl.PluralRules(language.replace('_', '-'));
  const pairs = new Set(COUNTS.map(n => `${categories.select(n)} ${formOf(n)}`));
  const [left, right] = [0, 1].map(side => new Set([...pairs].map(pair => pair.split(' ')[side])));
  return pairs.size === left!.size && pairs.size === right!.size;
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? '')).href) {
  const template = readFileSync('po/culvert.pot', 'utf8');
  for (const language of languages()) {
    const path = `po/${language}.po`;
    const { errors, untranslated } = checkCatalog(readFileSync(path, 'utf8'), template, language);
    for (const error of errors) console.error(`${path}: ${error}`);
    for (const line of listUntranslated(untranslated)) console.error(`${path}: ${line}`);
    if (errors.length > 0 || (untranslated.length > 0 && process.argv.includes('--complete'))) process.exitCode = 1;
  }
}
