// Keeps the last documents of routes for undo, and which of them is set. Pure, but for reading and writing the file.
import { readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { RoutesCause } from '../api/routes.ts';
import { errno, reason } from '../core/errors.ts';
import { makeDirectory, replaceFile } from '../core/files.ts';

const KEPT = 20;

const Item = z.object({
  id: z.int(),
  at: z.iso.datetime(),
  cause: RoutesCause,
  /** The document that was set before; null if that is not known. */
  before: z.nullable(z.int()),
  /** Identifies the list, whatever the text. */
  revision: z.string(),
  entries: z.int(),
  document: z.string(),
});
type Item = z.infer<typeof Item>;
const History = z.object({ version: z.literal(1), current: z.nullable(z.int()), items: z.array(Item) });
export type History = z.infer<typeof History>;

const NO_HISTORY: History = { version: 1, current: null, items: [] };

/**
 * A list that is set now. Going back to the document before moves there; everything else is a new document.
 * @param entry `at`: ISO 8601
 */
export function record(history: History, entry: Omit<Item, 'id' | 'before'>): History {
  const now = currentOf(history);
  // the same list with other comments
  if (now?.revision === entry.revision) return replaceItem(history, { ...now, document: entry.document });
  const before = undoTarget(history);
  if ((entry.cause === 'undo' || entry.cause === 'revert') && before?.revision === entry.revision)
    return { ...history, current: before.id };
  const id = Math.max(0, ...history.items.map(item => item.id)) + 1;
  return { version: 1, current: id, items: [...history.items, { ...entry, id, before: history.current }].slice(-KEPT) };
}

export function currentOf({ current, items }: History): Item | null {
  return items.find(({ id }) => id === current) ?? null;
}

/** The document that undo goes back to, or null. */
export function undoTarget(history: History): Item | null {
  const before = currentOf(history)?.before ?? null;
  return history.items.find(({ id }) => id === before) ?? null;
}

function replaceItem(history: History, item: Item): History {
  return { ...history, items: history.items.map(each => (each.id === item.id ? item : each)) };
}

/** A missing file means an empty history; a file that can't be parsed is renamed to `….broken`. */
export function loadHistory(path: string, say: (line: string) => void): History {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errno(error) !== 'ENOENT') say(`${path} can't be read: ${reason(error)}.`);
    return NO_HISTORY;
  }
  try {
    return z.parse(History, JSON.parse(text));
  } catch (error) {
    say(`${path} is not understood and is kept as ${path}.broken: ${reason(error)}`);
    renameSync(path, `${path}.broken`);
    return NO_HISTORY;
  }
}

/** @throws FileError */
export function saveHistory(path: string, history: History): void {
  makeDirectory(dirname(path));
  replaceFile(path, `${JSON.stringify(history)}\n`);
}
