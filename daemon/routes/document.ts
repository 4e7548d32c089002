// Reads and writes the split tunnel as a text document: a mode, then one address, range or host per line, with comments.
import { domainToASCII } from 'node:url';
import type { SplitTunnel } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { printable } from '../core/printable.ts';
import { message } from '../view/message.ts';
import { difference, faultOf, parseRange, prefixes, type Range, union } from './ranges.ts';

type EntryKind = 'ip' | 'range' | 'host';

/** An entry in the form that warp-cli accepts. */
export interface Entry {
  kind: EntryKind;
  /** Canonical text: equal entries have equal values, and a range of one address is the address. */
  value: string;
  /** The entry's addresses, or null for a host. */
  range: Range | null;
}

/** The actions that add and remove an entry. */
export const ADD = { ip: 'addSplitIp', range: 'addSplitRange', host: 'addSplitHost' } as const;
export const REMOVE = { ip: 'removeSplitIp', range: 'removeSplitRange', host: 'removeSplitHost' } as const;

export type Mode = NonNullable<SplitTunnel['mode']>;

/** A line with content. `reason` explains why the line is invalid. */
export interface Line {
  /** Line number, counted from 1. */
  number: number;
  /** The line without its comment. */
  text: string;
  comment: string | null;
  entries: Entry[];
  reason: Message | null;
}

export interface Document {
  /** The mode that the text names, or null. */
  mode: Mode | null;
  lines: Line[];
}

/** Maximum expansion of one line: `::/0 - ::1` has 128 prefixes. */
const MAX_PREFIXES_PER_LINE = 256;

/**
 * Reads a document. `#` begins a comment. A line is `mode exclude`, `mode include`, an address, a prefix, a range
 * `FIRST-LAST`, a difference of those (`10.0.0.0/8 - 10.1.2.0/24 - 10.9.9.9`), or a host name, which may begin with
 * `*.`. Lines that can't be read are kept with a reason.
 */
export function parseDocument(text: string): Document {
  const lines: Line[] = [];
  let mode: Mode | null = null;
  // no spreads or iterators: documents have thousands of lines and are previewed while the user types
  const add = (
    number: number,
    text: string,
    comment: string | null,
    { entries, reason }: ReturnType<typeof parseLine>,
  ) => void lines.push({ number, text, comment, entries, reason });
  const texts = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  for (let at = 0; at < texts.length; at++) {
    const raw = texts[at]!;
    const hash = raw.indexOf('#');
    const line = (hash < 0 ? raw : raw.slice(0, hash)).trim();
    if (line === '') continue;
    const comment = hash < 0 ? null : raw.slice(hash + 1).trim() || null;
    const named = /^mode\s+(\S+)$/i.exec(line)?.[1];
    if (named === undefined) add(at + 1, line, comment, parseLine(line));
    else if (!isMode(named))
      add(at + 1, line, comment, refused(message('"%s" is not exclude or include', shown(named))));
    else if (mode !== null && mode !== named) add(at + 1, line, comment, refused(message('names a second mode')));
    else mode = named;
  }
  return { mode, lines };
}

function refused(reason: Message): Pick<Line, 'entries' | 'reason'> {
  return { entries: [], reason };
}

function isMode(word: string): word is Mode {
  return word === 'exclude' || word === 'include';
}

/** Returns the entries of one line, or the reason why the line is refused. */
export function parseLine(text: string): Pick<Line, 'entries' | 'reason'> {
  // Cc, Cf, Zl, Zp, Cs: characters that could mislead a terminal or a reader, such as right-to-left marks
  if (!/^[\t -~]*$/.test(text) && /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(text.replaceAll('\t', ' ')))
    return refused(message('contains control or invisible characters'));
  const [head = '', ...minus] = text.includes('-') ? text.replace(/\s+/g, ' ').split(' - ') : [text];
  if (minus.length === 0 && !looksLikeAddress(head)) {
    const host = parseHost(head);
    if (host) return { entries: [host], reason: null };
    if (/[:/]/.test(head))
      return refused(message('"%s" is not a host name: give it without scheme, port and path', shown(head)));
    return refused(message('"%s" is neither an address, nor a range, nor a host name', shown(head)));
  }
  const ranges: Range[] = [];
  for (const term of [head, ...minus]) {
    const range = parseRange(term);
    if (typeof range === 'string') return refused(faultOf(term, range, shown(term)));
    ranges.push(range);
  }
  const [first, ...without] = ranges as [Range, ...Range[]];
  const left = without.length ? difference([first], without) : [first];
  if (left.length === 0) return refused(message('leaves no address'));
  const entries: Entry[] = [];
  for (const range of left) {
    entries.push(...entriesOf(range));
    if (entries.length > MAX_PREFIXES_PER_LINE)
      return refused(message('needs more than %d ranges', MAX_PREFIXES_PER_LINE));
  }
  return { entries, reason: null };
}

/** Returns the entries that cover a range exactly. */
function entriesOf(range: Range): Entry[] {
  const values = prefixes(range);
  if (values.length === 1) return [{ kind: values[0]!.includes('/') ? 'range' : 'ip', value: values[0]!, range }];
  return values.map(value => {
    const own = parseRange(value);
    return { kind: value.includes('/') ? 'range' : 'ip', value, range: typeof own === 'string' ? null : own };
  });
}

/**
 * True for digits and dots, or hexadecimal digits and colons, with an optional prefix or second end. Other text is a host.
 */
function looksLikeAddress(text: string): boolean {
  return /^([\d.]+|[\da-f.]*:[\da-f:.]*(%\S*)?)([/-].*)?$/i.test(text);
}

function parseHost(word: string): Entry | null {
  const [, wildcard = '', name = ''] = /^(\*\.)?(.*?)\.?$/s.exec(word)!;
  // domainToASCII truncates a name at characters that end a host in a URL
  if (name.length > 253 || /[/\\?#@:%\s]/.test(name)) return null;
  const ascii = domainToASCII(name);
  const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
  const labels = ascii.split('.');
  // a host name never ends with a numeric label, but a mistyped address does
  if (ascii.length > 253 || !labels.every(part => label.test(part)) || /^\d+$/.test(labels.at(-1)!)) return null;
  return { kind: 'host', value: wildcard + ascii, range: null };
}

/**
 * Formats a split tunnel as a document, with the known origin of an entry after it.
 * @param origin returns an entry's origin for the comment, or null.
 */
export function formatDocument({ mode, ips, hosts }: SplitTunnel, origin: (value: string) => string | null): string {
  const lines = [...ips, ...hosts].map(({ value, description }) => {
    const comment = [origin(value), description].filter(Boolean).join(', ');
    return comment ? `${value}  # ${shown(comment)}` : value;
  });
  return [`mode ${mode ?? 'exclude'}`, ...lines, ''].join('\n');
}

/** Appends entries to a document, except entries that it already contains. */
export function addedTo(document: string, added: readonly { value: string; comment: string | null }[]): string {
  const values = new Set(parseDocument(document).lines.flatMap(({ entries }) => entries.map(({ value }) => value)));
  const lines = added
    .filter(({ value }) => !values.has(value))
    .map(({ value, comment }) => (comment ? `${value}  # ${shown(comment)}\n` : `${value}\n`));
  return (document === '' || document.endsWith('\n') ? document : `${document}\n`) + lines.join('');
}

/** Removes entries from a document; other entries of their lines stay. @param values canonical entries */
export function removedFrom(document: string, values: ReadonlySet<string>): string {
  const texts = document.split(/\r\n|\n|\r/);
  for (const { number, entries, comment } of parseDocument(document).lines.toReversed()) {
    const left = entries.filter(({ value }) => !values.has(value));
    if (left.length === entries.length) continue;
    const note = comment ? `  # ${comment}` : '';
    texts.splice(number - 1, 1, ...left.map(({ value }) => `${value}${note}`));
  }
  return texts.join('\n');
}

/** Returns the canonical entry for a value in warp-cli's list. An unknown form becomes a host with the same text. */
export function canonical(value: string): Entry {
  const { entries } = parseLine(value);
  return entries.length === 1 ? entries[0]! : { kind: 'host', value, range: null };
}

/** Returns the fewest equivalent entries: merges addresses and ranges, and lists each host once. */
export function simplify(entries: readonly Entry[]): Entry[] {
  const ranges = entries.flatMap(({ range }) => range ?? []);
  const hosts = new Map(entries.filter(({ range }) => range === null).map(entry => [entry.value, entry]));
  return [...union(ranges).flatMap(entriesOf), ...hosts.values()];
}

/** Shortens text from outside to one line of at most 60 characters. */
function shown(text: string): string {
  const line = printable(text);
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
