// Recognizes limits and refused keys by the words and codes that most APIs use, for servers without their own rules. Pure.
import { isRecord } from '../../../daemon/core/shape.ts';
import { at } from './classify.ts';

type Class = 'quota' | 'rate' | 'auth';

/** A class of error, as a rule of the catalog would name it, and the text that shows it. */
export interface UsualError {
  class: Class;
  rest?: 'period' | typeof AUTH_REST;
  match: RegExpExecArray;
}

/** An unlisted refusal may have another subject, so the account rests for a while, not until its key changes. */
const AUTH_REST = '10m';

/** Fields with a status or a code, in an error and in the `error` or `response` inside it. */
const FIELDS = ['status', 'statusCode', 'status_code', 'httpStatus', 'code', 'type', 'error', 'reason'];
const PARENTS = ['', 'error', 'response', 'data'];
/** Fields that say that an object is about another page or file than the API. */
const ADDRESSES = ['url', 'uri', 'href', 'path', 'hostname'];
const STATUS = /^\d{3}$/;

/**
 * Returns the codes in the fields of an error. The status of an object that names an address is that of the address: a tool
 * that loads pages reports it so.
 */
export function codesIn(fields: unknown): (string | number)[] {
  const isAbout = (value: unknown) => isRecord(value) && ADDRESSES.some(name => Object.hasOwn(value, name));
  return PARENTS.flatMap(parent => {
    const object = parent === '' ? fields : at(fields, parent);
    const codes = FIELDS.map(field => at(object, field)).filter(
      value => typeof value === 'string' || typeof value === 'number',
    );
    return isAbout(fields) || isAbout(object) ? codes.filter(code => !STATUS.test(String(code))) : codes;
  });
}

/** Resources that this machine limits, not the API. */
const OF_MACHINE = '(?:disk|storage|memory|cpu|heap|inode|file)';
const CREDENTIAL_CODE = '(?:api_?key|(?:api|access|auth|bearer|oauth)_?token|credentials?)';

/** Codes, in lower case with `_` between words. A used-up quota often has the status of a rate limit, so it comes first. */
const CODES: readonly [Class, RegExp][] = (
  [
    [
      'quota',
      `402|payment_required|(?:insufficient|exceeded|out_of|no|not_enough)_(?:\\w+_)?(?:quota|credits?)|(?:\\w+_)?(?:quota|credits?)_(?:limit_)?(?:exceeded|exhausted|reached|depleted|insufficient)|(?:insufficient_)?(?:api|plan|account|monthly)_(?:balance|funds|usage)(?:_(?:exceeded|exhausted|reached|depleted|insufficient))?|(?:usage|plan|monthly|billing|spending)_(?:hard_)?limit(?:_reached|_exceeded)?`,
    ],
    ['rate', 'rate_limit(?:s|ed)?(?:_(?:exceeded|reached|error))?|429|too_many_requests|throttl(?:ed|ing)'],
    [
      'auth',
      `401|unauthorized|unauthenticated|authentication_(?:error|failed|required)|(?:invalid|expired|revoked|missing|incorrect)_${CREDENTIAL_CODE}|${CREDENTIAL_CODE}_(?:invalid|expired|revoked|missing)`,
    ],
  ] as const
).map(([kind, codes]) => [kind, new RegExp(`^(?!(?:\\w+_)?${OF_MACHINE}_)(?:${codes})$`)]);

/** A status after a word for it: `status code 429`, `HTTP 429`, `Error: 429`. */
const status = (code: number) =>
  `(?:HTTP(?:/[\\d.]+)?|status(?: code)?|error(?: code)?|code)[\\s:=("']{1,4}${code}\\b|^${code}\\b`;
/** Words for what an account has. The others also mean amounts in a tool's own subject, unless a word for the account is next to them. */
const QUOTA = `(?:(?<!\\b${OF_MACHINE} )(?:quota|credits?))`;
const OTHER = '(?:balance|funds|searches|usage)';
const ACCOUNT = "(?:api|plan|account|monthly|quota|billing)(?:['’]?s)?";
const LACKING = '(?:insufficient|not enough|out of|no more|ran out of|run out of)';
const ENDED = '(?:(?:has|have) been |is |are |was )?(?:exceeded|reached|exhausted|used up|depleted)';
const CREDENTIAL =
  '(?:(?:api|x-api|secret)[ _-]?(?:key|token)|(?:access|auth(?:entication)?|bearer)[ _-]token|(?:api |auth(?:entication)? )?credentials?)';
/** Words of a tool that loads a page, before the page's status. */
const PAGE =
  '(?:https?://|\\b(?:load|fetch|crawl|scrap|visit|navigat|download|open)(?:e|ed|ing|ping)?\\b|\\b(?:page|site|website|url|link|host|domain)\\b|\\b[a-z0-9-]+\\.(?:[a-z]{2,})\\b)';

/**
 * Words of an error. They count on its first line, within 200 characters, and not behind words for a page: what follows those is
 * often about the page there.
 */
const WORDS: readonly [Class, RegExp][] = (
  [
    [
      'quota',
      `${LACKING} ${QUOTA}\\b|\\b(?:have|has|with) no (?:more )?${QUOTA}\\b|\\bno ${QUOTA} (?:left|remaining)|\\b${QUOTA}(?: limits?)? ${ENDED}|exceed(?:s|ed|ing)? (?:your |the )?(?:\\w+ )?(?:plan.s )?(?:\\w+ )?${QUOTA}\\b|${LACKING} ${ACCOUNT} ${OTHER}\\b|\\b${ACCOUNT} (?:\\w+ ){0,3}?${LACKING} ${OTHER}\\b|\\b${ACCOUNT} (?:\\w+ )?${OTHER}(?: limits?)? ${ENDED}|^(?:error:? )?(?:your |the )?usage limits? ${ENDED}|exceed(?:s|ed|ing)? (?:your |the )?(?:\\w+ )?${ACCOUNT} (?:\\w+ )?${OTHER}\\b`,
      `${status(402)}|payment required`,
    ],
    ['rate', '\\brate[ -]?limit(?:s|ed|ing)?\\b', `${status(429)}|too many requests`],
    [
      'auth',
      `\\b(?:invalid|incorrect|expired|revoked|missing|unknown)(?: or \\w+)? (?:\\w+ )?${CREDENTIAL}\\b|\\b${CREDENTIAL} (?:(?:has|have) been |is |are |was )?(?:invalid|expired|revoked|missing|not valid)\\b|^(?:error: )?unauthorized\\b`,
      status(401),
    ],
  ] as const
).map(([kind, words, statuses]) => [
  kind,
  new RegExp(
    `^(?:(?!${PAGE})[^\\n]){0,200}?(?:${words}|(?:${statuses})(?![^\\n]{0,200}?${PAGE}))(?:[^\\n]{0,200}?(?:retry|try again)(?: after| in)? (?<rest>\\d+) ?s)?`,
    'i',
  ),
]);

/**
 * Returns the class of an error.
 * @param codes those of `codesIn`
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
  const rest = { quota: 'period', rate: undefined, auth: AUTH_REST } as const;
  return { class: kind, match, ...(rest[kind] && { rest: rest[kind] }) };
}

/** Returns a code in lower case with `_` between words: `rateLimitExceeded` is `rate_limit_exceeded`. */
function nameOf(code: string | number): string {
  return String(code)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[\s-]+/g, '_')
    .toLowerCase();
}
