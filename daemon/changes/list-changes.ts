// Lists the pending changes on disk, for programs that run while the daemon does not.
import { existsSync } from 'node:fs';
import type { Change } from '../api/changes.ts';
import type { Paths } from '../system/paths.ts';

/** Pending changes of the file, if it exists; those of a file that can't be read are left to the next daemon's report. */
export async function listChanges({ changes }: Pick<Paths, 'changes'>): Promise<Change[]> {
  if (!existsSync(changes)) return [];
  const { readChanges, describeChange, readClock } = await import('./changes-file.ts');
  const now = readClock();
  return readChanges(changes).pending.map(entry => describeChange(entry, now));
}
