// Reads YAML as a tree.
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  parse,
  parseDocument,
  type Node as YamlNode,
} from 'yaml';
import { isRecord } from '../../../daemon/core/shape.ts';
import { type Entry, type Node, type Notation, unreadable } from './tree.ts';

/** Maximum number of levels, and of aliases. A few aliases of aliases could stand for billions of values. */
const MAX_LEVELS = 100;
const MAX_ALIASES = 1_000;

/** @throws Failure */
export function readYaml(text: string): Node {
  const document = parseDocument(text, { logLevel: 'silent' });
  const [error] = document.errors;
  if (error) throw unreadable(`line ${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]}`);
  if (!document.contents) return { kind: 'table', start: 0, end: text.length, entries: [], isBlock: true };
  return new Reader(document, text).nodeOf(document.contents, 0);
}

class Reader {
  readonly #document: Document;
  readonly #text: string;
  #aliases = 0;

  constructor(document: Document, text: string) {
    this.#document = document;
    this.#text = text;
  }

  nodeOf(node: unknown, level: number): Node {
    if (level > MAX_LEVELS) throw unreadable('it is nested too deeply');
    if (isAlias(node)) {
      this.#aliases += 1;
      const target = node.resolve(this.#document);
      if (!target || this.#aliases > MAX_ALIASES) throw unreadable('it has too many aliases');
      return { ...this.nodeOf(target, level + 1), ...placeOf(node), isFrozen: true };
    }
    if (isMap(node)) {
      const entries = node.items.map(pair => this.#entryOf(pair.key, pair.value, level));
      return { kind: 'table', ...placeOf(node), entries, isBlock: node.flow !== true };
    }
    if (isSeq(node)) {
      const items = node.items.map(item => this.nodeOf(item, level + 1));
      return { kind: 'list', ...placeOf(node), items, isBlock: node.flow !== true };
    }
    if (isPair(node)) throw unreadable('a list has a pair in it');
    if (!isScalar(node)) return { kind: 'scalar', start: 0, end: 0, value: null, isFrozen: true };
    const place = placeOf(node);
    const isBlock = /^[|>&!]/.test(this.#text.slice(place.start, place.end)) || place.start === place.end;
    return { kind: 'scalar', ...place, value: node.value, ...((isBlock || node.anchor) && { isFrozen: true }) };
  }

  #entryOf(key: unknown, value: unknown, level: number): Entry {
    if (!isScalar(key)) throw unreadable('a key is no text');
    return { key: String(key.value), start: placeOf(key).start, prefix: '', value: this.nodeOf(value, level + 1) };
  }
}

function placeOf({ range }: YamlNode): { start: number; end: number } {
  return { start: range?.[0] ?? 0, end: range?.[1] ?? 0 };
}

export const YAML_NOTATION: Notation = {
  text(value, like = '', isFlow = false) {
    // YAML accepts JSON strings
    const quoted = JSON.stringify(value);
    if (like.startsWith("'")) return /[\n\r\t]/.test(value) ? quoted : `'${value.replaceAll("'", "''")}'`;
    return !like.startsWith('"') && isPlain(value, isFlow) ? value : quoted;
  },
  staysInFlow: source => /^["']/.test(source) || isPlain(source, true),
  key: name => (isPlain(name, true) ? name : JSON.stringify(name)),
  assignment: ': ',
  braces: ['{ ', ' }'],
};

/** Reports whether a text means itself without quotes. */
function isPlain(value: string, isFlow: boolean): boolean {
  // YAML 1.1 reads words such as `yes` as true or false
  if (!/^[\w./~-][\x20-\x7e]*$/.test(value) || /^(?:y|n|yes|no|on|off)$/i.test(value)) return false;
  try {
    const read: unknown = parse(isFlow ? `{ a: [${value}, b] }` : `a: ${value}\n`);
    const own = isRecord(read) ? read.a : undefined;
    return (isFlow && Array.isArray(own) ? (own.length === 2 ? own[0] : undefined) : own) === value;
  } catch {
    return false;
  }
}
