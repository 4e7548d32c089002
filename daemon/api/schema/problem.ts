// Defines the wire types of failures: a code for each, and the RFC 9457 document around it.
import * as z from 'zod/mini';
import { Message } from './values.ts';

/** Every stable error code; the API sends `urn:culvert:problem:<code>`. */
export const PROBLEM_CODES = [
  'peer-not-allowed',
  'token-required',
  'host-not-allowed',
  'origin-not-allowed',
  'fetch-site-not-allowed',
  'unsupported-media-type',
  'payload-too-large',
  'malformed-request',
  'malformed-json',
  'invalid-body',
  'invalid-query',
  'argument-rejected',
  'key-not-settable',
  'precondition-failed',
  'config-broken',
  'config-not-writable',
  'not-found',
  'method-not-allowed',
  'uri-too-long',
  'headers-too-large',
  'request-timeout',
  'busy',
  'cli-missing',
  'cli-too-old',
  'service-stopped',
  'service-hangs',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
  'unsupported-by-cli',
  'tunnel-cli-failed',
  'tunnel-cli-timeout',
  'killswitch-not-installed',
  'killswitch-denied',
  'killswitch-failed',
  'app-not-found',
  'app-not-launchable',
  'app-launch-failed',
  'proxy-not-enabled',
  'proxy-port-in-use',
  'proxy-not-answering',
  'proxy-not-verified',
  'update-refused',
  'update-not-applicable',
  'update-failed',
  'fix-needs-administrator',
  'fix-failed',
  'document-invalid',
  'routes-failed',
  'nothing-to-undo',
  'nothing-pending',
  'previous-unknown',
  'state-not-writable',
  'wrapper-refused',
  'wrapper-failed',
  'trust-refused',
  'internal-error',
] as const;
export const ProblemCode = z.enum(PROBLEM_CODES);
export type ProblemCode = z.infer<typeof ProblemCode>;

/** An RFC 9457 problem document. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: ProblemCode,
  /** `detail` to be translated; absent where it has no more to say than its code does in another language. */
  wording: z.optional(z.array(Message)),
  hint: z.optional(z.string()),
  errors: z.optional(z.array(z.object({ path: z.string(), message: z.string() }))),
  exitCode: z.optional(z.nullable(z.int())),
  stderr: z.optional(z.string()),
  /** For `update-refused`, the manifest's or updater's own code; for `wrapper-refused`, culvert-wrap's code. */
  reason: z.optional(z.string()),
});
export type Problem = z.infer<typeof Problem>;
