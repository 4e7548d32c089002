// Reads desktop entries (Desktop Entry Specification 1.5): keys, escapes, lists and translations.
// No maintained package exists (xdg-apps has had no release since 2017), and Gio would need a gjs process, which takes longer to start
// than reading all entries of a desktop.

/** The group `[Desktop Entry]`: keys with their locale (`Name[de]`), values as written. */
export type Entry = ReadonlyMap<string, string>;

const GROUP = '[Desktop Entry]';
const KEY = /^[A-Za-z0-9-]+(\[[A-Za-z0-9_.@-]+\])?$/;

/**
 * Parses a file. Of a repeated key the last counts, as in GLib.
 * @param text the file's bytes as a string of Latin-1: half of an entry is translations, which need not be decoded
 * @param locales only translations into these are kept (as `localeKeys` gives them); without it, all
 * @returns null for an invalid file: a line is not a group, key or comment, or another group comes first
 */
export function parseEntry(text: string, locales?: readonly string[]): Entry | null {
  const entry = new Map<string, string>();
  let inside: boolean | null = null;
  // by positions, because most lines of a real entry are translations that are not needed
  for (let at = 0, stop = 0; at < text.length; at = stop + 1) {
    stop = text.indexOf('\n', at);
    if (stop < 0) stop = text.length;
    const first = text.charCodeAt(at);
    if (at === stop || first === HASH) continue;
    if (first === BRACKET) {
      const header = text.slice(at, stop).trimEnd();
      if (!header.endsWith(']') || (inside === null && header !== GROUP)) return null;
      inside = header === GROUP;
      continue;
    }
    const equals = text.indexOf('=', at);
    if (equals <= at || equals > stop || inside === null) {
      if (text.slice(at, stop).trim() === '') continue;
      return null;
    }
    if (!inside) continue;
    if (locales && text.charCodeAt(equals - 1) === CLOSING) {
      const open = text.lastIndexOf('[', equals);
      if (open > at && !locales.includes(text.slice(open + 1, equals - 1))) continue;
    }
    const key = text.slice(at, equals).trimEnd();
    if (!KEY.test(key)) return null;
    entry.set(
      key,
      decoded(text.slice(equals + 1, text.charCodeAt(stop - 1) === CR ? stop - 1 : stop).replace(/^[ \t]+/, '')),
    );
  }
  return inside === null ? null : entry;
}

const decoded = (bytes: string) => (/[\x80-\xff]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes);

const CR = 13;
const HASH = 35;
const BRACKET = 91;
const CLOSING = 93;

/** A string with its escapes resolved: `\s`, `\n`, `\t`, `\r` and `\\`; others stay as they are. */
export function unescapeValue(value: string): string {
  if (!value.includes('\\')) return value;
  return value.replace(/\\([sntr\\])/g, (_, letter: string) => ESCAPES[letter]!);
}
const ESCAPES: Record<string, string> = { s: ' ', n: '\n', t: '\t', r: '\r', '\\': '\\' };

/** The reverse of `unescapeValue`. A leading space would be lost otherwise. */
export function escapeValue(value: string): string {
  return value
    .replace(/\\/g, '\\\\')
    .replace(/\n/g, '\\n')
    .replace(/\t/g, '\\t')
    .replace(/\r/g, '\\r')
    .replace(/^ +/, spaces => '\\s'.repeat(spaces.length));
}

export function text(entry: Entry, key: string): string | null {
  const value = entry.get(key);
  return value === undefined ? null : unescapeValue(value);
}

/** The translation that suits best, else the untranslated value. @param locales keys as `localeKeys` gives them */
export function localised(entry: Entry, key: string, locales: readonly string[]): string | null {
  for (const locale of locales) {
    const value = entry.get(`${key}[${locale}]`);
    if (value !== undefined) return unescapeValue(value);
  }
  return text(entry, key);
}

/** A list: parts end with a semicolon, and `\;` is one that belongs to a part. */
export function list(entry: Entry, key: string): string[] {
  const value = entry.get(key);
  if (!value) return [];
  const parts = value.match(/(?:\\.|[^;\\])+/gs) ?? [];
  return parts.map(part => unescapeValue(part.replace(/\\;/g, ';'))).filter(Boolean);
}

export function flag(entry: Entry, key: string): boolean {
  return entry.get(key)?.trim() === 'true';
}

/**
 * The keys to try for locales in their order of preference: `sr_YU@Latn`, `sr_YU`, `sr@Latn`, `sr` for `sr_YU.UTF-8@Latn`
 * (section "Localized values for keys"). "C" and "POSIX" add no keys.
 */
export function localeKeys(locales: readonly string[]): string[] {
  const keys = locales.flatMap(locale => {
    const [, language, country = '', modifier = ''] =
      /^([A-Za-z]+)(?:[_-]([A-Za-z0-9]+))?(?:\.[^@]*)?(?:@(.+))?$/.exec(locale) ?? [];
    if (!language || language === 'C' || language === 'POSIX') return [];
    const [withCountry, withModifier] = [country && `${language}_${country}`, modifier && `@${modifier}`];
    return [
      ...(country && modifier ? [withCountry + withModifier] : []),
      ...(country ? [withCountry] : []),
      ...(modifier ? [language + withModifier] : []),
      language,
    ];
  });
  return [...new Set(keys)];
}

/**
 * The locales of a session for messages: LANGUAGE's list first, unless the locale is C (gettext's rule).
 * @param chosen a locale that counts instead of the session's
 */
export function messageLocales(env: NodeJS.ProcessEnv, chosen: string | null): string[] {
  if (chosen) return [chosen];
  const locale = env.LC_ALL || env.LC_MESSAGES || env.LANG || '';
  if (!locale || /^(C|POSIX)(\.|$)/.test(locale)) return [];
  return [...(env.LANGUAGE?.split(':').filter(Boolean) ?? []), locale];
}
