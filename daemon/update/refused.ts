// The updater's own ways to say no. What is wrong with a release itself has the codes of manifest/refusals.ts.

/** Each code, and what usually helps. */
export const REFUSED = {
  'source-insecure': 'Set updates.source to an https address.',
  'network-failed': 'Check the connection and updates.source, then try again.',
  'certificate-invalid': 'Somebody may be reading along. Check the clock, and the network you are in.',
  'tls-failed': 'Check updates.source: what answers there does not speak TLS as it should.',
  timeout: 'Try again when the connection is better.',
  stalled: 'Try again when the connection is better.',
  redirected: 'Set updates.source to the address where the releases are now, if you trust it.',
  'http-status': 'Try again later.',
  'release-missing': 'Check updates.source and updates.channel.',
  encoded: 'Set updates.source to a server that sends files as they are.',
  'response-malformed': 'Check updates.source: what answers there is no web server as it should be.',
  'too-large': 'Do not use this source; it sends something else than releases.',
  truncated: 'Try again.',
  'artifact-not-listed': 'Wait until the release is complete, or install it by hand.',
  'artifact-too-large': 'Install it by hand, if you trust it.',
  'disk-full': 'Free some space, then try again.',
  'archive-unsafe': 'Do not use this release; report it.',
  'archive-broken': 'Do not use this release; report it.',
  'tar-missing': 'Install tar and gzip.',
  'program-broken': 'The installed version was left as it is. See whether the new one needs a newer Node or desktop.',
  'state-broken': 'Remove the file to begin anew; older versions than the installed one are refused all the same.',
  stopped: 'Nothing was changed. Try again.',
} as const;
export type RefusedCode = keyof typeof REFUSED;

/** An update that is not made: `code` is stable, `message` says what failed and why, `hint` what to do. */
export class Refused extends Error {
  readonly code: RefusedCode;
  readonly hint: string;

  constructor(code: RefusedCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Refused';
    this.code = code;
    this.hint = REFUSED[code];
  }
}
