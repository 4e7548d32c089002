// Proposes the catalog rule that recognizes a failure, without any part of a credential that its message repeats.
import { stripAnsi } from '../run/rules/classify.ts';
import { formsOf } from '../system/redact.ts';

/** Result of a failed command. */
export interface Failure {
  exit: number | null;
  stdout: string;
  stderr: string;
}

export type RuleText = Record<string, string | number[] | Record<string, string>>;

const KEY =
  '(?:api key|access key|secret key|key|(?:access |auth |bearer |api )?token|credentials?|secret|password)\\b';
const BAD =
  '(?:in(?:valid|correct|active)|not (?:valid|correct|active|found|recogni[sz]ed|authori[sz]ed)|wrong|bad|expired|revoked|missing|unknown|malformed|disabled|deactivated|deleted|rejected|refused|unrecogni[sz]ed|required)\\b';
const AMOUNT = '(?:quota|limit|cap|credits?|balance|funds|allowance|budget|allotment|spend(?:ing)?)s?\\b';
const GONE = '(?:exceed(?:ed|s|ing)?|exhausted|reached|used up|depleted|insufficient|hit|ran out|run out|over)\\b';

/**
 * Words by which services name their failures, best evidence first: what a message states, then a status, then a word that
 * it mentions. So "Incorrect API key, see your quota" is a refused key, and "401: quota exceeded" a used-up quota. Where one
 * level has several, the first in the text decides.
 */
const EVIDENCE: readonly (readonly [string, RegExp])[][] = [
  [
    [
      'rate',
      /rate.?limit|throttl|slow down|too (?:quickly|fast)|per (?:second|minute|min)\b|too many (?:failed )?(?:\w+ )?attempts/,
    ],
    [
      'quota',
      new RegExp(
        `${AMOUNT}(?: \\S+){0,4} ${GONE}|${GONE}(?: \\S+){0,4} ${AMOUNT}|(?:\\b0|out of|not enough|need more) ${AMOUNT}|\\bno(?: more| remaining)? ${AMOUNT}(?: left| remaining| available|$|[.,;])|payment required`,
      ),
    ],
    [
      'auth',
      new RegExp(
        `\\b${BAD}(?: [\\w'"]+){0,2} ${KEY}|${KEY}(?: [\\w'"]+){0,4} ${BAD}|${KEY}: ${BAD}|\\bno (?:valid )?${KEY}|(?:n't|not) (?:provide|supply|find)\\w*(?: an?| any| your| valid)* ${KEY}|not (?:authenticated|logged in)|log ?in (?:again|required)|authentication (?:failed|error|required)|(?:failed|unable|could not) to authenticate`,
      ),
    ],
  ],
  [
    ['rate', status(429, 'too many requests')],
    ['quota', status(402, 'payment')],
    ['auth', status(401, 'unauthori[sz]ed|not authori[sz]ed|unauthenticated')],
    ['auth', status(403, 'forbidden|access denied|permission denied')],
  ],
  [
    ['quota', /quota|credits?\b|usage limit|billing|exceeded|exhausted|payment|upgrade your plan/],
    ['auth', /authenticat|api key|credential|token\b|signature|sign(?:ed)? in|log ?in\b/],
  ],
];

function status(code: number, name: string): RegExp {
  return new RegExp(
    `(?:^|status(?: code)?|http\\S*|code|error|failed)[\\s:=[("]*${code}\\b|\\b${code}\\b[\\s:-]*(?:${name})|${name}`,
  );
}

interface Evidence {
  /** 0 is best. */
  level: number;
  class: string;
}

/**
 * The best evidence in a message, with one word in place of a credential: "key sk-a-b-c was rejected". What is taken for one may be a word
 * that says most, such as `insufficient_quota_for_this_request`.
 */
function judge(text: string, secrets: readonly string[]): Evidence | undefined {
  const whole = evidenceIn(text);
  const plain = evidenceIn(withoutSecrets(text, secrets).replace(/\S+/g, word => (word.includes('\0') ? 'it' : word)));
  return plain && !(whole && whole.level <= plain.level) ? plain : whole;
}

function evidenceIn(text: string): Evidence | undefined {
  // `invalid_api_key`, `rateLimitExceeded`
  const words = text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/(?<=\w)[_-](?=\w)/g, ' ')
    .toLowerCase();
  for (const [level, patterns] of EVIDENCE.entries()) {
    const matches = patterns
      .map(([name, pattern]) => ({ class: name, at: words.search(pattern) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at);
    const perMinute = matches.find(({ class: name }) => name === 'rate');
    if (matches[0]?.class === 'quota' && perMinute) return { level, class: 'rate' };
    if (matches[0]) return { level, class: matches[0].class };
  }
  return undefined;
}

/**
 * A rule for a failure: by an error in JSON on stdout, or by the line on stderr that says most about the failure.
 * @param secrets what must not appear in the rule, nor any part of it
 * @param wanted the class instead of a guess
 * @returns `undefined` where there is no message, or nothing of it would be left
 */
export function proposeRule(
  { exit, stdout, stderr }: Failure,
  secrets: readonly string[] = [],
  wanted?: string,
): RuleText | undefined {
  const json = jsonError(stdout);
  const text = json?.value ?? mostTelling(stderr, secrets);
  if (text === undefined) return undefined;
  const pattern = anchored(withoutSecrets(text, secrets));
  if (pattern === undefined) return undefined;
  const base: RuleText = {
    class: wanted ?? judge(text, secrets)?.class ?? 'quota',
    ...(exit !== null && { exit: [exit] }),
  };
  return json ? { ...base, json: { path: json.path, matches: pattern } } : { ...base, stderr: pattern };
}

function mostTelling(stderr: string, secrets: readonly string[]): string | undefined {
  const lines = stripAnsi(stderr)
    .split(/[\r\n]+/)
    .map(line => line.replace(/\s+/g, ' ').trim())
    .filter(Boolean);
  const judged = lines.map(line => ({ line, level: judge(line, secrets)?.level ?? (/error/i.test(line) ? 3 : 4) }));
  return judged.sort((a, b) => a.level - b.level)[0]?.line;
}

/** Stands for what was cut out of a message. */
const CUT = '\0';
/** A run of characters that may be a credential, or a part of one. */
const RUN = /[^\s"'`(),;<>[\]{}|]+/g;
/** Prefixes of credentials, long words with digits, and what a CLI has masked. */
const KEY_LIKE = [
  /^(?:sk|pk|rk|fc|tvly|gh[opsur]|github_pat|glpat|hf|sbp|npm|nfp|napi|sntrys|xox[a-z]|re|key|tok(?:en)?|secret)[-_](?=.{6})/i,
  /^(?:AKIA|ASIA|AIza|eyJ|ya29\.)/,
  /^(?=.*\d)(?=.*[a-z])[\w\-.~+/]{16,}={0,2}$/i,
  /^[\w\-+/]{24,}={0,2}$/,
  /\*{2,}|•{2,}|(?:\.{3}|…)\w|x{4,}/i,
];
/** A word that repeats so many characters of a credential may be a part of it. */
const SHARED = 4;

/** A message in which each word that a credential may be read from is `CUT`. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter(secret => secret.trim() !== '')
    .flatMap(formsOf)
    // As lines are: see `mostTelling`.
    .map(secret => secret.replace(/\s+/g, ' ').trim());
  const rest = forms.reduce(
    (left, form) => left.replace(new RegExp(escapePattern(form), 'giu'), form => form.replace(/\S+/g, CUT)),
    text,
  );
  const lowerCase = forms.map(form => form.toLowerCase());
  const isSecret = (run: string) =>
    run.includes(CUT) || KEY_LIKE.some(pattern => pattern.test(run)) || lowerCase.some(form => shares(run, form));
  return (
    rest
      .replace(RUN, run => (isSecret(run) ? CUT : run))
      // One gap for a word, whatever is between its parts: several would make matching slow.
      .replace(/\0\S*\0/g, CUT)
  );
}

function shares(run: string, secret: string): boolean {
  const word = run.toLowerCase();
  if (word.length >= 3 && secret.includes(word)) return true;
  for (let at = 0; at + SHARED <= word.length; at++) if (secret.includes(word.slice(at, at + SHARED))) return true;
  return false;
}

/**
 * The start of a message as a pattern; numbers, ids and addresses differ from run to run.
 * @returns `undefined` when it has too few words of its own to tell it from others
 */
function anchored(text: string): string | undefined {
  const start = text
    .split(/(?<=[.!?]) |: \{|https?:/)[0]!
    .slice(0, 120)
    .trimEnd();
  if (start.includes(CUT) && start.replace(/\P{L}/gu, '').length < 5) return undefined;
  return `^${escapePattern(start)
    .replace(/[\w-]*\d[\w-]*/g, word => (/\d[A-Za-z_-]+\d/.test(word) ? '[\\w-]+' : word.replace(/\d+/g, '\\d+')))
    .replaceAll(CUT, '\\S+')}`;
}

/** A text as a pattern that matches nothing else. */
function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

function jsonError(stdout: string): { path: string; value: string } | undefined {
  let document: unknown;
  try {
    document = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  for (const path of ['error.code', 'error.message', 'error', 'message', 'code']) {
    let value = document;
    for (const key of path.split('.'))
      value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
    if (typeof value === 'string') return { path, value };
  }
  return undefined;
}
