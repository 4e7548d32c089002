// Remembers the length of the user's last pause, which every client offers first. Without zod, which the start does not load.
import { readFileSync } from 'node:fs';
import type { ActionRequest } from '../api/actions.ts';
import type { ChangeOptions } from '../api/changes.ts';
import type { Snapshot } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../system/errno.ts';
import { makeDirectory, replaceFile } from '../system/files.ts';

/** The limit of `ForSeconds` (api/changes.ts). */
const LONGEST = 604_800;

type Context = Pick<FeatureContext, 'paths' | 'state' | 'say'>;

/** Publishes the length that was remembered. A file that is missing or damaged is as good as none. */
export function readLastPause({ paths, state }: Context): void {
  try {
    const stored: unknown = JSON.parse(readFileSync(paths.lastPause, 'utf8'));
    const pause = pauseOf((stored as Partial<{ seconds: unknown }> | null)?.seconds);
    if (pause) state.set('lastPause', pause);
  } catch {
    // clients offer their own lengths
  }
}

/** Remembers the length of a pause that has begun; other actions change nothing. */
export function rememberPause(
  { action, forSeconds }: ActionRequest & ChangeOptions,
  { paths, state, say }: Context,
): void {
  const pause = action === 'disconnect' ? pauseOf(forSeconds) : null;
  if (!pause || pause.seconds === state.snapshot().lastPause?.seconds) return;
  state.set('lastPause', pause);
  try {
    makeDirectory(paths.lastPause.slice(0, paths.lastPause.lastIndexOf('/')));
    replaceFile(paths.lastPause, `${JSON.stringify(pause)}\n`);
  } catch (error) {
    say(`The length of the pause could not be remembered: ${reason(error)}`);
  }
}

/** A length in whole minutes: a pause until a time of day has another one tomorrow. */
function pauseOf(seconds: unknown): Snapshot['lastPause'] {
  const isLength = typeof seconds === 'number' && seconds % 60 === 0 && seconds >= 60 && seconds <= LONGEST;
  return isLength ? { seconds } : null;
}
