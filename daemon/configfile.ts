// A configuration file's text and types; apart from config.ts, because most users have no file and need none of this.
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import * as z from 'zod/mini';
import { Config, type ConfigProblem } from './api/schema.ts';
import { flatten, type Layer } from './configkeys.ts';

/** The type of each dotted key, from the contract. */
const TYPES: Record<string, z.ZodMiniType> = Object.fromEntries(
  Object.entries(Config.shape).flatMap(([group, { shape }]) =>
    Object.entries(shape).map(([key, type]) => [`${group}.${key}`, type]),
  ),
);

/** Whether a key exists and takes this value. */
export function accepts(key: string, value: unknown): boolean {
  return Object.hasOwn(TYPES, key) && z.safeParse(TYPES[key]!, value).success;
}

/** What a key takes, in words. */
export function expected(key: string): string {
  const { type, enum: values, anyOf, minimum, maximum } = z.toJSONSchema(TYPES[key]!) as Record<string, unknown>;
  if (values) return `one of ${(values as string[]).join(', ')}`;
  if (anyOf) return 'an IP address';
  if (type === 'integer') return `a whole number from ${minimum} to ${maximum}`;
  return type === 'boolean' ? 'true or false' : 'a text';
}

/**
 * Reads a file's text: the keys that are right, and what is wrong, by line.
 * A problem without key concerns the whole file, of which nothing is taken then.
 */
export function read(text: string): { values: Layer; problems: Omit<ConfigProblem, 'file'>[] } {
  try {
    return readTree(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the parser calls itself for every level
    return { values: {}, problems: [{ line: null, key: null, message: 'nested too deeply' }] };
  }
}

function readTree(text: string): ReturnType<typeof read> {
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  if (errors[0]) {
    const reason = printParseErrorCode(errors[0].error).replace(/(?<=.)[A-Z]/g, c => ` ${c.toLowerCase()}`);
    return {
      values: {},
      problems: [{ line: lineAt(errors[0].offset), key: null, message: `not valid JSON: ${reason}` }],
    };
  }
  if (root?.type !== 'object') return { values: {}, problems: [{ line: 1, key: null, message: 'expected an object' }] };

  const values: Layer = {};
  const problems: Omit<ConfigProblem, 'file'>[] = [];
  for (const [key, value] of flatten(getNodeValue(root))) {
    if (accepts(key, value)) {
      values[key] = value;
      continue;
    }
    const node = findNodeAtLocation(root, key.split('.')) ?? findNodeAtLocation(root, [key]);
    const message = Object.hasOwn(TYPES, key)
      ? `expected ${expected(key)}`
      : Object.hasOwn(Config.shape, key)
        ? 'expected an object'
        : 'unknown key';
    problems.push({ line: node ? lineAt(node.offset) : null, key, message });
  }
  return { values, problems };
}

/**
 * The text with keys changed, or removed by null; layout and all else stay. Where the text is such that a change would
 * not hold (a key that stands there twice, a group that is no object), what is in its way.
 */
export function edit(text: string, changes: readonly [string, unknown][]): string | { obstacle: string } {
  const formattingOptions = { insertSpaces: true, tabSize: 2, insertFinalNewline: true };
  let edited = text;
  for (const [key, value] of changes) {
    try {
      edited = applyEdits(edited, modify(edited, key.split('.'), value ?? undefined, { formattingOptions }));
    } catch {
      return { obstacle: `${key.split('.')[0]}: expected an object` }; // jsonc-parser: Can not add index to parent of …
    }
  }
  const { values } = read(edited);
  const lost = changes.find(([key, value]) => values[key] !== (value ?? undefined));
  return lost ? { obstacle: `${lost[0]}: stands there more than once` } : edited;
}
