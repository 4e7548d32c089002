// Stores the code that V8 compiled in this run for the next one; `loader.ts` reads it.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Script } from 'node:vm';
import { assertPrivate, writeAtomic } from './files.ts';

/** A script whose code is in no file that could be used. */
export interface UnsavedCode {
  file: string;
  script: Script;
}

/** Files of other versions that are kept: a home may be shared between machines. */
const KEPT = 8;

/**
 * Stores compiled code, twice in a row: V8 crashes on damaged code, and comparing takes less time than a digest, which
 * needs node:crypto (2 ms). It never fails: the next run then compiles again.
 */
export function saveCode(unsaved: readonly UnsavedCode[]): void {
  try {
    for (const { file, script } of unsaved) {
      const directory = dirname(file);
      // a home in which nothing of the wrapper's is: it may be meant to stay empty
      if (!existsSync(dirname(directory))) continue;
      for (const dir of [dirname(directory), directory]) assertPrivate(dir);
      const code = script.createCachedData();
      writeAtomic(file, Buffer.concat([code, code]));
      removeOld(directory);
    }
  } catch {
    // This is a service; it must not stop a command.
  }
}

function removeOld(directory: string): void {
  const files = readdirSync(directory).map(name => join(directory, name));
  const age = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const file of files.sort((a, b) => age(b) - age(a)).slice(KEPT)) rmSync(file, { force: true });
}
