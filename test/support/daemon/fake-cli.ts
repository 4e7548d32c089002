// Executable fakes of the tunnel CLI, and what tests ask of the processes that they start.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../temporary.ts';

export interface Folder {
  path: string;
  /** Writes an executable shell script and returns its path. */
  script(name: string, body: string): string;
  /** Content of a file in the folder; empty if it does not exist. */
  read(name: string): string;
  remove(): void;
}

export function folder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'culvert-warp-'));
  return {
    path,
    script(name, body) {
      const file = join(path, name);
      writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
      return file;
    },
    read(name) {
      try {
        return readFileSync(join(path, name), 'utf8');
      } catch {
        return '';
      }
    },
    remove: () => removeTree(path),
  };
}

/** True for a process that runs; a killed process that is not yet reaped does not. */
export function alive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
