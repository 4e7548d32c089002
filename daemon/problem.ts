// Defines the problems that the API reports, each with a status and a title.
import type { ProblemCode, Problem as ProblemDocument } from './api/schema.ts';
import type { Message } from './api/values.ts';
import { isOneOf } from './core/errors.ts';
import { wordMessage } from './view/message.ts';
import { english } from './view/translator.ts';

const KINDS: Record<ProblemCode, [status: number, title: string]> = {
  'peer-not-allowed': [403, 'Another user'],
  'token-required': [401, 'Token required'],
  'host-not-allowed': [421, 'Host not allowed'],
  'origin-not-allowed': [403, 'Origin not allowed'],
  'fetch-site-not-allowed': [403, 'Cross-site request'],
  'unsupported-media-type': [415, 'Unsupported media type'],
  'payload-too-large': [413, 'Body too large'],
  'malformed-request': [400, 'Malformed request'],
  'malformed-json': [400, 'Malformed JSON'],
  'invalid-body': [422, 'Invalid body'],
  'invalid-query': [422, 'Invalid query'],
  'argument-rejected': [422, 'Argument rejected'],
  'key-not-settable': [422, 'Key not settable'],
  'precondition-failed': [412, 'Changed meanwhile'],
  'config-broken': [409, 'Broken configuration file'],
  'config-not-writable': [500, 'Configuration not writable'],
  'not-found': [404, 'Not found'],
  'method-not-allowed': [405, 'Method not allowed'],
  'uri-too-long': [414, 'Address too long'],
  'headers-too-large': [431, 'Headers too large'],
  'request-timeout': [408, 'Request timeout'],
  busy: [503, 'Busy'],
  'cli-missing': [409, 'Tunnel CLI missing'],
  'cli-too-old': [409, 'Tunnel CLI too old'],
  'service-stopped': [409, 'Tunnel service stopped'],
  'service-hangs': [409, 'Tunnel service does not answer'],
  'terms-not-accepted': [409, 'Terms not accepted'],
  'not-registered': [409, 'Not registered'],
  'not-authorized': [409, 'Not authorized'],
  'unsupported-by-cli': [409, 'Not supported by this tunnel CLI'],
  'tunnel-cli-failed': [502, 'Tunnel CLI failed'],
  'tunnel-cli-timeout': [504, 'Tunnel CLI timed out'],
  'killswitch-not-installed': [409, 'Kill switch not installed'],
  'killswitch-denied': [403, 'Not allowed'],
  'killswitch-failed': [502, 'Kill switch failed'],
  'app-not-found': [404, 'Unknown app'],
  'app-not-launchable': [409, 'App cannot use the proxy'],
  'app-launch-failed': [502, 'App did not start'],
  'proxy-not-enabled': [409, 'Local proxy not on'],
  'proxy-port-in-use': [409, 'Proxy port in use'],
  'proxy-not-answering': [504, 'Local proxy does not answer'],
  'proxy-not-verified': [409, 'Tunnel not verified'],
  'update-refused': [409, 'Update refused'],
  'update-not-applicable': [409, 'Not updated from here'],
  'update-failed': [502, 'Update failed'],
  'fix-needs-administrator': [403, 'Administrator needed'],
  'fix-failed': [409, 'Fix failed'],
  'document-invalid': [422, 'Invalid document'],
  'routes-failed': [502, 'Routes not set'],
  'nothing-to-undo': [409, 'Nothing to undo'],
  'nothing-pending': [404, 'No such change'],
  'previous-unknown': [409, 'Previous value unknown'],
  'state-not-writable': [500, 'State not writable'],
  'wrapper-refused': [409, 'Accounts not changed'],
  'wrapper-failed': [502, 'Accounts program failed'],
  'trust-refused': [409, 'Tools not changed'],
  'internal-error': [500, 'Internal error'],
};

type Extras = Partial<Pick<ProblemDocument, 'hint' | 'errors' | 'exitCode' | 'stderr' | 'reason'>>;

/**
 * An expected failure that the API reports to a client. `detail` is a sentence that a person can act on. If it is a
 * message, clients translate it.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly extras: Extras;
  /** The detail as the constructor received it. */
  readonly said: string | Message;
  /** True if the failed command may have taken effect, at least in part; false if not; undefined if only the code shows it. */
  uncertain: boolean | undefined;
  /** True if a change failed and its undo as well, so the previous value is not restored yet. */
  notRestored = false;

  constructor(code: ProblemCode, detail: string | Message, extras: Extras = {}, cause?: unknown) {
    super(typeof detail === 'string' ? detail : wordMessage(detail, english), { cause });
    this.said = detail;
    this.name = 'Problem';
    this.code = code;
    this.status = KINDS[code][0];
    this.extras = extras;
  }

  /** The detail for translation, or null if it is plain text. */
  get wording(): Message[] | null {
    return typeof this.said === 'string' ? null : [this.said];
  }

  get title(): string {
    return KINDS[this.code][1];
  }

  /** Returns the headers of the response. */
  headers(): Record<string, string> {
    return {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(this.code === 'busy' ? { 'retry-after': '2' } : {}),
      ...(this.code === 'token-required' ? { 'www-authenticate': 'Bearer' } : {}),
    };
  }

  /** Returns the RFC 9457 document. */
  toJSON(): ProblemDocument {
    return {
      type: `urn:culvert:problem:${this.code}`,
      title: this.title,
      status: this.status,
      detail: this.message,
      code: this.code,
      ...(this.wording ? { wording: this.wording } : {}),
      ...this.extras,
    };
  }
}

/** Runs `work`, and converts its expected errors to problems. @param kinds maps error codes to problem codes */
export async function withProblems<T>(kinds: { [code: string]: ProblemCode }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isOneOf(kinds, error)) throw error;
    throw new Problem(kinds[error.code]!, error.message, error.hint ? { hint: error.hint } : {}, error);
  }
}
