// Describes a pending change for the API. Pure.
import type { Change } from '../api/changes.ts';
import type { Pending } from './changes-file.ts';
import { type Clock, remainingMs } from './deadline.ts';
import { textOf } from './values.ts';

/** Time before the end of a change from which people are reminded of it, in milliseconds. */
export const SOON_MS = 60_000;

/** Why a value could not be set again, as a change has it. */
export type Failure = Pick<Change, 'problem' | 'problemCode' | 'wording'>;

export function describeChange(entry: Pending, now: Clock, failure: Failure = { problem: null }): Change {
  const { previous, value, setAt, confirmBy, endsAt } = entry;
  return {
    subject: previous.subject,
    value,
    previous: textOf(previous),
    setAt,
    confirmBy: confirmBy?.at ?? null,
    endsAt: endsAt?.at ?? null,
    endingSoon: endsAt !== null && remainingMs(endsAt, now) <= SOON_MS,
    ...failure,
  };
}
