// Edits tables in a TOML text line by line, because parsing and printing it would lose comments and layout.
import { parse } from 'smol-toml';

type Value = boolean | number | string | readonly string[] | { readonly [key: string]: string | readonly string[] };

/** Adds a `[[name]]` table at the end. */
export function appendTable(text: string, name: string, values: Record<string, Value>): string {
  return append(text, `[[${name}]]`, values);
}

/** Adds a `[name]` table at the end. Omits keys without a value. */
export function appendSection(text: string, name: string, values: Record<string, Value | undefined>): string {
  return append(text, `[${name}]`, values);
}

function append(text: string, header: string, values: Record<string, Value | undefined>): string {
  const lines = Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key} = ${print(value)}\n`],
  );
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return `${text}${gap}${header}\n${lines.join('')}`;
}

/** Removes the `[name]` table, its `[name.…]` tables, and the comment lines directly above it. */
export function removeSection(text: string, name: string): string {
  const lines = text.split('\n');
  const own = new RegExp(`^\\s*\\[\\s*${name}\\s*[.\\]]`);
  let start = lines.findIndex(line => own.test(line));
  if (start < 0) return text;
  let end = start + 1;
  while (end < lines.length && (!/^\s*\[/.test(lines[end]!) || own.test(lines[end]!))) end++;
  while (end > start + 1 && /^\s*(#.*)?$/.test(lines[end - 1]!)) end--;
  while (start > 0 && /^\s*#/.test(lines[start - 1]!)) start--;
  if (lines[end]?.trim() === '' && (start === 0 || lines[start - 1]?.trim() === '')) end++;
  return [...lines.slice(0, start), ...lines.slice(end)].join('\n');
}

/** Removes the `index`-th `[[name]]` table and the comment lines directly above it. */
export function removeTable(text: string, name: string, index: number): string {
  const lines = text.split('\n');
  const block = findTable(lines, name, index);
  if (!block) return text;
  const { start } = withComments(lines, block);
  let { end } = block;
  if (lines[end]?.trim() === '' && (start === 0 || lines[start - 1]?.trim() === '')) end++;
  return [...lines.slice(0, start), ...lines.slice(end)].join('\n');
}

/**
 * Moves the `[[name]]` tables, each with the comment lines directly above it.
 * @param order the present index of each table, in the new order
 */
export function orderTables(text: string, name: string, order: readonly number[]): string {
  const lines = text.split('\n');
  const blocks = order.map((_, index) => withComments(lines, findTable(lines, name, index)));
  const moved = blocks.flatMap(({ start }, index) => {
    const from = blocks[order[index]!]!;
    return [...lines.slice(index === 0 ? 0 : blocks[index - 1]!.end, start), ...lines.slice(from.start, from.end)];
  });
  return [...moved, ...lines.slice(blocks.at(-1)?.end ?? 0)].join('\n');
}

/** Sets keys in the `index`-th `[[name]]` table; keeps a comment after an old value. */
export function setInTable(text: string, name: string, index: number, values: Record<string, Value>): string {
  return Object.entries(values).reduce((now, [key, value]) => setKey(now, { name, index }, key, value), text);
}

function setKey(text: string, { name, index }: { name: string; index: number }, key: string, value: Value): string {
  const lines = text.split('\n');
  const block = findTable(lines, name, index);
  if (!block) return text;
  const at = lines.findIndex(
    (line, i) => i > block.start && i < block.end && new RegExp(`^\\s*${key}\\s*=`).test(line),
  );
  if (at < 0) lines.splice(block.start + 1, 0, `${key} = ${print(value)}`);
  else lines[at] = replaceValue(lines[at]!, print(value));
  return lines.join('\n');
}

/** Adds the comment lines directly above a table to its lines. */
function withComments(lines: readonly string[], block: Block | undefined): Block {
  let { start, end } = block ?? { start: 0, end: 0 };
  while (start > 0 && /^\s*#/.test(lines[start - 1]!)) start--;
  return { start, end };
}

/** Lines of a text; excludes `end`. */
interface Block {
  start: number;
  end: number;
}

/** Returns a table's lines without trailing blanks and comments, which belong to the next table. */
function findTable(lines: string[], name: string, index: number): Block | undefined {
  const header = new RegExp(`^\\s*\\[\\[\\s*${name}\\s*\\]\\]`);
  let start = -1;
  for (let seen = -1, i = 0; i < lines.length && start < 0; i++) {
    if (header.test(lines[i]!) && ++seen === index) start = i;
  }
  if (start < 0) return undefined;
  let next = start + 1;
  // A header such as `[accounts.env]` continues the table; any other header ends it.
  while (
    next < lines.length &&
    !(/^\s*\[/.test(lines[next]!) && !new RegExp(`^\\s*\\[\\s*${name}\\.`).test(lines[next]!))
  )
    next++;
  let end = next;
  while (end > start + 1 && /^\s*(#.*)?$/.test(lines[end - 1]!)) end--;
  return { start, end };
}

function replaceValue(line: string, printed: string): string {
  const head = line.slice(0, line.indexOf('=') + 1);
  // The comment begins after the shortest complete assignment.
  for (let hash = line.indexOf('#'); hash >= 0; hash = line.indexOf('#', hash + 1)) {
    if (isToml(line.slice(0, hash))) return `${head} ${printed} ${line.slice(hash)}`;
  }
  return `${head} ${printed}`;
}

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

function print(value: Value): string {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (isList(value)) return `[${value.map(print).join(', ')}]`;
  // TOML accepts JSON strings as basic strings, except for an unescaped DEL.
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
  const pairs = Object.entries(value).map(
    ([key, item]) => `${/^[\w-]+$/.test(key) ? key : print(key)} = ${print(item)}`,
  );
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}

function isList(value: Value): value is readonly string[] {
  return Array.isArray(value);
}
