// Parses desktop entries, and splits, expands and joins the command line of their Exec key.
import { message, WordedError } from '../view/message.ts';

/** The group `[Desktop Entry]`: raw values by key, including its locale (`Name[de]`). */
export type Entry = ReadonlyMap<string, string>;

const GROUP = '[Desktop Entry]';
const KEY = /^[A-Za-z0-9-]+(\[[A-Za-z0-9_.@-]+\])?$/;

/**
 * Parses a file. The last occurrence of a repeated key counts, as in GLib.
 * @param text the file's bytes as Latin-1: half of an entry is translations, which need no decoding
 * @param locales locales of the translations to keep, from `localeKeys`; default: all
 * @returns null for an invalid file: a line is not a group, key or comment, or another group comes first
 */
export function parseEntry(text: string, locales?: readonly string[]): Entry | null {
  const entry = new Map<string, string>();
  /** True inside the group `[Desktop Entry]`; null before the first group. */
  let inside: boolean | null = null;
  // scans by position, because most lines of a real entry are unneeded translations
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

/** Resolves the escapes `\s`, `\n`, `\t`, `\r` and `\\` in a string; other escapes stay unchanged. */
export function unescapeValue(value: string): string {
  if (!value.includes('\\')) return value;
  return value.replace(/\\([sntr\\])/g, (_, letter: string) => ESCAPES[letter]!);
}
const ESCAPES: Record<string, string> = { s: ' ', n: '\n', t: '\t', r: '\r', '\\': '\\' };

/** Reverses `unescapeValue`. Escapes leading spaces, which would be lost otherwise. */
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

/** Returns the best translation, or the untranslated value. @param locales the result of `localeKeys` */
export function localized(entry: Entry, key: string, locales: readonly string[]): string | null {
  for (const locale of locales) {
    const value = entry.get(`${key}[${locale}]`);
    if (value !== undefined) return unescapeValue(value);
  }
  return text(entry, key);
}

/** Returns a list value: a semicolon ends each part, and `\;` is a semicolon in a part. */
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
 * Returns the keys to try for locales in order of preference: `sr_YU@Latn`, `sr_YU`, `sr@Latn`, `sr` for
 * `sr_YU.UTF-8@Latn` (section "Localized values for keys"). "C" and "POSIX" add no keys.
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
 * Returns a session's locales for messages: LANGUAGE's list first, unless the locale is C (gettext's rule).
 * @param chosen a locale that replaces the session's locales
 */
export function messageLocales(env: NodeJS.ProcessEnv, chosen: string | null): string[] {
  if (chosen) return [chosen];
  const locale = env.LC_ALL || env.LC_MESSAGES || env.LANG || '';
  if (!locale || /^(C|POSIX)(\.|$)/.test(locale)) return [];
  return [...(env.LANGUAGE?.split(':').filter(Boolean) ?? []), locale];
}

/**
 * Splits a command line into arguments without substitution. Quotes follow GLib, which accepts more than the specification,
 * because existing files need it (`env X="a b" program`, single quotes).
 * @param line the value of Exec, with string escapes resolved
 * @throws WordedError for an open quote, a final backslash, or an empty command line
 */
export function splitExec(line: string): string[] {
  const args: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const c = line[at]!;
    if (/[ \t\n\r]/.test(c)) {
      if (word !== null) args.push(word);
      word = null;
      continue;
    }
    word ??= '';
    if (c === "'") {
      const end = line.indexOf("'", at + 1);
      if (end === -1) throw new WordedError(message('Its command line has a quote that is never closed.'));
      word += line.slice(at + 1, end);
      at = end;
    } else if (c === '"') {
      for (at++; line[at] !== '"'; at++) {
        if (at >= line.length) throw new WordedError(message('Its command line has a quote that is never closed.'));
        if (line[at] === '\\' && '"`$\\'.includes(line[at + 1] ?? ' ')) at++;
        word += line[at];
      }
    } else if (c === '\\') {
      at++;
      if (at >= line.length) throw new WordedError(message('Its command line ends in a backslash.'));
      word += line[at];
    } else word += c;
  }
  if (word !== null) args.push(word);
  if (args.length === 0 || args[0] === '') throw new WordedError(message('Its command line is empty.'));
  return args;
}

interface Fields {
  name: string;
  icon: string | null;
  /** Path of the desktop file. */
  file: string;
}

/**
 * Expands field codes within the arguments, so that no value can split an argument. Codes for files and addresses become
 * empty, because none are passed; an argument that consists of such a code is dropped.
 * @throws WordedError for an unknown code, which makes a command line invalid
 */
export function expandFields(args: readonly string[], { name, icon, file }: Fields): string[] {
  return args.flatMap(arg => {
    if (arg === '%i') return icon ? ['--icon', icon] : [];
    if (/^%[fFuUdDnNvm]$/.test(arg)) return [];
    return [
      arg.replace(/%(.?)/gs, (_, code: string) => {
        if (code === '%') return '%';
        if (code === 'c') return name;
        if (code === 'k') return file;
        if (code !== '' && 'fFuUidDnNvm'.includes(code)) return '';
        throw new WordedError(message('Its command line has the unknown field code %s.', `%${code}`));
      }),
    ];
  });
}

/** Joins arguments into an Exec value with the specification's quotes; `escapeValue` adds the string escapes. */
export function joinExec(args: readonly string[]): string {
  return args
    .map(arg => {
      const doubled = arg.replaceAll('%', '%%');
      if (doubled !== '' && !/[\s"'\\><~|&;$*?#()`]/.test(doubled)) return doubled;
      return `"${doubled.replace(/["`$\\]/g, '\\$&')}"`;
    })
    .join(' ');
}

/** Position of the actual program in a command line, and its packaging. */
export interface Located {
  /** Index of the program, or of the app's id for Flatpak; the program's arguments follow it. */
  at: number;
  packaging: 'native' | 'flatpak' | 'snap';
  /** Base name, Flatpak's app id, or the snap's name; null if a shell or launcher hides it. */
  program: string | null;
}

/** Finds the program after `env`, `flatpak run` and `snap run`. */
export function locateProgram(args: readonly string[]): Located {
  let at = 0;
  if (baseName(args[0]!) === 'env') {
    at = 1;
    while (at < args.length && /^(-|[A-Za-z_]\w*=)/.test(args[at]!)) at += /^-[uCS]$/.test(args[at]!) ? 2 : 1;
  }
  const name = baseName(args[at] ?? '');
  if (name === 'flatpak' && args[at + 1] === 'run') {
    at += 2;
    while (at < args.length && args[at]!.startsWith('-')) at++;
    return { at, packaging: 'flatpak', program: args[at]?.split('/')[0] ?? null };
  }
  if (name === 'snap' && args[at + 1] === 'run') {
    at += 2;
    while (at < args.length && args[at]!.startsWith('-')) at++;
    return { at, packaging: 'snap', program: args[at] ?? null };
  }
  if (SNAP_DIRECTORIES.has(directory(args[at] ?? ''))) return { at, packaging: 'snap', program: name };
  if (at >= args.length || HIDING.has(name))
    return { at: Math.min(at, args.length - 1), packaging: 'native', program: null };
  return { at, packaging: 'native', program: name };
}

/** Programs that start another program, directly or through a service, so their command line hides the app. */
const HIDING = new Set(
  'sh bash dash zsh fish ksh gapplication gtk-launch gio xdg-open kioclient kioclient5 dbus-send gdbus busctl systemctl systemd-run pkexec sudo su nohup setsid flatpak snap'.split(
    ' ',
  ),
);

const SNAP_DIRECTORIES = new Set(['/snap/bin', '/var/lib/snapd/snap/bin']);

const directory = (path: string) => path.slice(0, path.lastIndexOf('/'));
const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);
