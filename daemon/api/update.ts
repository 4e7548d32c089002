// Defines updates of Culvert in the contract.
import * as z from 'zod/mini';
import { Empty, type EndpointTable, Flag } from './endpoint.ts';
import { Count, type ProblemCode, Time } from './values.ts';

export const UpdateCheck = z.object({
  ok: z.literal(true),
  current: z.string(),
  channel: z.string(),
  latest: z.nullable(z.string()),
  updateAvailable: z.boolean(),
  manifest: z.nullable(
    z.object({ generatedAt: Time, tag: z.nullable(z.string()), signed: z.boolean(), signer: z.nullable(z.string()) }),
  ),
  checkedAt: Time,
  /** Reason for a failed check; `code` is the refusal's own code. */
  problem: z.nullable(z.object({ code: z.string(), detail: z.string() })),
  /** State of the update source; `unreachable` after 7 days of unanswered checks. */
  source: z.object({ state: z.enum(['ok', 'expired', 'refused', 'unreachable']), lastAnswerAt: z.nullable(Time) }),
  /** True if `POST /api/update/apply` can bring this installation to `latest`. */
  applicable: z.boolean(),
  /** Command for a manual update, ready to copy, if the daemon can't update. */
  command: z.nullable(z.string()),
  /** The version that `POST /api/update/rollback` restores, or null. */
  previous: z.nullable(z.string()),
  /** Progress while an update is applied; sizes in bytes. */
  progress: z.nullable(
    z.object({ phase: z.enum(['downloading', 'verifying', 'installing']), received: Count, total: Count }),
  ),
});
export type UpdateCheck = z.infer<typeof UpdateCheck>;

/** Reply before the daemon restarts as version `to`. */
export const UpdateResponse = z.object({ ok: z.literal(true), from: z.string(), to: z.string() });
export type UpdateResponse = z.infer<typeof UpdateResponse>;

const updateProblems = [
  'update-refused',
  'update-not-applicable',
  'update-failed',
  'busy',
] as const satisfies readonly ProblemCode[];

export const updateEndpoints = {
  'GET /api/update/check': {
    summary:
      'Check for a newer release; `problem` explains a failed check, and answers are cached for minutes, unless `fresh=1`',
    query: z.strictObject({ fresh: z.optional(Flag) }),
    response: UpdateCheck,
  },
  'POST /api/update/apply': {
    summary: 'Fetch, verify and install the newest release, then restart; progress comes as `update` events',
    body: Empty,
    response: UpdateResponse,
    problems: updateProblems,
  },
  'POST /api/update/rollback': {
    summary: 'Return to the version before the last update, and restart',
    body: Empty,
    response: UpdateResponse,
    problems: updateProblems,
  },
} as const satisfies EndpointTable;
