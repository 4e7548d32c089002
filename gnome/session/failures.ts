// Maps each failure to its D-Bus error name; pure.
import { ApiError, Unreachable } from '../../daemon/api/client.ts';
import type { ProblemCode } from '../../daemon/api/schema.ts';
import { Failure } from '../../daemon/core/errors.ts';
import { Busy } from '../../daemon/view/client/client-state.ts';
import { errorText } from '../../daemon/view/states/problems.ts';
import type { Translator } from '../../daemon/view/translator.ts';

/** Error names after the prefix `org.culvert.Error.`; see org.culvert.Client1(5). */
export const ERRORS = [
  'NotRunning',
  'NotAllowed',
  'Refused',
  'InvalidArgument',
  'TimedOut',
  'UnknownMode',
  'UnknownPage',
  'Busy',
  'NothingPending',
  'Failed',
] as const;
export type ErrorName = (typeof ERRORS)[number];

/** Creates a failure that the bridge itself detects. */
export const failure = (code: ErrorName, message: string, cause?: unknown) => new Failure(message, { code, cause });

/** Problems of the API with a specific name; every other problem is `Failed`. */
const NAMES: { [code in ProblemCode]?: ErrorName } = {
  'not-authorized': 'NotAllowed',
  'killswitch-denied': 'NotAllowed',
  'peer-not-allowed': 'NotAllowed',
  'cli-missing': 'Refused',
  'cli-too-old': 'Refused',
  'service-stopped': 'Refused',
  'service-hangs': 'Refused',
  'terms-not-accepted': 'Refused',
  'not-registered': 'Refused',
  'unsupported-by-cli': 'Refused',
  'tunnel-cli-failed': 'Refused',
  'argument-rejected': 'InvalidArgument',
  'invalid-body': 'InvalidArgument',
  'tunnel-cli-timeout': 'TimedOut',
  'request-timeout': 'TimedOut',
  busy: 'Busy',
  'nothing-pending': 'NothingPending',
};

/** @returns the name of the error, and a sentence in the user's language */
export function failureOf(error: unknown, tr: Translator): { name: ErrorName; text: string } {
  const text = errorText(error, tr);
  const own = error instanceof Failure && ERRORS.find(name => name === error.code);
  if (own) return { name: own, text };
  if (error instanceof ApiError) return { name: NAMES[error.problem.code] ?? 'Failed', text };
  if (error instanceof Busy) return { name: 'Busy', text };
  if (error instanceof Unreachable)
    return error.daemon === 'silent'
      ? { name: 'TimedOut', text }
      : { name: 'NotRunning', text: tr._('Culvert’s background service isn’t running.') };
  return { name: 'Failed', text };
}
