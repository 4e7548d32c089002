// Judges patterns and texts of a signed catalog without running them: how long they may take, and whether they can be shown.
import { isRecord, isText } from '../../daemon/core/shape.ts';
import { explainCommands } from './knowledge-commands.ts';

/** Longest pattern, and the most repetitions without a limit in one: the time grows with that power of the text's length. */
const LENGTH = 1_200;
const OPEN = 6;
/** Highest limit of a repetition, such as `{0,400}`, and the highest product of nested ones. */
const REPEATED = 2_000;
/** Maximum product of the ways to match one text by choices and limited repetitions: 2 for `a?`, 400 for `.{1,400}`. */
const WAYS = 10_000_000;

interface Most {
  open: number;
  ways: number;
}

interface Group {
  /** True if a repetition or an alternative is in it: repeated, it has many ways to match one text. */
  isAmbiguous: boolean;
  /** Ways to match one text by the alternatives before this one, and by this one so far. */
  before: number;
  ways: number;
}

const newGroup = (): Group => ({ isAmbiguous: false, before: 0, ways: 1 });

/**
 * Returns why a pattern may take exponential time or too long, or undefined. It is stricter than it has to be: a group is repeated only
 * if there is no choice in it, so that no text has two ways through the repetition.
 * @param source a pattern that compiles
 * @param most repetitions without a limit, and ways to match one text
 */
export function explainPattern(source: string, most: Most = { open: OPEN, ways: WAYS }): string | undefined {
  if (source.length > LENGTH) return `has a pattern of more than ${LENGTH} characters`;
  if (/\(\?<?[=!]/.test(source.replaceAll(/\\./g, ''))) return 'has a pattern that looks ahead or behind';
  if (/\\(?:[1-9]|k<)/.test(source.replaceAll('\\\\', ''))) return 'has a pattern that refers to its own groups';
  const groups = [newGroup()];
  let open = 0;
  for (let at = 0; at < source.length; ) {
    const char = source[at]!;
    let closed: Group | undefined;
    if (char === '(') {
      groups.push(newGroup());
      at += /^\((?:\?(?::|<[^>]*>))?/.exec(source.slice(at))![0].length;
      continue;
    }
    if (char === ')') {
      closed = groups.pop();
      at++;
    } else if (char === '|') {
      const group = groups.at(-1)!;
      Object.assign(group, { isAmbiguous: true, before: group.before + group.ways, ways: 1 });
      at++;
      continue;
    } else at += atomLength(source, at);
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at))?.[0] ?? '';
    at += quantifier.length;
    const times = mostOf(quantifier);
    const parent = groups.at(-1);
    if (!parent) return undefined; // it would not compile
    if (closed && times > 1 && (closed.isAmbiguous || times === Number.POSITIVE_INFINITY))
      return 'has a pattern that repeats a group with a choice in it';
    if (times === Number.POSITIVE_INFINITY) open++;
    else if (times > REPEATED) return `has a pattern that repeats more than ${REPEATED} times`;
    if (quantifier !== '' || closed?.isAmbiguous) parent.isAmbiguous = true;
    parent.ways *= (closed ? closed.before + closed.ways : 1) * waysOf(quantifier);
    if (parent.before + parent.ways > most.ways) return 'has a pattern with too many choices and repetitions';
  }
  if (open <= most.open) return undefined;
  return `has a pattern with more than ${most.open} ${most.open === 1 ? 'repetition' : 'repetitions'} without a limit`;
}

function mostOf(quantifier: string): number {
  if (quantifier === '') return 1;
  if (quantifier.startsWith('?')) return 1;
  const range = /^\{(\d+)(,(\d*))?\}/.exec(quantifier);
  if (!range) return Number.POSITIVE_INFINITY;
  if (range[2] === undefined) return Number(range[1]);
  return range[3] === '' ? Number.POSITIVE_INFINITY : Number(range[3]);
}

/** Returns the number of different repetitions; those without a limit are counted elsewhere. */
function waysOf(quantifier: string): number {
  if (quantifier.startsWith('?')) return 2;
  const [, least, most] = /^\{(\d+),(\d+)\}/.exec(quantifier) ?? [];
  return least === undefined ? 1 : Math.max(1, Number(most) - Number(least) + 1);
}

/** Length of a character, an escape or a class. */
function atomLength(source: string, at: number): number {
  if (source[at] === '\\')
    return /^\\(?:u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|p\{[^}]*\}|.)/is.exec(source.slice(at))?.[0].length ?? 1;
  if (source[at] !== '[') return 1;
  for (let end = at + 1; end < source.length; end++) {
    if (source[end] === '\\') end++;
    else if (source[end] === ']') return end + 1 - at;
  }
  return source.length - at;
}

/** Maximum length of a text in a catalog. */
const TEXT = 4_000;
/** Control and format characters, which could control a terminal or pose as other text. A line break is neither. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const MAX_VALUES = 50_000;
const DEPTH = 12;

/**
 * Returns what is wrong with the texts of a parsed file: too long, too many, too deep, or not to be shown.
 * @param document a parsed TOML file
 */
export function explainTexts(document: unknown): string | undefined {
  let values = 0;
  const visit = (value: unknown, depth: number): string | undefined => {
    if (++values > MAX_VALUES) return `has more than ${MAX_VALUES} values`;
    if (depth > DEPTH) return `is nested more than ${DEPTH} deep`;
    if (typeof value === 'string') {
      if (value.length > TEXT) return `has a text of more than ${TEXT} characters`;
      return INVISIBLE.test(value.replaceAll(/[\n\t]/g, '')) ? 'has control or invisible characters' : undefined;
    }
    if (typeof value !== 'object' || value === null || value instanceof Date) return undefined;
    for (const [key, inner] of Object.entries(value)) {
      const problem = visit(key, depth) ?? visit(inner, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  return visit(document, 0);
}

const INTO_SHELL = /\|\s*(?:sudo\s+)?(?:sh|bash|zsh|python[\d.]*|perl|node)\b|\b(?:curl|wget)\b[^\n]*\|/;
const ADDRESSES = /[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>]+/gi;
/** The last one is the place of a reader's own organization. */
const DOCUMENTATION =
  /^https:\/\/(?:(?:github\.com|(?:[a-z0-9-]+\.)*cloudflare\.com)\/|TEAM\.cloudflareaccess\.com(?:\/|$))/;

/**
 * Returns what is wrong with a file of knowledge of WARP, which people read and whose commands they copy. The daemon checks its form
 * when it reads it (daemon/doctor/knowledge.ts).
 * @param document a parsed TOML file
 */
export function explainKnowledge(document: unknown): string | undefined {
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (typeof value === 'object' && value !== null && !(value instanceof Date))
      Object.values(value).forEach(visit);
  };
  visit(document);
  for (const text of texts) {
    if (INTO_SHELL.test(text)) return `pipes into a shell: ${JSON.stringify(text.slice(0, 80))}`;
    for (const [address] of text.matchAll(ADDRESSES))
      if (!DOCUMENTATION.test(address)) return `can't link to ${JSON.stringify(address.slice(0, 80))}`;
    const command = explainCommands(text);
    if (command !== undefined) return command;
  }
  return undefined;
}

/**
 * The daemon tries a pattern for the journal at every position of hundreds of texts of 2,000 characters: with one repetition without
 * a limit that takes two million steps a text, times the ways.
 */
const MAX_IN_JOURNAL: Most = { open: 1, ways: 16 };
/** Maximum number of entries for the journal. */
const JOURNAL_ENTRIES = 100;

/** Returns which pattern for lines of the journal may take too long. @param document the parsed journal.toml */
export function explainJournal(document: Record<string, unknown>): string | undefined {
  const list = Array.isArray(document.pattern) ? document.pattern : [];
  if (list.length > JOURNAL_ENTRIES) return `has more than ${JOURNAL_ENTRIES} patterns`;
  const patterns = list.flatMap(entry => (isRecord(entry) ? [entry.line, entry.pattern, entry.unless] : []));
  for (const pattern of patterns.filter(isText)) {
    const problem = explainPattern(pattern, MAX_IN_JOURNAL);
    if (problem !== undefined) return `${problem}: ${JSON.stringify(pattern.slice(0, 80))}`;
  }
  return undefined;
}
