// Reads and edits the text of a configuration file; imported only when needed.
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { ConfigProblem } from '../api/config.ts';
import type { Message } from '../api/values.ts';
import { message, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { DEFAULTS, flatten, isSwitch, KEYS, type Layer } from './keys.ts';

/**
 * Reads the text of a file: its valid keys, and its problems with their lines.
 * A problem without a key concerns the whole file, and no value is used.
 */
export async function read(text: string): Promise<{ values: Layer; problems: Omit<ConfigProblem, 'file'>[] }> {
  if (text.trim() === '') return { values: {}, problems: [] }; // as `touch` creates it
  try {
    return await readTree(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the parser recurses for every level
    return { values: {}, problems: [problemAt(null, null, message('nested too deeply'))] };
  }
}

function problemAt(line: number | null, key: string | null, wording: Message): Omit<ConfigProblem, 'file'> {
  return { line, key, message: wordMessage(wording, english), wording };
}

async function readTree(text: string): ReturnType<typeof read> {
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  if (errors[0]) {
    const reason = printParseErrorCode(errors[0].error).replace(/(?<=.)[A-Z]/g, c => ` ${c.toLowerCase()}`);
    return {
      values: {},
      problems: [problemAt(lineAt(errors[0].offset), null, message('not valid JSON: %s', reason))],
    };
  }
  if (root?.type !== 'object') return { values: {}, problems: [problemAt(1, null, message('expected an object'))] };

  const values: Layer = {};
  const problems: Omit<ConfigProblem, 'file'>[] = [];
  for (const [key, value] of flatten(getNodeValue(root))) {
    const types = isSwitch(key, value) ? null : await import('./types.ts');
    if (types === null || types.accepts(key, value)) {
      values[key] = value;
      continue;
    }
    const node = findNodeAtLocation(root, key.split('.')) ?? findNodeAtLocation(root, [key]);
    const why = KEYS.has(key)
      ? message('expected %s', types.expected(key))
      : Object.hasOwn(DEFAULTS, key)
        ? message('expected an object')
        : message('unknown key');
    problems.push(problemAt(node ? lineAt(node.offset) : null, key, why));
  }
  return { values, problems };
}

/**
 * Changes keys, or removes them for null, and keeps the layout and everything else. Returns an obstacle if a change would
 * have no effect: the key exists twice, or its group is not an object.
 */
export async function edit(
  text: string,
  changes: readonly [string, unknown][],
): Promise<string | { obstacle: string }> {
  const formattingOptions = { insertSpaces: true, tabSize: 2, insertFinalNewline: true };
  let edited = text.trim() === '' ? '{}\n' : text;
  for (const [key, value] of changes) {
    try {
      edited = applyEdits(edited, modify(edited, key.split('.'), value ?? undefined, { formattingOptions }));
    } catch {
      return { obstacle: `${key.split('.')[0]}: expected an object` }; // jsonc-parser: Can not add index (glossary: quoted) to parent of …
    }
  }
  const { values } = await read(edited);
  const lost = changes.find(([key, value]) => values[key] !== (value ?? undefined));
  return lost ? { obstacle: `${lost[0]}: is there more than once` } : edited;
}
