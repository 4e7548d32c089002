// Defines the updater's refusals. manifest/errors.ts has the codes for faults of a release.
import { Failure } from '../core/errors.ts';

/** Codes of refusals, each with the usual remedy. */
const UPDATE_REFUSED = {
  'no-source': 'Updates come with git or with your packages. In a clone: git pull, then build or install again.',
  'source-insecure': 'Set updates.source to an https address.',
  'network-failed': 'Check the connection and updates.source, then try again.',
  'certificate-invalid': 'Someone may be intercepting the connection. Check the clock and the network.',
  'tls-failed': 'Check updates.source: the server there does not speak TLS correctly.',
  timeout: 'Try again when the connection is better.',
  stalled: 'Try again when the connection is better.',
  redirected: 'Set updates.source to the address where the releases are now, if you trust it.',
  'http-status': 'Try again later.',
  'release-missing': 'Check updates.source and updates.channel.',
  encoded: 'Set updates.source to a server that sends files as they are.',
  'response-malformed': 'Check updates.source: the server there does not speak HTTP correctly.',
  'too-large': 'Do not use this source; it sends other files than releases.',
  truncated: 'Try again.',
  'artifact-not-listed': 'Wait until the release is complete, or install it by hand.',
  'artifact-too-large': 'Install it by hand, if you trust it.',
  'disk-full': 'Free some space, then try again.',
  'archive-unsafe': 'Do not use this release; report it.',
  'archive-broken': 'Do not use this release; report it.',
  'program-broken': 'The installed version was left as it is. Check whether the new one needs a newer Node or desktop.',
  'state-broken': 'Remove the file to start again; versions older than the installed one are refused anyway.',
  stopped: 'Nothing was changed. Try again.',
} as const;
type UpdateRefusedCode = keyof typeof UPDATE_REFUSED;

/** Creates a refusal. @param message says what failed and why */
export function refused(code: UpdateRefusedCode, message: string, cause?: unknown): Failure {
  return new Failure(message, { code, hint: UPDATE_REFUSED[code], cause });
}
