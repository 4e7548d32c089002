// Defines changes that revert automatically: unless they are confirmed, or when their time is up.
import * as z from 'zod/mini';
import { SUBJECTS } from './actions.ts';
import { changeProblems, type EndpointTable, killSwitchProblems, tunnelProblems } from './endpoint.ts';
import { Message, Time } from './values.ts';

export const Subject = z.enum(SUBJECTS);
export type Subject = z.infer<typeof Subject>;

/** At most ten minutes: a user who can confirm does so immediately. */
export const ConfirmWithin = z.int().check(z.gte(1), z.lte(600));
/** At most a week. */
export const ForSeconds = z.int().check(z.gte(1), z.lte(604_800));

/** Options that limit how long a change lasts. */
export interface ChangeOptions {
  /** Seconds after which the previous value returns, unless the change is confirmed. */
  confirmWithin?: number | undefined;
  /** Seconds after which the previous value returns in any case. */
  forSeconds?: number | undefined;
  /** The change belongs to the change of routes before it: undo reverts both. */
  continues?: boolean | undefined;
}

/** A change that reverts automatically. */
export const Change = z.object({
  subject: Subject,
  /** The new value and the one to revert to, in readable form (`doh`); null for lists such as routes. */
  value: z.nullable(z.string()),
  previous: z.nullable(z.string()),
  setAt: Time,
  /** The previous value returns then, unless the change is confirmed; null if nothing is to be confirmed. */
  confirmBy: z.nullable(Time),
  /** The change ends then; null if it stays once it is confirmed. */
  endsAt: z.nullable(Time),
  /** It ends within a minute. */
  endingSoon: z.boolean(),
  /** Why the previous value could not be set again yet; that is tried until it succeeds. */
  problem: z.nullable(z.string()),
  /**
   * Code of `problem`: that of a problem document, or `interrupted` where the daemon ended while the change was being
   * made. Absent without one, and in older versions.
   */
  problemCode: z.optional(z.string()),
  /** `problem` to be translated, where it says more than its code. */
  wording: z.optional(z.array(Message)),
});
export type Change = z.infer<typeof Change>;

/** Without a subject: every change that this can mean. */
export const ChangeRequest = z.strictObject({ subject: z.optional(Subject) });
export type ChangeRequest = z.infer<typeof ChangeRequest>;
/** The change then ends so many seconds from now. */
export const ExtendRequest = z.strictObject({ subject: z.optional(Subject), seconds: ForSeconds });
/** The changes that remain pending. */
export const Changes = z.object({ ok: z.literal(true), changes: z.array(Change) });
export type Changes = z.infer<typeof Changes>;

export const changesEndpoints = {
  'POST /api/changes/confirm': {
    summary:
      'Keep a change that would be reverted; without a subject, keep every unconfirmed one and acknowledge lost changes',
    body: ChangeRequest,
    response: Changes,
    problems: ['nothing-pending', 'state-not-writable', ...killSwitchProblems],
  },
  'POST /api/changes/revert': {
    summary: 'Revert a change now that would be reverted later; without a subject, every one',
    body: ChangeRequest,
    response: Changes,
    problems: ['nothing-pending', 'routes-failed', ...changeProblems, ...killSwitchProblems, ...tunnelProblems],
  },
  'POST /api/changes/extend': {
    summary: 'Change when a timed change ends',
    body: ExtendRequest,
    response: Changes,
    problems: ['nothing-pending', 'state-not-writable'],
  },
} as const satisfies EndpointTable;
