// Judges what an error of a provider means for the account, and whether it comes from the provider at all. Pure.
import type { IncomingHttpHeaders } from 'node:http';
import { isRecord } from '../../../daemon/core/shape.ts';
import type { HttpProvider } from '../../catalog/programs.ts';
import type { Verdict } from '../../store/pause.ts';
import { at, isForeign, leftIn, mayBeForeign, parseJson, pauseOf } from './classify.ts';
import { firstToCome, type Moment, momentInText, readMoment, waitUntil } from './moments.ts';
import { USER_PATTERN_MS, withTimeLimit } from './patterns.ts';
import { CAUSE_NOTES, causeOfFailure, isRefusedByName } from './refusal-causes.ts';

type Retry = Verdict & { kind: 'retry' };

/** An error as it came. */
export interface Seen {
  status: number;
  /** Its first 64 KiB. */
  body: string;
  headers: IncomingHttpHeaders;
  /** When it came, in milliseconds since the epoch; otherwise now. */
  at?: number;
}

const BY_STATUS: Record<number, Retry['class']> = { 401: 'auth', 402: 'quota', 429: 'rate' };

/** Words of services with the interface of OpenAI, whose 429 is either of two things, and whose 403 may be about the balance. */
const USED_UP =
  /^(?:insufficient_(?:user_)?quota|quota_exceeded|exceeded_current_quota_error|billing_hard_limit_reached|billing_not_active|usage_limit_reached)$/;
const CODES = ['error.code', 'error.type', 'code', 'type', 'detail.code', 'detail.status'];
const WAITS = ['', 'error.', 'detail.', 'data.'].flatMap(place =>
  ['retry_after', 'retryAfter', 'retry_after_seconds', 'resets_in_seconds', 'resets_at'].map(name => place + name),
);
/** Length of a body's start in which a sentence may name a time. */
const SENTENCE = 4_000;

/**
 * The meaning of an error for the account, or `undefined` for none. `final` is for an error that another account must not be tried
 * after.
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

/** Reports whether the first event of a stream is there; comments keep a connection open. */
export function hasEvent(start: string): boolean {
  return eventsIn(start)
    .slice(0, -1)
    .some(lines => !isComment(lines));
}

/** The code of an error that a stream of events begins with, or `undefined` where it begins with something else. */
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

/** A provider refuses a key with a document, or without a body where a rule of the catalog says so; other words are those of a proxy or a filter. */
function isOwnForm(body: string, document: unknown): boolean {
  return body.trim() === '' || document !== undefined || /^\s*<\?xml\b/.test(body);
}

/** A refusal that says nothing about the account may be one for the network or a right. */
function mayBeAboutRights(status: number): boolean {
  return [400, 403, 451].includes(status);
}

/** GitHub names in a header that a token has to be authorized for an organization (docs.github.com, "About authentication with SAML"). */
function ssoIn(headers: IncomingHttpHeaders): string | undefined {
  return headers['x-github-sso'] === undefined ? undefined : 'sso_required';
}

function classOf(status: number, document: unknown): Retry['class'] | undefined {
  const isUsedUp = CODES.some(path => USED_UP.test(String(at(document, path))));
  return (status === 429 || status === 403) && isUsedUp ? 'quota' : BY_STATUS[status];
}

/** The times that a `Retry-After` in milliseconds and one in seconds state. */
export function inHeaders(headers: IncomingHttpHeaders): (Moment | undefined)[] {
  const ms = headers['retry-after-ms'];
  return [
    ms === undefined ? undefined : readMoment(`${String(ms).trim()}ms`),
    readMoment(longestIn(headers['retry-after'])),
  ];
}

/** The longest of several numbers, as two servers on the way write them into one header; any other value as it is. */
function longestIn(value: string | undefined): string | undefined {
  const isList = value !== undefined && /^\s*\d+(?:\s*,\s*\d+)+\s*$/.test(value);
  return isList ? String(Math.max(...value.split(',').map(Number))) : value;
}

/** The times that the fields of a document name, and a sentence at its start. */
export function inBody(body: string, document: unknown): (Moment | undefined)[] {
  // google.rpc.RetryInfo
  const details = at(document, 'error.details');
  const delay = Array.isArray(details) ? details.find(each => isRecord(each) && 'retryDelay' in each) : undefined;
  const fields = [...WAITS.map(path => at(document, path)), at(delay, 'retryDelay')];
  return [...fields.map(readMoment), momentInText(body.slice(0, SENTENCE))];
}

/** Headers about several limits: the times of those that nothing is left of, else the shortest. */
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

/** The limits of one header. A service with several may have them in one list. */
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
