// Keeps between two runs what `culvert-wrap metrics` has counted, and the key of hashed names.

import { readOptional } from '../../../daemon/core/files.ts';
import { randomHex } from '../../../daemon/core/hash.ts';
import { withLock, writeAtomic } from '../../system/files.ts';
import type { Paths } from '../paths.ts';
import { advance, emptyTally, type Tally } from './tally.ts';

/**
 * Counts on from where the last call ended, and stores that.
 * @returns also where it could not be stored: the next call then counts from the same place again
 */
export function keepTally(paths: Paths, failed: (error: unknown) => void): Tally {
  try {
    return withLock(paths.tally, () => {
      const next = advance(paths, storedTally(paths));
      try {
        writeAtomic(paths.tally, `${JSON.stringify(next)}\n`);
      } catch (error) {
        failed(error);
      }
      return next;
    });
  } catch (error) {
    failed(error);
    return advance(paths, storedTally(paths));
  }
}

/**
 * The key of hashed names, made when it is first needed.
 * @throws WrapError `not-stored`, `locked`
 */
export function metricsKey(paths: Paths): string {
  const stored = () => /^[0-9a-f]{32}$/.exec(readOptional(paths.metricsKey)?.trim() ?? '')?.[0];
  return (
    stored() ??
    withLock(paths.metricsKey, () => {
      const made = stored() ?? randomHex(16);
      writeAtomic(paths.metricsKey, `${made}\n`);
      return made;
    })
  );
}

/** A damaged file makes counting start again. */
function storedTally(paths: Paths): Tally {
  try {
    const stored = JSON.parse(readOptional(paths.tally) ?? '{}') as { [K in keyof Tally]?: unknown };
    const { log, older, position, runs, switches } = stored;
    const isKnown = isIdentity(log) && isIdentity(older) && Number.isSafeInteger(position) && Number(position) >= 0;
    if (isKnown && isTable(runs) && isTable(switches)) return stored as Tally;
  } catch {
    // below
  }
  return emptyTally();
}

function isIdentity(value: unknown): boolean {
  if (typeof value !== 'object') return false;
  return (
    value === null ||
    ('inode' in value && Number.isSafeInteger(value.inode) && 'head' in value && typeof value.head === 'string')
  );
}

function isTable(value: unknown): value is Tally['runs'] {
  const isRecord = (item: unknown): item is object => typeof item === 'object' && item !== null && !Array.isArray(item);
  return (
    isRecord(value) &&
    Object.values(value).every(row => isRecord(row) && Object.values(row).every(n => Number.isSafeInteger(n) && n >= 0))
  );
}
