// Reads TOML as a tree. A table with its own header becomes part of the table around it.
import { type AST, ParseError, parseTOML } from 'toml-eslint-parser';
import { type Entry, type Node, type Notation, type Table, unreadable } from './tree.ts';

/** @throws Failure */
export function readToml(text: string): Node {
  const [{ body }] = parse(text).body;
  const root = blockTable(0, text.length);
  for (const each of body) {
    if (each.type === 'TOMLKeyValue') addPair(root, each, text);
    else {
      const table = tableFor(root, each.resolvedKey, each.range);
      for (const pair of each.body) addPair(table, pair, text);
    }
  }
  return root;
}

function parse(text: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: '1.1' });
  } catch (error) {
    if (error instanceof ParseError) throw unreadable(`line ${lineOf(error, text)}: ${error.message}`);
    if (error instanceof RangeError) throw unreadable('it is nested too deeply');
    throw error;
  }
}

/** Returns the line of an error. Where a value is missing, the parser is behind the line's end already. */
function lineOf({ lineNumber, index, message }: ParseError, text: string): number {
  if (!/^Unspecified/.test(message)) return lineNumber;
  return text.slice(0, index).trimEnd().split('\n').length;
}

function blockTable(start: number, end: number): Table {
  return { kind: 'table', start, end, entries: [], isBlock: true };
}

/** Returns the table at a path, and makes it and the tables around it where they are missing. */
function tableFor(root: Table, path: readonly (string | number)[], [start, end]: readonly [number, number]): Table {
  let node: Node = root;
  for (const [index, key] of path.entries()) {
    const isArray = typeof path[index + 1] === 'number';
    const next: Node = isArray ? { kind: 'list', start, end, items: [], isBlock: true } : blockTable(start, end);
    node = typeof key === 'number' ? itemOf(node, key, next) : entryOf(node, key, next, { start, prefix: '' });
  }
  if (node.kind !== 'table') throw unreadable('a header names a value that is no table');
  return node;
}

function itemOf(list: Node, index: number, next: Node): Node {
  if (list.kind !== 'list') throw unreadable('a header names a value that is no list');
  const known = list.items[index];
  if (known) return known;
  list.items[index] = next;
  return next;
}

function entryOf(table: Node, key: string, next: Node, place: Pick<Entry, 'start' | 'prefix'>): Node {
  if (table.kind !== 'table') throw unreadable('a key names a value that is no table');
  const known = table.entries.find(entry => entry.key === key);
  if (known) return known.value;
  table.entries.push({ key, ...place, value: next });
  return next;
}

/** Adds a pair, whose key may be dotted. */
function addPair(table: Table, { key, value, range }: AST.TOMLKeyValue, text: string): void {
  const names = key.keys.map(part => (part.type === 'TOMLBare' ? part.name : part.value));
  let node: Node = table;
  for (const name of names.slice(0, -1))
    node = entryOf(node, name, blockTable(range[0], range[1]), { start: range[0], prefix: '' });
  if (node.kind !== 'table') throw unreadable('a key names a value that is no table');
  const prefix = text.slice(range[0], key.keys.at(-1)!.range[0]);
  node.entries.push({ key: names.at(-1)!, start: range[0], prefix, value: nodeOf(value, text) });
}

function nodeOf(content: AST.TOMLContentNode, text: string): Node {
  const [start, end] = content.range;
  if (content.type === 'TOMLArray')
    return { kind: 'list', start, end, items: content.elements.map(each => nodeOf(each, text)), isBlock: false };
  if (content.type === 'TOMLValue') return { kind: 'scalar', start, end, value: content.value };
  const table: Table = { kind: 'table', start, end, entries: [], isBlock: false };
  for (const pair of content.body) addPair(table, pair, text);
  return table;
}

/** TOML accepts JSON strings as basic strings, except for an unescaped DEL. */
function basic(value: string): string {
  return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
}

export const TOML_NOTATION: Notation = {
  text(value, like = '') {
    const isLiteral = like.startsWith("'") && !/['\0-\x08\x0a-\x1f\x7f]/.test(value);
    return isLiteral ? `'${value}'` : basic(value);
  },
  staysInFlow: () => true,
  key: name => (/^[\w-]+$/.test(name) ? name : basic(name)),
  assignment: ' = ',
  braces: ['{ ', ' }'],
};
