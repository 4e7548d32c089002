// Classifies the end of an attempt by the catalog's rules, and recognizes answers from a proxy or a login page on the way.
// Pure: tests can replay recordings through it.
import type { IncomingHttpHeaders } from 'node:http';
import type { Rule } from '../../catalog/provider.ts';
import type { NamedPause, Verdict } from '../../store/pause.ts';
import { parseDuration } from '../../system/notation.ts';
import { firstToCome, type Moment, momentInText, readMoment } from './moments.ts';
import { CAUSE_NOTES, causeOfFailure } from './refusal-causes.ts';

export type FailureClass = 'quota' | 'rate' | 'auth' | 'usage' | 'other';

/** The end of an upstream process. `stdout` and `stderr` may contain only the held part of the output. */
export interface Outcome {
  exit: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** The subcommand as words: `search`, `r2 bucket list`. */
  command: string;
}

export type { Verdict } from '../../store/pause.ts';

/** The remaining amount, in a sentence about a limit. */
const LEFT =
  /\byou (?:only |currently )?have (\d[\d,]*) (?:[a-z]+ ){0,2}(?:remaining|left|available)\b|\bcan only afford (\d[\d,]*)\b/i;

const DEFAULT_PAUSE: Record<'quota' | 'rate' | 'auth', NamedPause> = {
  quota: { until: 'period' },
  rate: { until: 'elapsed', ms: 60_000 },
  auth: { until: 'credential' },
};

type Match = string[] & { groups?: Record<string, string | undefined>; input?: string; index?: number };

/** Length of the text from a match on that may name a time. */
const AFTER = 600;

/**
 * Returns the verdict of the first rule that matches. If no rule matches, exit 0 is success and everything else final.
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

/** Reports whether `command` is in `names` or is a subcommand of a name in it (`r2` covers `r2 bucket list`). */
export function isCommandIn(command: string, names: readonly string[]): boolean {
  return names.some(name => command === name || command.startsWith(`${name} `));
}

/** Removes terminal control sequences (ECMA-48 CSI, OSC) and the markers that readline wraps them in. */
export function stripAnsi(text: string): string {
  return text.replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x01\x02]/g, '');
}

/** Returns the words of a failure that a rule has matched: the text from the match on, and the document on stdout. */
function wordsOf({ input = '', index = 0 }: Match, stdout: string): unknown[] {
  return [input.slice(index, index + AFTER), parseJson(stdout)];
}

/** Reports whether the text from a rule's match on holds a page. Other output of a tool may contain web pages. */
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
 * Returns the pause after a failure. The provider's time takes precedence, because a pause must never be shorter. A refused
 * credential has no time.
 * @param named a time in the future
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

/** Reads an account's remaining units from a refusal: "You have 11 characters remaining, while 70 characters are required". */
export function leftIn(text: string): { left?: number } {
  const [, having, affording] = LEFT.exec(text) ?? [];
  const figure = having ?? affording;
  return figure === undefined ? {} : { left: Number(figure.replaceAll(',', '')) };
}

/** Returns the times that a match names, the most definite first. */
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
 * Returns, for each line, the text from its start on, with white space collapsed. CLIs wrap their messages at the terminal's
 * width: a phrase may span lines, but a rule must still be anchored at the start of a line.
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

/** Returns the passages of a text that a rule for stderr could match. */
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

/** Parses a JSON text, or returns `undefined` for other text. Some programs begin their JSON with a byte order mark. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** Returns the value at a dotted path (`data.remainingCredits`, `errors.0.code`), or `undefined`. */
export function at(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** The note for the user. */
export const FOREIGN_NOTE =
  'a proxy, a filter or a login page on the way has answered in place of the provider, so this says nothing about the account. No other account is tried.';

/** Authentication schemes of a proxy or a login page; the providers of the catalog ask for their keys by other schemes. */
const OTHER_LOGIN = /\b(?:Basic|Digest|NTLM|Negotiate|Kerberos|Cloudflare-Access)\b/i;
/** Proxies and filters that name themselves. A program that forwards an answer keeps the name of the provider's server. */
const GATEKEEPER =
  /\b(?:squid|zscaler|netskope|blue ?coat|proxysg|symantec|forcepoint|websense|mcafee|skyhigh|forti(?:gate|guard|proxy|web)|palo ?alto|barracuda|sophos|iboss|menlo|ironport|cisco-wsa|umbrella|check ?point|smoothwall|lightspeed|securly|privoxy|cloudflare-gateway|big-?ip)\b/i;
/** API gateways, which check keys themselves. */
const API_GATEWAY = /\b(?:kong|tyk|apigee|gravitee|krakend)\b/i;
/** Headers that only a proxy or a filter sends. */
const OF_GATEKEEPER = /^(?:x-(?:squid-error|netskope|bluecoat|zscaler|mcafee|fortigate|cisco-wsa|iboss)|cf-access-)/;
/** HTML elements that a page may begin with. */
const ELEMENT = '(?:html|head|title|meta|link|style|body|script|center|h[1-6]|div|p|br|b|table|font|form|img|pre|span)';
/** The start of a page, after a byte order mark, an XML declaration and comments. Errors of storage services are plain XML. */
const PAGE = new RegExp(
  `^(?:\\uFEFF|\\s|<\\?xml[^>]*>|<!--[\\s\\S]{0,2000}?-->)*<(?:!doctype\\s+html|wispr|WISPAccessGatewayParam|${ELEMENT}\\b)`,
  'i',
);
/** A page within a tool's message, or the error of the tool's JSON parser about a page. */
const PAGE_IN_TEXT =
  /<(?:!doctype html|html|head|title|body)\b|\b(?:unexpected token|invalid character|unexpected character)[: ]+['"`‘“]?</i;
/** A tool's message about a login that it does not support, or a refusal from a proxy. */
const PROXY_IN_TEXT =
  /\bneed: (?:Digest|NTLM|Negotiate|Kerberos|Basic\b[^\n]{0,20}realm="?[^"\n]*(?:squid|proxy|firewall))|\bProxy[ -]Authentication[ -]Required\b|\bproxy\b[^\n]{0,40}\b407\b|\b407\b[^\n]{0,40}\b(?:proxy|tunnel)|\btunnel\w*\b[^\n]{0,60}\b(?:statusCode=|status |code )?407\b|\b(?:511 )?Network Authentication Required\b/i;

/** Reports whether an HTTP answer is not the provider's. @param keyScheme the scheme in which the provider asks for its key */
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
 * Reports whether a 401 in a provider's form may come from a gateway on the way: it is empty or names a gateway. Some
 * providers send the same answer, so a rule of the catalog comes first.
 */
export function mayBeForeign(body: string, headers: IncomingHttpHeaders): boolean {
  const programs = `${headers.server ?? ''} ${headers['www-authenticate'] ?? ''}`;
  return body.trim() === '' || GATEKEEPER.test(body) || API_GATEWAY.test(programs);
}

/** Reports whether a tool's message about a refusal contains a page or a proxy's login. */
export function isForeignText(text: string): boolean {
  return PAGE_IN_TEXT.test(text) || PROXY_IN_TEXT.test(text);
}

/** Reports whether a gatekeeper only forwarded an answer: it has the fields of an error, or a header that API servers send. */
function isOfProvider(body: string, headers: IncomingHttpHeaders): boolean {
  return (
    /"(?:errors?|message|detail|code)"\s*:/.test(body) ||
    Object.keys(headers).some(name => /^(?:server|cf-ray|(?:x-)?request-id|(?:x-)?ratelimit)/.test(name))
  );
}

/**
 * Reports whether Cloudflare answered in place of the provider, because of the client's address: with a line for programs, or
 * with a document (developers.cloudflare.com, "Cloudflare 1xxx errors").
 */
function isOfCloudflare(body: string): boolean {
  return /^error code: 1\d{3}\s*$/.test(body) || /"cloudflare_error":\s*true/.test(body);
}
