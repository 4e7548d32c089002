// Keeps the state file: reads it whole, replaces it whole, and lets one process at a time change it.
import { readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { errno } from '../system/errno.ts';
import { makeDirectory, replaceFile } from '../system/files.ts';
import { acquireLock } from '../system/lock.ts';
import { initialState, type State } from './state.ts';

const LOCK_WAIT_MS = 15_000;

export class StoreError extends Error {
  readonly code = 'ELOCKED';
}

/**
 * The stored state; the first call makes it. A file that is not a state (an editor's accident, a full disk) is put
 * aside as `….broken` and started over.
 */
export function load(file: string): State {
  return read(file) ?? update(file, state => state);
}

/**
 * Changes the state under the lock. `change` may alter its argument; what it returns is passed on.
 * The file is only replaced when something changed, so listeners hear of changes only.
 * @throws StoreError ELOCKED when the lock is held by a living process for 15 s
 */
export function update<T>(file: string, change: (state: State) => T): T {
  makeDirectory(dirname(file));
  const lock = acquireLock(`${file}.lock`, LOCK_WAIT_MS);
  if ('heldBy' in lock)
    throw new StoreError(`The state is locked by ${file}.lock (process ${lock.heldBy}). Wait for it, or end it.`);
  try {
    const stored = read(file);
    if (stored === null) putAside(file);
    const state = stored ?? initialState(Math.floor(Math.random() * 0xffffffff));
    const before = stored === null ? '' : serialize(stored);
    const result = change(state);
    const after = serialize(state);
    if (after !== before) replaceFile(file, after, { durable: false });
    return result;
  } finally {
    lock.release();
  }
}

const serialize = (state: State) => `${JSON.stringify(state, null, 1)}\n`;

function read(file: string): State | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errno(error) === 'ENOENT') return null;
    throw error;
  }
  return parseState(text);
}

function putAside(file: string): void {
  try {
    renameSync(file, `${file}.broken`);
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error;
  }
}

/** Parts that are null at other times. */
const NULLABLE = ['registration', 'license'];

/** null for anything but a state of this format: it has every part of an initial state, each of the same kind. */
function parseState(text: string): State | null {
  try {
    const value: unknown = JSON.parse(text);
    return isState(value) ? value : null;
  } catch {
    return null;
  }
}

function isState(value: unknown): value is State {
  const model = initialState(0);
  return fits(value, model) && (value as State).format === model.format;
}

function fits(value: unknown, model: unknown): boolean {
  if (model === null) return value !== undefined;
  if (Array.isArray(model)) return Array.isArray(value);
  if (typeof model !== 'object') return typeof value === typeof model;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(model).every(([key, part]) => {
    const field = Reflect.get(value, key);
    return (field === null && NULLABLE.includes(key)) || fits(field, part);
  });
}
