// Lists the pending changes on disk, for programs that run while the daemon does not.
import { existsSync } from 'node:fs';
import type { Change } from '../api/schema/changes.ts';
import type { Paths } from '../system/paths.ts';

/** Pending changes of the files that exist; those of a file that can't be read are left to the next daemon's report. */
export async function listChanges(places: readonly Pick<Paths, 'changes'>[]): Promise<Change[]> {
  const files = places.map(({ changes }) => changes).filter(file => existsSync(file));
  if (!files.length) return [];
  const [{ readChanges }, { describeChange }, { readClock }] = await Promise.all([
    import('./changes-file.ts'),
    import('./describe-change.ts'),
    import('./deadline.ts'),
  ]);
  return files.flatMap(file => readChanges(file).pending.map(entry => describeChange(entry, readClock())));
}
