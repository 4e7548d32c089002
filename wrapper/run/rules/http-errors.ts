// Judges what a provider's HTTP error means for the account, and whether it comes from the provider at all. Pure.
import type { IncomingHttpHeaders } from 'node:http';
import { isRecord } from '../../../daemon/core/shape.ts';
import type { HttpProvider } from '../../catalog/programs.ts';
import type { Verdict } from '../../store/pause.ts';
import { at, isForeign, leftIn, mayBeForeign, parseJson, pauseOf } from './classify.ts';
import { firstToCome, type Moment, momentInText, readMoment, waitUntil } from './moments.ts';
import { USER_PATTERN_MS, withTimeLimit } from './patterns.ts';
import { CAUSE_NOTES, causeOfFailure, isRefusedByName } from './refusal-causes.ts';

type Retry = Verdict & { kind: 'retry' };

/** An error as it was received. */
export interface Seen {
  status: number;
  /** The body's first 64 KiB. */
  body: string;
  headers: IncomingHttpHeaders;
  /** Time of receipt, in milliseconds since the epoch; the current time by default. */
  at?: number;
}

const BY_STATUS: Record<number, Retry['class']> = { 401: 'auth', 402: 'quota', 429: 'rate' };

/** Codes of services with OpenAI's interface: a 429 is a rate limit or a used-up quota; a 403 may be about the balance. */
const USED_UP =
  /^(?:insufficient_(?:user_)?quota|quota_exceeded|exceeded_current_quota_error|billing_hard_limit_reached|billing_not_active|usage_limit_reached)$/;
const CODES = ['error.code', 'error.type', 'code', 'type', 'detail.code', 'detail.status'];
const WAITS = ['', 'error.', 'detail.', 'data.'].flatMap(place =>
  ['retry_after', 'retryAfter', 'retry_after_seconds', 'resets_in_seconds', 'resets_at'].map(name => place + name),
);
/** Length of a body's start that is searched for a sentence with a time. */
const SENTENCE = 4_000;

/**
 * Returns the meaning of an error for the account, or `undefined` if it says nothing about the account. After a `final` error,
 * no other account may be tried.
 */
export function verdictOf(
  { status, body, headers, at: now = Date.now() }: Seen,
  http: Pick<HttpProvider, 'retry' | 'key_scheme'>,
  ownPatterns: boolean,
): Retry | (Verdict & { kind: 'final' }) | undefined {
  if (isForeign({ status, body, headers }, http)) return undefined;
  let groups: Record<string, string> | undefined;
  const matches = (source: string) => {
    const match = () => new RegExp(source).exec(body);
    const result = ownPatterns ? withTimeLimit(USER_PATTERN_MS, match, null) : match();
    groups = result?.groups;
    return result !== null;
  };
  const rule = http.retry.find(each => each.status === status && (each.body === undefined || matches(each.body)));
  if (rule?.class === 'other') return { kind: 'final', class: 'other', ...(rule.note && { note: rule.note }) };
  const document = parseJson(body);
  const failure =
    rule?.class ?? classOf(status, document) ?? (status === 403 && isRefusedByName(document) ? 'auth' : undefined);
  if (rule?.body === undefined && (failure || mayBeAboutRights(status))) {
    const words = [document ?? body.slice(0, SENTENCE), headers['www-authenticate'], ssoIn(headers)];
    const cause = causeOfFailure(failure ?? 'auth', ...words);
    if (cause) return { kind: 'final', class: 'other', note: CAUSE_NOTES[cause] };
  }
  if (!failure || (failure === 'auth' && rule?.body === undefined && !isOwnForm(body, document))) return undefined;
  if (failure === 'auth' && rule === undefined && mayBeForeign(body, headers)) return undefined;
  const text = `status ${status}`;
  const ofRule = [readMoment(groups?.rest), readMoment(groups?.reset)];
  const named = [...inHeaders(headers), ...ofRule, ...inBody(body, document), ...inLimits(headers, now)];
  const left = failure === 'quota' ? leftIn(body) : {};
  return { kind: 'retry', class: failure, ...pauseOf(rule ?? {}, failure, firstToCome(named, now)), text, ...left };
}

/** Reports whether the first event of a stream has arrived; comments, which keep a connection open, don't count. */
export function hasEvent(start: string): boolean {
  return eventsIn(start)
    .slice(0, -1)
    .some(lines => !isComment(lines));
}

/** Returns the code of the error at the start of an event stream, or `undefined` if the stream begins with something else. */
export function errorInEvents(start: string): string | undefined {
  const lines = eventsIn(start).find(each => !isComment(each)) ?? [];
  const data = lines.filter(line => line.startsWith('data:')).map(line => line.slice('data:'.length));
  const document = parseJson(data.join('\n'));
  const isNamed = lines.some(line => /^event:\s*error\s*$/.test(line));
  const error = at(document, 'error');
  const isError = isNamed || at(document, 'type') === 'error' || (error !== undefined && error !== null);
  if (!isError) return undefined;
  const codes = [...CODES.map(path => at(document, path)), error];
  const code = codes.find(value => typeof value === 'string' && value !== 'error');
  return typeof code === 'string' && /^[A-Za-z][\w.-]{0,63}$/.test(code) ? code : 'error';
}

function eventsIn(start: string): string[][] {
  return start.split(/\r\n\r\n|\n\n|\r\r/).map(event => event.split(/\r\n|\n|\r/));
}

function isComment(lines: readonly string[]): boolean {
  return lines.every(line => line === '' || line.startsWith(':') || /^(?:id|retry):/.test(line));
}

/** Reports whether a refusal of a key has a provider's form: a document or no body. Other text is from a proxy or a filter. */
function isOwnForm(body: string, document: unknown): boolean {
  return body.trim() === '' || document !== undefined || /^\s*<\?xml\b/.test(body);
}

/** Reports whether an error without a known class may be about the network or a missing right. */
function mayBeAboutRights(status: number): boolean {
  return [400, 403, 451].includes(status);
}

/**
 * Returns `sso_required` if GitHub's header says that a token must be authorized for an organization (docs.github.com, "About
 * authentication with SAML").
 */
function ssoIn(headers: IncomingHttpHeaders): string | undefined {
  return headers['x-github-sso'] === undefined ? undefined : 'sso_required';
}

function classOf(status: number, document: unknown): Retry['class'] | undefined {
  const isUsedUp = CODES.some(path => USED_UP.test(String(at(document, path))));
  return (status === 429 || status === 403) && isUsedUp ? 'quota' : BY_STATUS[status];
}

/** Returns the times of `Retry-After-Ms` and `Retry-After`. */
export function inHeaders(headers: IncomingHttpHeaders): (Moment | undefined)[] {
  const ms = headers['retry-after-ms'];
  return [
    ms === undefined ? undefined : readMoment(`${String(ms).trim()}ms`),
    readMoment(longestIn(headers['retry-after'])),
  ];
}

/** Returns the largest number of a list, which two servers may have written into one header; other values unchanged. */
function longestIn(value: string | undefined): string | undefined {
  const isList = value !== undefined && /^\s*\d+(?:\s*,\s*\d+)+\s*$/.test(value);
  return isList ? String(Math.max(...value.split(',').map(Number))) : value;
}

/** Returns the times in the fields of a document and in the sentence at the start of the body. */
export function inBody(body: string, document: unknown): (Moment | undefined)[] {
  // google.rpc.RetryInfo
  const details = at(document, 'error.details');
  const delay = Array.isArray(details) ? details.find(each => isRecord(each) && 'retryDelay' in each) : undefined;
  const fields = [...WAITS.map(path => at(document, path)), at(delay, 'retryDelay')];
  return [...fields.map(readMoment), momentInText(body.slice(0, SENTENCE))];
}

/** Returns the reset times in the headers: first those of used-up limits, then all of them, the shortest wait first. */
function inLimits(headers: IncomingHttpHeaders, now: number): (Moment | undefined)[] {
  const limits = [...Object.entries(headers).flatMap(([name, value]) => limitsOf(name, String(value), headers))];
  const resets = limits.flatMap(({ reset, left }) => {
    const moment = readMoment(reset);
    const wait = waitUntil(moment, now);
    return moment && wait !== undefined ? [{ moment, wait, left }] : [];
  });
  const reached = resets.filter(({ left }) => left?.trim() === '0');
  return [...reached, ...resets.sort((a, b) => a.wait - b.wait)].map(({ moment }) => moment);
}

interface Limit {
  reset: string;
  left: string | undefined;
}

/** Returns the limits in one header. A service may put several limits into one list. */
function limitsOf(name: string, value: string, headers: IncomingHttpHeaders): Limit[] {
  // `limit=100, remaining=0, reset=50` (the same draft up to its version 06)
  const [reset, left] = ['reset', 'remaining'].map(part => new RegExp(`\\b${part}=(\\d+)`).exec(value)?.[1]);
  if (/^(?:x-)?ratelimit$/.test(name) && reset !== undefined) return [{ reset, left }];
  // `"default";r=0;t=42` (draft-ietf-httpapi-ratelimit-headers)
  if (/^(?:x-)?ratelimit$/.test(name))
    return value.split(',').flatMap(each => {
      const [reset, left] = ['t', 'r'].map(part => new RegExp(`;\\s*${part}=(\\d+)`).exec(each)?.[1]);
      return reset === undefined ? [] : [{ reset, left }];
    });
  const [, start, end] = /^(.*rate-?limit.*?-?)reset(.*)$/.exec(name) ?? [];
  if (start === undefined) return [];
  // Anthropic's names end with `reset`: `anthropic-ratelimit-requests-reset`
  const remaining = String(headers[`${start}remaining${end}`] ?? headers[name.replace(/reset$/, 'remaining')] ?? '');
  if (readMoment(value)) return [{ reset: value, left: remaining }];
  const lefts = remaining.split(',');
  return value.split(',').map((reset, index) => ({ reset, left: lefts[index] }));
}
