// Reads JSON with comments and trailing commas as a tree.
import { type Node as JsonNode, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { isText } from '../../../daemon/core/shape.ts';
import { type Node, type Notation, unreadable } from './tree.ts';

/** @throws Failure */
export function readJson(text: string): Node {
  if (text.trim() === '') return { kind: 'table', start: 0, end: text.length, entries: [], isBlock: false };
  const errors: ParseError[] = [];
  const root = parse(text, errors);
  const [error] = errors;
  if (root && !error) return nodeOf(root);
  const why = (error ? printParseErrorCode(error.error) : 'no value')
    .replace(/(?<!^)[A-Z]/g, letter => ` ${letter}`)
    .toLowerCase();
  throw unreadable(`line ${text.slice(0, error?.offset ?? 0).split('\n').length}: ${why}`);
}

function parse(text: string, errors: ParseError[]): JsonNode | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    // the parser recurses for every level
    if (error instanceof RangeError) throw unreadable('it is nested too deeply');
    throw error;
  }
}

function nodeOf({ type, offset: start, length, value, children = [] }: JsonNode): Node {
  const place = { start, end: start + length };
  if (type === 'array') return { kind: 'list', ...place, items: children.map(nodeOf), isBlock: false };
  if (type !== 'object') return { kind: 'scalar', ...place, value: value as unknown };
  const entries = children.flatMap(({ children: [key, own] = [] }) =>
    key && own && isText(key.value) ? { key: key.value, start: key.offset, prefix: '', value: nodeOf(own) } : [],
  );
  return { kind: 'table', ...place, entries, isBlock: false };
}

export const JSON_NOTATION: Notation = {
  text(value, like = '') {
    const printed = JSON.stringify(value);
    // some programs write `/` as `\/`
    const slashed = /(?<!\\)(?:\\\\)*\\\//.test(like) ? printed.replaceAll('/', '\\/') : printed;
    const isEscaped = /\\u[\da-f]{4}/i.test(like) && !/[^\0-\x7f]/.test(like);
    return isEscaped ? slashed.replace(/[^\0-\x7f]/g, escaped) : slashed;
  },
  staysInFlow: () => true,
  key: name => JSON.stringify(name),
  assignment: ': ',
  braces: ['{ ', ' }'],
};

function escaped(unit: string): string {
  return Array.from({ length: unit.length }, (_, index) => {
    return `\\u${unit.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
