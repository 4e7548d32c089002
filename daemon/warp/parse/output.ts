// Parses the output of any version of the tunnel CLI into a JSON document, lines of text, or a failure.
import stripAnsi from 'strip-ansi';
import type { Blocked, RegistrationCause } from '../../api/schema.ts';
import { isRecord, parseJson } from '../../core/shape.ts';

/** The output of a finished process, which is all that parsers get. */
export interface Printed {
  stdout: string;
  stderr: string;
  /** null if the process was killed or never started. */
  exitCode: number | null;
}

export type Json = Record<string, unknown>;

/** Why a command failed. */
export interface Failure {
  kind: Blocked | 'unsupported' | 'argument' | 'not-connected' | 'failed';
  /** The CLI's own name (`MissingRegistration`), or null if only text was printed. */
  code: string | null;
  message: string;
}

/** Removes colors, carriage returns and other control characters, and repeated blank lines. */
function clean(text: string): string {
  return stripAnsi(text)
    .replace(/(?:\r\n?|[\n\u2028\u2029]){3,}/g, '\n\n')
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\x00-\x08\x0b-\x1f\x7f\ufeff]+/g, '');
}

/** Maximum number of lines. The longest known listing has 5,000 routes, one per line. */
const MAX_LINES = 20_000;

/** Returns the first 20,000 lines without trailing white space. Blank lines stay, because they end blocks. */
export function linesOf(text: string): string[] {
  return clean(text)
    .split('\n', MAX_LINES)
    .map(line => line.trimEnd());
}

/** Longer than the name of any property. */
export const KEY_CHARACTERS = 60;

/** Parses the name and value in a line such as `Account type: Team` or `"expires_at": "…",`; null for any other line. */
export function propertyOf(line: string): { key: string; value: string } | null {
  const colon = line.slice(0, 2 * KEY_CHARACTERS).indexOf(':');
  if (colon < 0) return null;
  const bare = (text: string) =>
    text
      .trim()
      .replace(/^"|",?$|,$/g, '')
      .trim();
  const [key, value] = [bare(line.slice(0, colon)), bare(line.slice(colon + 1))];
  return key === '' || key.length > KEY_CHARACTERS || value === '' ? null : { key, value };
}

/**
 * Returns the JSON document in an output, or undefined. Ignores lines around it (a stray `Success`, a deprecation
 * warning), which one captured version prints on either side of its answer.
 */
export function jsonOf(text: string): unknown {
  const cleaned = clean(text).trim();
  const whole = documentIn(cleaned);
  if (whole !== undefined || !/^[{[]/m.test(cleaned)) return whole;
  const start = cleaned.search(/^[{[]/m);
  const end = Math.max(cleaned.lastIndexOf('}'), cleaned.lastIndexOf(']'));
  return documentIn(cleaned.slice(start, end + 1));
}

export function stringOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * Returns the failure in an output, or null. Content counts before the exit code: some versions print
 * `{"code", "error"}` and exit 0.
 */
export function failureOf(printed: Printed): Failure | null {
  const [stdout, stderr] = [excerpt(printed.stdout), excerpt(printed.stderr)];
  for (const text of [stdout, stderr]) {
    const value = jsonOf(text);
    if (isRecord(value) && typeof value.error === 'string' && value.status === undefined) {
      const code = stringOf(value.code);
      return { kind: (code && KINDS_BY_CODE.get(code)) || kindOf(value.error), code, message: value.error };
    }
  }
  const answer = clean(stdout);
  const text = `${clean(stderr)}\n${answer}`;
  const kind = kindOf(text);
  const done = /^Success\.?$/m.test(answer);
  if (printed.exitCode === 0 && (done || (kind === 'failed' && !/^error[:(]/im.test(text)))) return null;
  return { kind, code: null, message: messageOf(text) };
}

/** Length of the parts to keep: the message of a failure is short, and comes first or last. */
const EXCERPT_CHARACTERS = 16_384;

/** Shortens a long text to its beginning and end; used before `clean`, because escape sequences cost the most time. */
export function excerpt(text: string, characters = EXCERPT_CHARACTERS): string {
  return text.length <= 2 * characters ? text : `${text.slice(0, characters)}\n${text.slice(-characters)}`;
}

const KINDS_BY_CODE = new Map<string, Failure['kind']>(
  Object.entries({
    FailedToConnectToDaemon: 'service-stopped',
    MissingRegistration: 'not-registered',
    RegistrationMissing: 'not-registered',
    WarpNotConnected: 'not-connected',
    OperationNotAuthorized: 'not-authorized',
    NotAuthorized: 'not-authorized',
  }),
);

/** Texts of failures; the first match decides. Wordings are from recordings and from strings in released binaries. */
const KINDS_BY_TEXT: [RegExp, Failure['kind']][] = [
  [/Unable to connect to the CloudflareWARP daemon|daemon is not running|daemon connection lost/i, 'service-stopped'],
  [
    /communicat(?:e|ing) with (?:WARP service|daemon)\b.*(?:No such file|Connection refused|broken pipe)/i,
    'service-stopped',
  ],
  [/Failed to communicate with WARP service|Error communicating with daemon/i, 'service-hangs'],
  [/\bIPC (?:call|session|channel)\b.*(?:time|no longer valid|hung)/i, 'service-hangs'],
  [/accept the WARP Terms of Service|^Accept Terms of Service .*\[y\/N\]/im, 'terms-not-accepted'],
  [/\b(Missing registration|Registration Missing)\b/i, 'not-registered'],
  [/Operation not authorized/i, 'not-authorized'],
  [/WARP is not connected/i, 'not-connected'],
  // a subcommand or an option that this version lacks
  [/unrecognized subcommand|unexpected argument/i, 'unsupported'],
  [/^(Error: )?Not yet implemented/im, 'unsupported'],
  [/^error: invalid value/im, 'argument'],
];

/** Outputs of a failed registration, with texts from public reports of 2024 to 2026; "contact" is the wording of 2023. */
const REGISTRATION_FAILURES: readonly [RegExp, RegistrationCause['code']][] = [
  [/Old registration is still around/i, 'old-registration'],
  [/Failed to (?:communicate with|contact) the WARP API/i, 'api-unreachable'],
];

/** Returns why a device is not registered, from the output of a failed command; null for any other text. */
export function registrationCauseIn(text: string): RegistrationCause['code'] | null {
  return REGISTRATION_FAILURES.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

function kindOf(text: string): Failure['kind'] {
  return KINDS_BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? 'failed';
}

function messageOf(text: string): string {
  const lines = text.split('\n').map(line => line.trim());
  const line = lines.find(line => /^error[:(]/i.test(line)) ?? lines.find(line => line && !/^Warning:/.test(line));
  return line ?? '';
}

function documentIn(text: string): unknown {
  return /^[{[]/.test(text) ? (parseJson(text) ?? undefined) : undefined;
}
