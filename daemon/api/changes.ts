// Defines changes that revert automatically if they are not confirmed, or when their time is up.
import * as z from 'zod/mini';
import { SUBJECTS } from './actions.ts';
import { changeProblems, type EndpointTable, killSwitchProblems, tunnelProblems } from './endpoint.ts';
import { Message, Time } from './values.ts';

export const Subject = z.enum(SUBJECTS);
export type Subject = z.infer<typeof Subject>;

/** Seconds, at most ten minutes: a user who can confirm does so immediately. */
export const ConfirmWithin = z.int().check(z.gte(1), z.lte(600));
/** Seconds, at most a week. */
export const ForSeconds = z.int().check(z.gte(1), z.lte(604_800));

/** Options that limit how long a change lasts. */
export interface ChangeOptions {
  /** Seconds after which the previous value returns, unless the change is confirmed. */
  confirmWithin?: number | undefined;
  /** Seconds after which the previous value returns in any case. */
  forSeconds?: number | undefined;
  /** True if the change belongs to the previous change of routes: undo reverts both. */
  continues?: boolean | undefined;
}

/** A change that reverts automatically. */
export const Change = z.object({
  subject: Subject,
  /** The new value and the previous value, in readable form (`doh`); null for lists such as routes. */
  value: z.nullable(z.string()),
  previous: z.nullable(z.string()),
  setAt: Time,
  /** Time at which an unconfirmed change reverts; null if no confirmation is needed. */
  confirmBy: z.nullable(Time),
  /** Time at which the change ends; null if it stays once confirmed. */
  endsAt: z.nullable(Time),
  /** True if the change ends within a minute. */
  endingSoon: z.boolean(),
  /** Reason why reverting has failed so far; the daemon retries until it succeeds. */
  problem: z.nullable(z.string()),
  /**
   * Code of `problem`: a problem document's code, or `interrupted` if the daemon ended while it made the change.
   * Absent without a problem, and in older versions.
   */
  problemCode: z.optional(z.string()),
  /** `problem` in translatable form, if it says more than its code. */
  wording: z.optional(z.array(Message)),
});
export type Change = z.infer<typeof Change>;

/** Without a subject, the request applies to every eligible change. */
export const ChangeRequest = z.strictObject({ subject: z.optional(Subject) });
export type ChangeRequest = z.infer<typeof ChangeRequest>;
/** Makes a change end `seconds` from now. */
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
