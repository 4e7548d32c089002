// Classifies the end of an attempt by the catalog's rules, and recognizes answers of a proxy or a login page on the way.
// Pure, so that recordings can be replayed through it.

import type { IncomingHttpHeaders } from 'node:http';
import type { Rule } from '../../catalog/provider.ts';
import type { NamedPause, Verdict } from '../../store/pause.ts';
import { parseDuration } from '../../system/notation.ts';
import { firstToCome, type Moment, momentInText, readMoment } from './moments.ts';
import { CAUSE_NOTES, causeOfFailure } from './refusal-causes.ts';

export type FailureClass = 'quota' | 'rate' | 'auth' | 'usage' | 'other';

/** End of an upstream process. `stdout` and `stderr` may be only the part that was held. */
export interface Outcome {
  exit: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** The subcommand as words: `search`, `r2 bucket list`. */
  command: string;
}

export type { Verdict } from '../../store/pause.ts';

/** A figure of what is left, in a sentence about a limit. */
const LEFT =
  /\byou (?:only |currently )?have (\d[\d,]*) (?:[a-z]+ ){0,2}(?:remaining|left|available)\b|\bcan only afford (\d[\d,]*)\b/i;

const DEFAULT_PAUSE: Record<'quota' | 'rate' | 'auth', NamedPause> = {
  quota: { until: 'period' },
  rate: { until: 'elapsed', ms: 60_000 },
  auth: { until: 'credential' },
};

type Match = string[] & { groups?: Record<string, string | undefined>; input?: string; index?: number };

/** Length of the text after a match that may name a time. */
const AFTER = 600;

/**
 * The first rule that matches decides. Without one, exit 0 is success and everything else final.
 * @param rules the provider's rules, in the order of the catalog
 * @param now milliseconds since the epoch
 */
export function classify(outcome: Outcome, rules: readonly Rule[], now = Date.now()): Verdict {
  const starts: Partial<Record<'stdout' | 'stderr', string[]>> = {};
  for (const rule of rules) {
    const match = matchRule(rule, outcome, stream => (starts[stream] ??= lineStarts(outcome[stream])));
    if (!match) continue;
    if (rule.class === 'usage' || rule.class === 'other')
      return { kind: 'final', class: rule.class, ...(rule.note && { note: rule.note }) };
    if (isPageIn(rule, match, outcome)) return { kind: 'final', class: 'other', note: FOREIGN_NOTE };
    const cause = causeOfFailure(rule.class, ...wordsOf(match, outcome.stdout));
    if (cause) return { kind: 'final', class: 'other', note: CAUSE_NOTES[cause] };
    const scope = rule.scope && { scope: rule.scope };
    const text = (match[0] ?? '').slice(0, 200);
    const rest = pauseOf(rule, rule.class, firstToCome(statedIn(rule, match, outcome.stdout), now));
    const left = rule.class === 'quota' ? leftIn(`${outcome.stderr}\n${outcome.stdout}`) : {};
    const check = rule.check && { check: true as const };
    const stays = rule.stays && { stays: true as const, ...(rule.note && { note: rule.note }) };
    return { kind: 'retry', class: rule.class, ...rest, text, ...scope, ...left, ...check, ...stays };
  }
  return outcome.exit === 0 ? { kind: 'success' } : { kind: 'final', class: 'other' };
}

/** Reports whether `command` is one of `names`, or a subcommand of one (`r2` covers `r2 bucket list`). */
export function isCommandIn(command: string, names: readonly string[]): boolean {
  return names.some(name => command === name || command.startsWith(`${name} `));
}

/** Text without terminal control sequences (ECMA-48 CSI, OSC) and the markers that readline wraps them in. */
export function stripAnsi(text: string): string {
  return text.replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x01\x02]/g, '');
}

/** The words of a failure that a rule has matched: those behind the match, and the document on stdout. */
function wordsOf({ input = '', index = 0 }: Match, stdout: string): unknown[] {
  return [input.slice(index, index + AFTER), parseJson(stdout)];
}

/** Reports whether a page is behind the words that a rule has matched. What a tool prints besides may hold pages of the web. */
function isPageIn({ json }: Rule, { input = '', index = 0 }: Match, { stdout }: Outcome): boolean {
  return (
    isForeignText(input.slice(index, index + AFTER)) || (json !== undefined && isForeignText(stdout.slice(0, 4_000)))
  );
}

function matchRule(
  rule: Rule,
  outcome: Outcome,
  startsOf: (stream: 'stdout' | 'stderr') => string[],
): Match | undefined {
  if (rule.commands && !isCommandIn(outcome.command, rule.commands)) return undefined;
  if (rule.exit ? !rule.exit.includes(outcome.exit ?? -1) : outcome.exit === 0) return undefined;
  let match: Match = [''];
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = rule[stream];
    if (source === undefined) continue;
    const line = firstMatch(source, startsOf(stream));
    if (!line) return undefined;
    match = line;
  }
  if (rule.json) {
    const value = at(parseJson(outcome.stdout), rule.json.path);
    const matched = value === undefined ? null : new RegExp(rule.json.matches).exec(String(value));
    if (!matched) return undefined;
    match = matched;
  }
  return match;
}

/**
 * The provider's time wins over the catalog's, because a pause must never be shorter. A refused credential has no time.
 * @param named a time still to come
 * @returns `stated` for the provider's time
 */
export function pauseOf(
  { rest }: Pick<Rule, 'rest'>,
  failure: 'quota' | 'rate' | 'auth',
  named: Moment | undefined,
): { rest: NamedPause; stated?: true } {
  if (named && failure !== 'auth') return { rest: named, stated: true };
  if (rest === 'period' || rest === 'credential') return { rest: { until: rest } };
  if (rest) return { rest: { until: 'elapsed', ms: parseDuration(rest) } };
  return { rest: DEFAULT_PAUSE[failure] };
}

/** Units that an account has left, as a refusal says it: "You have 11 characters remaining, while 70 characters are required". */
export function leftIn(text: string): { left?: number } {
  const [, having, affording] = LEFT.exec(text) ?? [];
  const figure = having ?? affording;
  return figure === undefined ? {} : { left: Number(figure.replaceAll(',', '')) };
}

/** The times that a match names, most definite first. */
function statedIn({ retry_after }: Pick<Rule, 'retry_after'>, match: Match, stdout: string): (Moment | undefined)[] {
  const { groups, input = '', index = 0 } = match;
  const inJson = retry_after === undefined ? undefined : at(parseJson(stdout), retry_after);
  return [
    readMoment(groups?.rest),
    readMoment(inJson),
    readMoment(groups?.reset),
    momentInText(input.slice(index, index + AFTER)),
  ];
}

/**
 * The text from each line's start on, with white space collapsed: CLIs wrap their messages at the terminal's width, so
 * a phrase may run over lines, while a rule must still be anchored at the start of one.
 */
function lineStarts(text: string): string[] {
  const lines = stripControls(text)
    .split(/[\r\n]+/)
    .map(line => line.replace(/\s+/g, ' ').trim())
    .filter(line => line !== '');
  const joined = lines.join(' ');
  let offset = 0;
  return lines.map(line => {
    const start = joined.slice(offset, offset + 4_000);
    offset += line.length + 1;
    return start;
  });
}

/** The passages of a text that one of the rules for stderr could match. */
export function findFailures(text: string, rules: readonly Rule[]): string[] {
  const patterns = rules.flatMap(rule => (rule.stderr && rule.class !== 'usage' ? [new RegExp(rule.stderr)] : []));
  return patterns.length === 0 ? [] : lineStarts(text).filter(start => patterns.some(pattern => pattern.test(start)));
}

function stripControls(text: string): string {
  return stripAnsi(text).replace(/[\x00-\x08\x0e-\x1f\x7f]/g, '');
}

function firstMatch(source: string, starts: string[]): RegExpExecArray | undefined {
  const expression = new RegExp(source);
  for (const start of starts) {
    const match = expression.exec(start);
    if (match) return match;
  }
  return undefined;
}

/** The value of a JSON text, or `undefined` for other text. Some programs begin it with a byte order mark. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** The value at a dotted path (`data.remainingCredits`, `errors.0.code`), or `undefined`. */
export function at(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** For a person. */
export const FOREIGN_NOTE =
  'a proxy, a filter or a login page on the way has answered in place of the provider, so this says nothing about the account. No other account is tried.';

/** Logins of a proxy or a page; no provider of the catalog asks for its key in one of these. */
const OTHER_LOGIN = /\b(?:Basic|Digest|NTLM|Negotiate|Kerberos|Cloudflare-Access)\b/i;
/** Programs in between that name themselves; a program that passes an answer on keeps the name of the provider's server. */
const GATEKEEPER =
  /\b(?:squid|zscaler|netskope|blue ?coat|proxysg|symantec|forcepoint|websense|mcafee|skyhigh|forti(?:gate|guard|proxy|web)|palo ?alto|barracuda|sophos|iboss|menlo|ironport|cisco-wsa|umbrella|check ?point|smoothwall|lightspeed|securly|privoxy|cloudflare-gateway|big-?ip)\b/i;
/** API gateways, which check keys themselves. */
const API_GATEWAY = /\b(?:kong|tyk|apigee|gravitee|krakend)\b/i;
/** Headers that only a program in between sends. */
const OF_GATEKEEPER = /^(?:x-(?:squid-error|netskope|bluecoat|zscaler|mcafee|fortigate|cisco-wsa|iboss)|cf-access-)/;
/** Elements of pages that a text may begin with. */
const ELEMENT = '(?:html|head|title|meta|link|style|body|script|center|h[1-6]|div|p|br|b|table|font|form|img|pre|span)';
/** The start of a page: behind a byte order mark, a declaration of XML and comments. Errors of storage services are XML, and no page. */
const PAGE = new RegExp(
  `^(?:\\uFEFF|\\s|<\\?xml[^>]*>|<!--[\\s\\S]{0,2000}?-->)*<(?:!doctype\\s+html|wispr|WISPAccessGatewayParam|${ELEMENT}\\b)`,
  'i',
);
/** A page within the words of a tool, or what its reader of JSON says of one. */
const PAGE_IN_TEXT =
  /<(?:!doctype html|html|head|title|body)\b|\b(?:unexpected token|invalid character|unexpected character)[: ]+['"`‘“]?</i;
/** A login that a tool could not do, or a refusal of a proxy. */
const PROXY_IN_TEXT =
  /\bneed: (?:Digest|NTLM|Negotiate|Kerberos|Basic\b[^\n]{0,20}realm="?[^"\n]*(?:squid|proxy|firewall))|\bProxy[ -]Authentication[ -]Required\b|\bproxy\b[^\n]{0,40}\b407\b|\b407\b[^\n]{0,40}\b(?:proxy|tunnel)|\btunnel\w*\b[^\n]{0,60}\b(?:statusCode=|status |code )?407\b|\b(?:511 )?Network Authentication Required\b/i;

/** Reports whether an answer over HTTP is not the provider's. @param keyScheme by which the provider itself asks for its key */
export function isForeign(
  { status, body, headers }: { status: number; body: string; headers: IncomingHttpHeaders },
  { key_scheme: keyScheme }: { key_scheme: string },
): boolean {
  if (status === 407 || status === 511 || headers['proxy-authenticate'] !== undefined) return true;
  const login = headers['www-authenticate'];
  if (login !== undefined && OTHER_LOGIN.test(String(login)) && !OTHER_LOGIN.test(keyScheme)) return true;
  const isOfGatekeeper =
    GATEKEEPER.test(String(headers.server ?? '')) || Object.keys(headers).some(name => OF_GATEKEEPER.test(name));
  return (
    isOfGatekeeper ||
    /^(?:text\/html|application\/xhtml|application\/captive\+json)/i.test(headers['content-type'] ?? '') ||
    PAGE.test(body) ||
    isOfCloudflare(body) ||
    (GATEKEEPER.test(String(headers.via ?? '')) && !isOfProvider(body, headers))
  );
}

/**
 * Reports whether a 401 in a provider's form may come from a gateway in between: it is empty, or names one. Some providers answer the
 * same, so a rule of the catalog comes first.
 */
export function mayBeForeign(body: string, headers: IncomingHttpHeaders): boolean {
  const programs = `${headers.server ?? ''} ${headers['www-authenticate'] ?? ''}`;
  return body.trim() === '' || GATEKEEPER.test(body) || API_GATEWAY.test(programs);
}

/** Reports whether what a tool printed about a refusal holds a page, or a login of a proxy. */
export function isForeignText(text: string): boolean {
  return PAGE_IN_TEXT.test(text) || PROXY_IN_TEXT.test(text);
}

/** Reports whether a gatekeeper has only passed an answer on: it has the words of an error, or a header that servers of programs send. */
function isOfProvider(body: string, headers: IncomingHttpHeaders): boolean {
  return (
    /"(?:errors?|message|detail|code)"\s*:/.test(body) ||
    Object.keys(headers).some(name => /^(?:server|cf-ray|(?:x-)?request-id|(?:x-)?ratelimit)/.test(name))
  );
}

/**
 * Reports whether Cloudflare has answered in front of the provider, which is about the address that asks: with a line for programs, or
 * with a document (developers.cloudflare.com, "Cloudflare 1xxx errors").
 */
function isOfCloudflare(body: string): boolean {
  return /^error code: 1\d{3}\s*$/.test(body) || /"cloudflare_error":\s*true/.test(body);
}
