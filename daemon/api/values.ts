// Defines the values that many wire types share, the codes of failures, and the RFC 9457 problem document.
import * as z from 'zod/mini';

/** ISO 8601 in UTC, as `Date.prototype.toISOString` prints it. */
export const Time = z.iso.datetime();
export const Count = z.number().check(z.nonnegative());

/**
 * A sentence that clients translate into the reader's language: `text` is the English text in the catalogs, and `values`
 * fill its `%s` and `%d` in order. Numbers are counts, the catalogs also contain each `word`, and other quoted values are
 * text.
 */
export const Message = z.object({
  text: z.string(),
  values: z.array(z.union([z.string(), z.int(), z.object({ time: Time }), z.object({ word: z.string() })])),
  /** Language of the quoted text; absent for text in no language. */
  language: z.optional(z.literal('en')),
});
export type Message = z.infer<typeof Message>;

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

/** The problem that a user must solve first. */
export const Blocked = z.enum([
  'cli-missing',
  'cli-too-old',
  'service-stopped',
  /** The service does not answer; whether it runs is not known. */
  'service-hangs',
  'terms-not-accepted',
  'not-registered',
  'not-authorized',
]);
export type Blocked = z.infer<typeof Blocked>;

/** An RFC 9457 problem document. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: ProblemCode,
  /** `detail` in translatable form; absent if it says no more than the translation of the code. */
  wording: z.optional(z.array(Message)),
  hint: z.optional(z.string()),
  errors: z.optional(z.array(z.object({ path: z.string(), message: z.string() }))),
  exitCode: z.optional(z.nullable(z.int())),
  stderr: z.optional(z.string()),
  /** For `update-refused`, the manifest's or updater's own code; for `wrapper-refused`, culvert-wrap's code. */
  reason: z.optional(z.string()),
});
export type Problem = z.infer<typeof Problem>;
