// Recognizes limits and refused keys by the words and codes that most APIs use, for servers without rules of their own. Pure.

type Class = 'quota' | 'rate' | 'auth';

/** A class of error, as a rule of the catalog would name it, and the text that shows it. */
export interface UsualError {
  class: Class;
  rest?: 'period';
  match: RegExpExecArray;
}

/** Fields with a status or a code, in an error and in the `error` or `response` inside it. */
const FIELDS = ['status', 'statusCode', 'status_code', 'httpStatus', 'code', 'type', 'error', 'reason'];
export const USUAL_PATHS: readonly string[] = ['', 'error.', 'response.', 'data.'].flatMap(parent =>
  FIELDS.map(field => `${parent}${field}`),
);

/** Codes, in lower case with `_` between words. A used-up quota often has the status of a rate limit, so it comes first. */
const CODES: readonly [Class, RegExp][] = [
  [
    'quota',
    /^(?:402|payment_required|(?:insufficient|exceeded|out_of|no|not_enough)_(?:\w+_)?(?:quota|credits?|funds|balance)|(?:\w+_)?(?:quota|credits?|balance)_(?:limit_)?(?:exceeded|exhausted|reached|depleted|insufficient)|(?:usage|plan|monthly|billing|spending)_(?:hard_)?limit(?:_reached|_exceeded)?)$/,
  ],
  ['rate', /^(?:429|rate_limit(?:s|ed)?(?:_(?:exceeded|reached|error))?|too_many_requests|throttl(?:ed|ing))$/],
  [
    'auth',
    /^(?:401|unauthorized|unauthenticated|authentication_(?:error|failed|required)|(?:invalid|expired|revoked|missing|incorrect)_(?:\w+_)?(?:key|token|credentials?)|(?:\w+_)?(?:key|token|credentials?)_(?:invalid|expired|revoked|missing))$/,
  ],
];

/** A status after a word for it: `status code 429`, `HTTP 429`, `Error: 429`. */
const status = (code: number) =>
  `(?:HTTP(?:/[\\d.]+)?|status(?: code)?|error(?: code)?|code)[\\s:=("']{1,4}${code}\\b|^${code}\\b`;
const QUOTA = '(?:quota|credits?|balance|funds|searches|usage)';

/**
 * Words of an error. They count on its first line, within 200 characters, and not behind an address: what follows an address is
 * often about the page there.
 */
const WORDS: readonly [Class, RegExp][] = (
  [
    [
      'quota',
      `${status(402)}|payment required|(?:insufficient|not enough|out of|no(?: more)?|ran out of|run out of) ${QUOTA}\\b|\\b${QUOTA}(?: limits?)? (?:(?:has|have) been |is |are |was )?(?:exceeded|reached|exhausted|used up|depleted)|exceed(?:s|ed|ing)? (?:your |the )?(?:\\w+ )?(?:plan.s )?(?:\\w+ )?${QUOTA}\\b`,
    ],
    ['rate', `${status(429)}|too many requests|\\brate[ -]?limit(?:s|ed|ing)?\\b`],
    [
      'auth',
      `${status(401)}|\\b(?:invalid|incorrect|expired|revoked|missing|unknown)(?: or \\w+)? (?:\\w+ )?(?:api[ _-]?key|(?:access |auth(?:entication)? |bearer )?token|credentials?)\\b|\\b(?:api[ _-]?key|token|credentials?) (?:(?:has|have) been |is |are |was )?(?:invalid|expired|revoked|missing|not valid)\\b|^(?:error: )?unauthorized\\b`,
    ],
  ] as const
).map(([kind, words]) => [
  kind,
  new RegExp(
    `^(?:(?!https?://)[^\\n]){0,200}?(?:${words})(?:[^\\n]{0,200}?(?:retry|try again)(?: after| in)? (?<rest>\\d+) ?s)?`,
    'i',
  ),
]);

/**
 * Returns the class of an error.
 * @param codes values of the error's fields at `USUAL_PATHS`
 * @param text the start of the error's text
 */
export function usualErrorIn(codes: readonly (string | number)[], text: string): UsualError | undefined {
  const names = codes.map(nameOf);
  for (const [kind, pattern] of CODES)
    for (const name of names) {
      const match = pattern.exec(name);
      if (match) return found(kind, match);
    }
  for (const [kind, pattern] of WORDS) {
    const match = pattern.exec(text);
    if (match) return found(kind, match);
  }
  return undefined;
}

function found(kind: Class, match: RegExpExecArray): UsualError {
  return { class: kind, match, ...(kind === 'quota' && { rest: 'period' as const }) };
}

/** Returns a code in lower case with `_` between words: `rateLimitExceeded` is `rate_limit_exceeded`. */
function nameOf(code: string | number): string {
  return String(code)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[\s-]+/g, '_')
    .toLowerCase();
}
