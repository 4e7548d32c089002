// Words of a state that could not be read again: when it was last known, and what WARP answered since. Every surface that shows
// a state shows these with it.
import type { Snapshot } from '../../../api/schema.ts';
import { timeOfDay } from '../../format.ts';
import { fill, type Translator } from '../../translator.ts';

type Status = Pick<Snapshot['status'], 'state' | 'blocked' | 'lastKnown'>;
type Old = Status & { lastKnown: NonNullable<Status['lastKnown']> };

/** Reads of the status fail, and the last one still counts. */
export function isOld<S extends Status>(status: S): status is S & Old {
  return status.lastKnown !== undefined && status.state !== 'unknown' && status.blocked === null;
}

/** `Connected, as of 15:21`. @param name the state in a few words */
export function asOf(name: string, { lastKnown }: Old, { _ }: Translator): string {
  // Translators: the first %s is a state such as Connected, the second the time of day at which it was last known
  return fill(_('%s, as of %s'), name, timeOfDay(lastKnown.at, false));
}

/** Why the state could not be read again. */
export function silenceText({ lastKnown }: Old, { _ }: Translator): string {
  return lastKnown.said === null
    ? _('WARP does not answer.')
    : // Translators: %s is an error message of WARP, in English
      fill(_('WARP answers with an error: %s'), lastKnown.said.replace(/^error: /i, ''));
}
