// The state file: read whole, replaced whole, changed by one process at a time.
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { freshState } from './fresh.ts';
import type { State } from './state.ts';

export class StoreError extends Error {
  readonly code = 'ELOCKED';
}

/**
 * The stored state; the first call makes it. A file that is not a state (an editor's accident, a full disk) is put
 * aside as `….broken` and begun anew.
 */
export function load(file: string): State {
  return read(file) ?? update(file, state => state);
}

/**
 * Changes the state under the lock. `change` may alter its argument; what it returns is passed on.
 * The file is only replaced when something changed, so listeners hear of changes alone.
 * @throws StoreError ELOCKED when the lock is held by a living process for 15 s
 */
export function update<T>(file: string, change: (state: State) => T): T {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const release = lock(`${file}.lock`);
  try {
    const stored = read(file);
    if (stored === null) putAside(file);
    const state = stored ?? freshState(Math.floor(Math.random() * 0xffffffff));
    const before = stored === null ? '' : serialise(stored);
    const result = change(state);
    const after = serialise(state);
    if (after !== before) replace(file, after);
    return result;
  } finally {
    release();
  }
}

const serialise = (state: State) => `${JSON.stringify(state, null, 1)}\n`;

function read(file: string): State | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const state = JSON.parse(text) as State;
    return state.format === 1 ? state : null;
  } catch {
    return null;
  }
}

function putAside(file: string): void {
  try {
    renameSync(file, `${file}.broken`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/**
 * The lock's holder alone writes, so one name for the new file does, and what a killed one left is overwritten.
 * Without fsync: a killed process can't lose a rename, and after a power cut an emulator may begin anew.
 */
function replace(file: string, text: string): void {
  const next = `${file}.next`;
  const fd = openSync(next, 'w', 0o600);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
  renameSync(next, file);
}

/** A lock appears complete (link) and names its holder by pid and start time, so that a dead one is recognised. */
function lock(path: string): () => void {
  const me = `${process.pid} ${startOf(process.pid)}`;
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, me, { mode: 0o600 });
  const deadline = Date.now() + 15_000;
  try {
    for (;;) {
      try {
        linkSync(mine, path);
        return () => unlinkSync(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = contents(path);
      if (holder !== null && startOf(holder.split(' ')[0]!) !== holder.split(' ')[1]) breakLock(path, holder);
      else if (Date.now() > deadline)
        throw new StoreError(`The state is locked by ${path} (process ${holder}). Wait for it, or end it.`);
      else pause(1 + Math.random() * 4);
    }
  } finally {
    unlinkSync(mine);
  }
}

/** Breakers take turns and look again, or two of them would remove a third one's new lock. */
function breakLock(path: string, holder: string): void {
  const turn = `${path}.break`;
  try {
    mkdirSync(turn, 0o700);
  } catch {
    try {
      if (Date.now() - statSync(turn).mtimeMs > 5000) rmdirSync(turn);
    } catch {
      // Another breaker has finished.
    }
    pause(2);
    return;
  }
  try {
    if (contents(path) === holder) unlinkSync(path);
  } finally {
    rmdirSync(turn);
  }
}

function contents(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}

/** Start time in clock ticks since boot, field 22 of /proc/PID/stat (proc(5)); null for the dead and for zombies. */
export function startOf(pid: number | string): string | null {
  const stat = contents(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return !fields || fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
