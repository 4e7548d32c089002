// Defines the tree of a configuration file, whose nodes know their place in the text, and replaces values in that text.
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../../daemon/core/errors.ts';
import { isRecord, isText } from '../../../daemon/core/shape.ts';

interface Place {
  /** Offsets in the text; the end is exclusive. */
  start: number;
  end: number;
  /** True if the place can't be changed, such as an alias of YAML. */
  isFrozen?: boolean;
}

interface Scalar extends Place {
  kind: 'scalar';
  value: unknown;
}

interface List extends Place {
  kind: 'list';
  items: Node[];
  /** True if each item has a separate line and no comma follows it. */
  isBlock: boolean;
}

export interface Table extends Place {
  kind: 'table';
  entries: Entry[];
  /** True if each entry has a separate line and no comma follows it. */
  isBlock: boolean;
}

export interface Entry {
  key: string;
  /** Offset of the key. */
  start: number;
  /** The text before the last part of a dotted key: `a.b.` */
  prefix: string;
  value: Node;
}

export type Node = Scalar | List | Table;

/** The spelling of a format. */
export interface Notation {
  /**
   * Prints a text.
   * @param like source of a text with the style to use, such as its quotes
   * @param isFlow true inside brackets
   */
  text(value: string, like: string | undefined, isFlow: boolean): string;
  /** Reports whether the source of a text means the same inside brackets. */
  staysInFlow(source: string): boolean;
  key(name: string): string;
  /** The text between a key and its value. */
  assignment: string;
  /** The text around the entries of a table in brackets. */
  braces: readonly [string, string];
}

/** Creates the failure of a file that can't be read, with the place and the reason. */
export const unreadable = (why: string) => new Failure(why);

/** Creates the failure of a place that can't be changed without a change of its layout. */
export const frozenLayout = (why: string) => new Failure(why, { code: 'layout' });

/** Returns the values of a tree. A later entry with the same key counts. */
export function plainValue(node: Node): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainValue);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainValue(value)]));
}

/** Finds the node at a path of keys. */
export function nodeAt(node: Node | undefined, [key, ...rest]: readonly string[]): Node | undefined {
  if (key === undefined || node === undefined) return node;
  if (node.kind !== 'table') return undefined;
  return nodeAt(node.entries.findLast(entry => entry.key === key)?.value, rest);
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

/**
 * Returns the text with the value of one node replaced. Only the parts that differ change; a text that moves keeps its quotes.
 * @throws Failure
 */
export function replaceNode(text: string, node: Node, next: unknown, notation: Notation): string {
  const edits = new Editor(text, notation, sourcesIn(text, node)).editsOf(node, next);
  const ordered = edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
  if (ordered.some(({ start }, index) => index > 0 && start < ordered[index - 1]!.end))
    throw frozenLayout('its changes overlap');
  return ordered.reduceRight((now, { start, end, text: own }) => now.slice(0, start) + own + now.slice(end), text);
}

/** Returns the source of each text in a node. */
function sourcesIn(text: string, node: Node, sources = new Map<string, string>()): Map<string, string> {
  if (node.kind === 'list') for (const item of node.items) sourcesIn(text, item, sources);
  if (node.kind === 'table') for (const { value } of node.entries) sourcesIn(text, value, sources);
  if (node.kind === 'scalar' && isText(node.value) && !node.isFrozen && !sources.has(node.value))
    sources.set(node.value, text.slice(node.start, node.end));
  return sources;
}

class Editor {
  readonly #text: string;
  readonly #notation: Notation;
  readonly #sources: ReadonlyMap<string, string>;
  readonly #newline: string;

  constructor(text: string, notation: Notation, sources: ReadonlyMap<string, string>) {
    this.#text = text;
    this.#notation = notation;
    this.#sources = sources;
    this.#newline = text.includes('\r\n') ? '\r\n' : '\n';
  }

  editsOf(node: Node, next: unknown, isFlow = false): Edit[] {
    if (isDeepStrictEqual(plainValue(node), next)) return [];
    if (node.isFrozen) throw frozenLayout('its value is an alias or a block of text');
    if (node.kind === 'list' && Array.isArray(next)) return this.#ofList(node, next);
    if (node.kind === 'table' && isRecord(next)) return this.#ofTable(node, next);
    if (node.kind !== 'scalar' && node.isBlock) throw frozenLayout('its value has lines of its own');
    const like = node.kind === 'scalar' ? this.#text.slice(node.start, node.end) : undefined;
    return [{ start: node.start, end: node.end, text: this.#print(next, isFlow, like) }];
  }

  /** Changes the items between those that stay at the end and at the start. */
  #ofList(list: List, next: unknown[]): Edit[] {
    const { items, isBlock } = list;
    const isSame = (a: number, b: number) => isDeepStrictEqual(plainValue(items[a]!), next[b]);
    const most = Math.min(items.length, next.length);
    let behind = 0;
    while (behind < most && isSame(items.length - 1 - behind, next.length - 1 - behind)) behind++;
    let before = 0;
    while (before < most - behind && isSame(before, before)) before++;
    const [end, nextEnd] = [items.length - behind, next.length - behind];
    const pairs = Math.min(end, nextEnd) - before;
    const edits = items
      .slice(before, before + pairs)
      .flatMap((item, index) => this.editsOf(item, next[before + index], !isBlock));
    const at = before + pairs;
    if (at < end) edits.push(this.#removal(list, at, end));
    if (at < nextEnd) edits.push(this.#insertion(list, at, next.slice(at, nextEnd)));
    return edits;
  }

  #insertion({ items, isBlock, start }: List, at: number, values: unknown[]): Edit {
    const printed = values.map(value => this.#print(value, !isBlock));
    if (items.length === 0) return { start: start + 1, end: start + 1, text: printed.join(', ') };
    const like = items[Math.min(at, items.length - 1)]!;
    const gap = isBlock ? this.#lineBefore(like.start, /^[ \t]*-[ \t]+$/) : this.#gapOf(items, like.start);
    if (at === items.length) {
      const last = items.at(-1)!.end;
      return { start: last, end: last, text: printed.map(each => gap + each).join('') };
    }
    return { start: like.start, end: like.start, text: printed.map(each => each + gap).join('') };
  }

  #removal({ items, isBlock, end: listEnd }: List, from: number, to: number): Edit {
    if (to < items.length) return { start: items[from]!.start, end: items[to]!.start, text: '' };
    const end = items.at(-1)!.end;
    if (from > 0) return { start: items[from - 1]!.end, end, text: '' };
    if (isBlock) throw frozenLayout('nothing would be left of its list');
    const comma = /^\s*,/.exec(this.#text.slice(end, listEnd))?.[0] ?? '';
    return { start: items[0]!.start, end: end + comma.length, text: '' };
  }

  #ofTable(table: Table, next: Record<string, unknown>): Edit[] {
    const { entries } = table;
    const known = entries.filter(({ key }, index) => entries.findLastIndex(each => each.key === key) === index);
    const gone = known.filter(({ key }) => !Object.hasOwn(next, key));
    const names = Object.keys(next);
    const added = names.filter(name => !known.some(({ key }) => key === name));
    const edits = known
      .filter(({ key }) => Object.hasOwn(next, key))
      .flatMap(({ key, value }) => this.editsOf(value, next[key], !table.isBlock));
    const [only] = gone;
    if (only && gone.length === 1 && added.length === 1) {
      this.#assertOwn(only.value);
      return [
        ...edits,
        { start: only.start, end: only.value.end, text: this.#pair(only, [added[0]!, next[added[0]!]], table) },
      ];
    }
    const removals = gone.map(entry => this.#entryRemoval(entries, entry));
    const insertions = added.map(name => {
      const following = names.slice(names.indexOf(name)).flatMap(each => known.find(({ key }) => key === each) ?? []);
      const [anchor] = following;
      if (!anchor) throw frozenLayout('it has no entry to write the new one before');
      const gap = table.isBlock ? this.#lineBefore(anchor.start, /^[ \t]*$/) : this.#gapBefore(anchor.start);
      return {
        start: anchor.start,
        end: anchor.start,
        text: this.#pair(anchor, [name, next[name]], table) + gap,
      };
    });
    return [...edits, ...removals, ...insertions];
  }

  #entryRemoval(entries: readonly Entry[], entry: Entry): Edit {
    this.#assertOwn(entry.value);
    const index = entries.indexOf(entry);
    const [previous, following] = [entries[index - 1], entries[index + 1]];
    const isClean = (from: number, to: number) => from <= to && /^[\s,]*$/.test(this.#text.slice(from, to));
    if (following && isClean(entry.value.end, following.start))
      return { start: entry.start, end: following.start, text: '' };
    if (previous && isClean(previous.value.end, entry.start))
      return { start: previous.value.end, end: entry.value.end, text: '' };
    throw frozenLayout('an entry of it stands alone');
  }

  #assertOwn(node: Node): void {
    if (node.isFrozen || (node.kind !== 'scalar' && node.isBlock))
      throw frozenLayout('an entry of it has lines of its own');
  }

  /** Prints an entry for a table, with the dotted prefix of another entry. */
  #pair({ prefix }: Entry, [key, value]: readonly [string, unknown], { isBlock }: Table): string {
    const { key: keyOf, assignment } = this.#notation;
    return `${prefix}${keyOf(key)}${assignment}${this.#print(value, !isBlock)}`;
  }

  /** Returns the comma and the white space between the items of a list. */
  #gapOf([first, second]: readonly Node[], at: number): string {
    const between = first && second ? this.#text.slice(first.end, second.start) : '';
    const own = this.#gapBefore(at);
    return own === ', ' && /^[ \t]*,[ \t]*$/.test(between) ? between : own;
  }

  /** Returns a comma, and a new line with the same indentation if the text at this offset begins its line. */
  #gapBefore(offset: number): string {
    const line = this.#startOfLine(offset);
    return /^[ \t]*$/.test(line) && offset > line.length ? `,${this.#newline}${line}` : ', ';
  }

  /** Returns a new line that begins as the line of this offset does. @throws Failure if it begins otherwise */
  #lineBefore(offset: number, form: RegExp): string {
    const line = this.#startOfLine(offset);
    if (!form.test(line)) throw frozenLayout('its lines have an unusual form');
    return `${this.#newline}${line}`;
  }

  #startOfLine(offset: number): string {
    return this.#text.slice(this.#text.lastIndexOf('\n', offset - 1) + 1, offset);
  }

  #print(value: unknown, isFlow: boolean, like?: string): string {
    if (isText(value)) {
      const source = this.#sources.get(value);
      const isUsable = source !== undefined && (!isFlow || this.#notation.staysInFlow(source));
      if (isUsable && (like === undefined || !this.#isUsual(value, source))) return source;
      return this.#notation.text(value, like ?? this.#style, isFlow);
    }
    if (Array.isArray(value)) return `[${value.map(item => this.#print(item, true)).join(', ')}]`;
    if (!isRecord(value)) return JSON.stringify(value);
    const { key, assignment, braces } = this.#notation;
    const pairs = Object.entries(value).map(([name, own]) => `${key(name)}${assignment}${this.#print(own, true)}`);
    return pairs.length === 0 ? '{}' : `${braces[0]}${pairs.join(', ')}${braces[1]}`;
  }

  /** Reports whether a source is what this module prints for the text in some style, so without escapes that it does not need. */
  #isUsual(value: string, source: string): boolean {
    return ['"', "'", ''].some(style => this.#notation.text(value, style, false) === source);
  }

  /** The source of any text of the node, whose style new texts get. */
  get #style(): string | undefined {
    return this.#sources.values().next().value;
  }
}
