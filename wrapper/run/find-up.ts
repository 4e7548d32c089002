// Looks for the file by which a directory chooses accounts; apart from directory.ts, because every run looks.
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const DIRECTORY_FILE = '.culvert-wrap.toml';

/** The nearest `.culvert-wrap.toml` at or above `directory`. */
export function directoryFile(directory: string): string | undefined {
  for (let dir = resolve(directory); ; dir = dirname(dir)) {
    const file = join(dir, DIRECTORY_FILE);
    if (existsSync(file)) return file;
    if (dir === dirname(dir)) return undefined;
  }
}
