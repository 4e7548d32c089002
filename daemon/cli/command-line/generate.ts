// Writes the manual page and the completions, which packages install with the program, from the command table.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../system/build-info.ts';
import { makeDirectory } from '../../system/files.ts';
import { bash, fish, zsh } from './completions.ts';
import { manual } from './manual.ts';

/**
 * Writes `culvert.1`, `culvert.bash`, `_culvert` (zsh) and `culvert.fish` into a directory, which is made if missing.
 * @returns the names written.
 */
export async function generate(directory: string): Promise<string[]> {
  const files = { 'culvert.1': manual(VERSION), 'culvert.bash': bash(), _culvert: zsh(), 'culvert.fish': fish() };
  makeDirectory(directory, 0o777);
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return Object.keys(files);
}
