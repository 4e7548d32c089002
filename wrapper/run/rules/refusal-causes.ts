// Tells refusals because of the network or a missing right from refusals of the credential itself, for all providers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Causes of a refusal that only looks like a refused credential. */
export type Cause = 'address' | 'activity' | 'right';

/** Notes for the user; `{vpn}` stands for a sentence about WARP or another VPN. */
export const CAUSE_NOTES: Record<Cause, string> = {
  address: 'the provider refuses this network address or location, not the key; {vpn}. No other account is tried.',
  activity: 'the provider objects to unusual activity, not to the key; {vpn}. No other account is tried.',
  right:
    'the provider says that the key or its account lacks a right for this, not that the key is dead. No other account is tried.',
};

/** The causes in a few words. */
export const SHORT_CAUSES: Record<Cause, string> = {
  address: 'it refuses this network address or location, not the key',
  activity: 'it objects to unusual activity',
  right: 'the key or its account lacks a right for this',
};

const PLACE = '(?:country|countries|regions?|territory|territories|locations?|jurisdictions?|area)';
const REFUSED =
  '(?:not (?:\\w+ )?(?:allow(?:ed)?|authorized|permit(?:ted)?|supported|available|(?:white|allow)-?listed|in|on|match)|disallowed|unsupported|unavailable|blocked|denied|rejected|refused|restricted|banned|forbidden|prohibited|violates|restrictions?|mismatch|outside)';
const KEY =
  '(?:api[ _-]?keys?|(?:secret |access |private )?keys?|(?:\\w+ )?tokens?|credentials?|bearer|authorization|grant|session|login)';
const DEAD =
  '(?:invalid(?! (?:scopes?|permissions?))|incorrect|expired|revoked|unknown|malformed|deactivated|disabled|deleted|leaked|bad|wrong|unrecognized|not (?:valid|recognized|found|exist)|no longer valid|could not be (?:verified|found))';
/** Words for a key directly before a statement about it, with no place, right or address in between. */
const OWN_KEY =
  '(?:(?:this|that|your|the|api|x-api|access|auth|bearer|oauth|personal|secret|subscription|user)[ _-]){0,4}(?:keys?|tokens?|credentials?|jwt)';
const GONE =
  '(?:revoked|expired|deactivated|deleted|leaked|compromised|malformed|unrecognized|incorrect|archived|rotated)';
/** The owners of a key; without them it does not work. */
const OWNER = '(?:organi[sz]ation|account|workspace|project|team|tenant|subscription|consumer)';
const ODD = '(?:unusual|suspicious|abnormal|irregular|abusive|fraudulent)';
/** Services that hide the origin of a request. */
const HIDDEN = '(?:VPNs?|prox(?:y|ies)|Tor|anonymi[sz](?:ing|ers?|ed) (?:services?|prox(?:y|ies)|networks?))';
const RIGHT = '(?:permissions?|scopes?|privileges?|entitlements?|access rights?)';

/** `dead`: the key itself is invalid. `key`: it may work elsewhere (RFC 6750 has `invalid_token` for "other reasons"). */
type Found = Cause | 'dead' | 'key';

/** Patterns for error names, in lower case with underscores; the first match counts. */
const CODES: [RegExp, Found][] = [
  [
    /(?:invalid|expired|revoked|incorrect|deactivated|disabled|malformed)_(?:\w+_)?(?:api_?key|key|credentials?)$|(?:expired|revoked|deactivated)_(?:\w+_)?token$|(?:key|token|credentials?)_(?:\w+_)?(?:expired|revoked|disabled|deleted|leaked|not_found)$|key_invalid$/,
    'dead',
  ],
  [/(?:denied|blocked|forbidden|unauthorized|restricted|banned|rejected)_(?:\w+_)?ip(?:_address)?(?![a-z])/, 'address'],
  [
    /(?:^|_)ip(?:_address)?(?:_(?:is|was|has_been))?_(?:not_|blocked|denied|restrict|forbidden|mismatch|banned|disallowed|rejected|refused|invalid|unauthorized|outside|(?:allow|white|block)_?list)/,
    'address',
  ],
  [
    /(?:unsupported|restricted|blocked|forbidden|invalid)_(?:country|region|location|territory|geo|ip)(?![a-z])/,
    'address',
  ],
  [
    /(?:country|region|location|territory|geo|network)(?:_\w+)?_(?:not_(?:supported|allowed|available|permitted)|unsupported|blocked|restricted|denied|rejected|refused|forbidden|banned|disallowed)/,
    'address',
  ],
  [
    /(?:unusual|suspicious|abnormal|abusive|fraudulent)_(?:\w+_)?(?:activity|behavior|traffic|usage|(?:log|sign)_?in)|(?:abuse|bot|fraud)_(?:detected|suspected)|flagged_(?:for|as)_|captcha_required/,
    'activity',
  ],
  [
    /(?:^|_)(?:vpn|proxy|tor)(?:_\w+)?_(?:detected|not_(?:allowed|supported|permitted)|blocked|denied|forbidden|rejected)/,
    'address',
  ],
  [
    /(?:invalid|expired|revoked|incorrect|bad|unknown|deactivated|disabled|malformed|wrong)_(?:\w+_)?(?:key|token|credentials?|auth\w*)$|(?:key|token|credentials?)_(?:\w+_)?(?:invalid|expired|revoked|disabled|deleted|leaked|not_found|unknown)$/,
    'key',
  ],
  [
    /(?:consumer|account|organi[sz]ation|org|workspace|project|team|tenant|subscription|key|token)_(?:is_|was_|has_been_)?(?:suspended|archived|deactivated|disabled|closed|terminated)$/,
    'key',
  ],
  [
    /(?:missing|insufficient|invalid|no|not_enough|lacks?|required?)_(?:\w+_)?(?:permissions?|scopes?|privileges?|rights|access|entitlements?)(?![a-z])/,
    'right',
  ],
  [/(?:permissions?|scopes?|privileges?)_(?:error|denied|missing|required|insufficient|not_granted)/, 'right'],
  [/(?:sso|saml)_(?:\w+_)?(?:required|enforced|unauthorized)|(?:requires?|missing|enforced)_(?:sso|saml)/, 'right'],
  [/(?:mismatched|invalid|unknown)_(?:organization|project|workspace|tenant)$/, 'right'],
  [
    /feature_(?:disabled|not_\w+)|service_(?:disabled|blocked)$|(?:referr?er|app|origin)_(?:blocked|not_allowed)$/,
    'right',
  ],
  [
    /terms_(?:\w+_)?(?:required|not_accepted)|(?:accept|agree)_(?:\w+_)?terms|only_for_creator|sign_in_required/,
    'right',
  ],
];

/** Patterns for sentences; the first match counts. */
const WORDS: [RegExp, Found][] = [
  // a list of causes ("Invalid API-key, IP, or permissions") or a key without a scope does not mean a dead key
  [
    new RegExp(
      `\\b(?:${GONE}|invalid|bad|wrong|unknown|disabled) ${OWN_KEY}\\b(?!,?(?: or| and)? (?:[\\w-]+ )?(?:IP|scopes?|permissions?|locations?|regions?)\\b|, does not contain)`,
      'i',
    ),
    'dead',
  ],
  [
    new RegExp(
      `\\b${OWN_KEY}(?: (?:that |which )?you(?: have)? (?:supplied|provided|used|sent|gave|are using))? (?:(?:is|was|are|were|has|have|been) (?:(?!not\\b|no\\b)\\w+ ){0,2}?(?:${GONE}|not (?:recognized|found|active)|no longer (?:valid|active)|(?:disabled|invalid|not valid)(?! (?:for|from|in|on|outside)\\b))|expired|revoked)\\b`,
      'i',
    ),
    'dead',
  ],
  [
    new RegExp(
      `\\b${OWNER} (?:is|was|has been) (?:deactivated|deleted|closed|terminated|archived|disabled)\\b(?! (?:for|from|in|on|outside)\\b)`,
      'i',
    ),
    'dead',
  ],
  [
    new RegExp(
      `\\b${ODD} (?:[\\w-]+ ){0,2}?(?:activity|behaviou?rs?|patterns?|traffic|usage|requests?|(?:sign|log)-?ins?)\\b`,
      'i',
    ),
    'activity',
  ],
  [/\bflagged (?:[\w-]+ ){0,3}?(?:for|as) (?:[\w-]+ ){0,3}?(?:abus|fraud|spam|suspicious|misuse|bot)/i, 'activity'],
  [
    /\b(?:automated|bot|robot|non-?human) (?:\w+ )?(?:traffic|requests?|activity|queries|access)\b[^.]{0,60}\b(?:detected|suspected|blocked|not allowed)|\b(?:detected|suspect\w*) (?:\w+ ){0,3}?(?:automated|bots?|robots?)\b/i,
    'activity',
  ],
  [
    /\bverify (?:that )?you(?:['’]re| are) (?:a )?(?:human|not a (?:ro)?bot)\b|\b(?:complete|solve|pass) (?:the |a |this )?(?:captcha|challenge)\b/i,
    'activity',
  ],
  [new RegExp(`\\bIP(?:s|v[46])?(?: ?address(?:es)?)?\\b[^.]{0,80}?\\b${REFUSED}\\b`, 'i'), 'address'],
  [/\bdoes(?: not|n['’]t) match\b[^.]{0,60}\bIP\b|\bIP\b[^.]{0,60}\bdoes(?: not|n['’]t) match\b/i, 'address'],
  [/\bIP(?: address(?:es)?)?[ -](?:allow|white|access|block|deny)[ -]?(?:list|filter|rule|polic)/i, 'address'],
  [new RegExp(`\\b${REFUSED}\\b[^.]{0,40}\\b(?:IP|(?:your|this) (?:network|address|client))\\b`, 'i'), 'address'],
  [/\b(?:allow|white|block)-?list(?:ed)?\b[^.]{0,60}\bIP\b|\bIP\b[^.]{0,60}\b(?:allow|white|block)-?list/i, 'address'],
  [/\binvalid\b[^.]{0,20}\bIP\b/i, 'address'],
  [/\b(?:unauthorized|unapproved|untrusted|unknown|unrecognized) (?:client )?(?:IP|network|location)\b/i, 'address'],
  [new RegExp(`\\b(?:from|address|client|host) (?:\\d+_){3}\\d+\\b[^.]{0,40}?\\b${REFUSED}\\b`, 'i'), 'address'],
  [new RegExp(`\\b(?:your|this|client|current) network\\b[^.]{0,60}?\\b${REFUSED}\\b`, 'i'), 'address'],
  [/\boutside (?:of )?(?:the |your )?(?:\w+ ){0,2}(?:networks?|IPs?|address(?:es)?|ranges?)\b/i, 'address'],
  [
    new RegExp(
      `\\b${REFUSED}\\b[^.]{0,40}\\b(?:virtual network|firewall|network (?:rules?|polic(?:y|ies)|restrictions?)|VPNs?|proxy|proxies|Tor)\\b`,
      'i',
    ),
    'address',
  ],
  [
    /\b(?:can ?(?:not|['’]t) (?:use|be used)|not (?:valid|usable))\b[^.]{0,60}\bfrom (?:(?:this |your )?(?:location|network|address|IP)\b|(?:\d+_){3}\d)/i,
    'address',
  ],
  [new RegExp(`\\b${PLACE}\\b[^.]{0,60}?\\b${REFUSED}\\b`, 'i'), 'address'],
  [new RegExp(`\\b${REFUSED}\\b[^.]{0,40}\\b(?:your|this|the|from) (?:current )?${PLACE}\\b`, 'i'), 'address'],
  [
    new RegExp(`\\b(?:unsupported|unavailable|only (?:available|supported)) (?:in|from) (?:[\\w-]+ )?${PLACE}\\b`, 'i'),
    'address',
  ],
  [/\bgeo-?(?:block|restrict|fenc)|\baccess from your IP\b|\bbecause of its network\b/i, 'address'],
  [new RegExp(`\\bnot allowed from unsupported ${PLACE}\\b`, 'i'), 'address'],
  [
    /\bpublic (?:network )?access is disabled\b|\bcan ?not be used (?:over|through|with) (?:an? )?(?:Tor|VPN|proxy)\b/i,
    'address',
  ],
  [new RegExp(`\\b${HIDDEN}(?![\\w-])[^.]{0,60}?\\b(?:detected|disable|disconnect|${REFUSED}\\b)`, 'i'), 'address'],
  [
    new RegExp(
      `\\b(?:detected|you(?:['’]re| are)|your (?:connection|request|traffic)|requests?)\\b[^.]{0,40}?\\b(?:using|use of|behind|through|via|over|from) (?:an? |your |the )?(?:[\\w-]+ ){0,2}?${HIDDEN}(?![\\w-])`,
      'i',
    ),
    'address',
  ],
  [/\b(?:turn|switch) off (?:your |the |any )?(?:VPN|proxy)\b/i, 'address'],
  [
    /\bonly (?:be )?(?:used|usable|accessed|called|valid|allowed|accepted|permitted|works?) (?:\w+ ){0,2}?(?:from|within|on)\b[^.]{0,40}(?:\bIPs?\b|\baddress|\bnetworks?\b|\branges?\b|\b(?:\d+_){3}\d)/i,
    'address',
  ],
  [
    new RegExp(
      `\\b(?:do|does|can|are|is)(?: ?not|n['’]t|['’]t)\\b[^.]{0,40}?\\b(?:serv|support|operat|offer|provid|accept)\\w*\\b[^.]{0,60}?\\b(?:in|from|to|for) (?:your|this|the|certain|some) (?:\\w+ )?${PLACE}\\b`,
      'i',
    ),
    'address',
  ],
  [/\b(?:not (?:yet )?|un)(?:available|supported) where you (?:are|live)\b/i, 'address'],
  [/\bdoes not contain scopes?\b/i, 'right'],
  [new RegExp(`\\b(?:${OWN_KEY}|${OWNER}(?: ['"][^'"]*['"])?) (?:is|was|has been) (?:\\w+ )?suspended\\b`, 'i'), 'key'],
  [new RegExp(`\\bsuspended (?:\\w+ )?(?:${OWN_KEY}|${OWNER})\\b`, 'i'), 'key'],
  [new RegExp(`\\b${DEAD}\\b[^.]{0,30}?\\b${KEY}\\b`, 'i'), 'key'],
  [new RegExp(`\\b${KEY}\\b[^.;]{0,40}?\\b${DEAD}\\b`, 'i'), 'key'],
  [
    new RegExp(
      `\\b(?:missing|lacks?|lacking|insufficient|not enough|requires?|required|needs?|must have|invalid)\\b[^.]{0,60}\\b${RIGHT}\\b`,
      'i',
    ),
    'right',
  ],
  [
    new RegExp(
      `\\b${RIGHT}\\b[^.]{0,40}\\b(?:missing|denied|required|insufficient|not (?:granted|allowed|sufficient)|(?:does|do) not match|needed)\\b`,
      'i',
    ),
    'right',
  ],
  [new RegExp(`\\b(?:not|n['’]t) have (?:[\\w-]+ ){0,4}?(?:${RIGHT}|access|rights?|authority)\\b`, 'i'), 'right'],
  [/\bnot accessible by\b|\bmissing access\b|\bread-?only (?:access|key|token|permissions?)\b/i, 'right'],
  [/\b(?:must have|requires?|needs?) (?:[\w-]+ ){1,3}?(?:rights|access)\b/i, 'right'],
  [/\b(?:must|needs? to) be (?:an? )?(?:[\w-]+ ){0,2}?(?:member|owner|admin(?:istrator)?|collaborator)\b/i, 'right'],
  [
    /\b(?:two-?factor|2FA|multi-?factor|MFA)\b[^.]{0,80}\b(?:requir|enforc|enabl|must)|\b(?:requir|enforc|enabl|must )\w*[^.]{0,60}\b(?:two-?factor|2FA|multi-?factor|MFA)\b/i,
    'right',
  ],
  [
    new RegExp(`\\bnot (?:allowed|permitted|authorized|enabled) (?:with|for|by) (?:this|your|the) ${KEY}\\b`, 'i'),
    'right',
  ],
  [/\b(?:SAML|SSO|single sign-?on)\b[^.]{0,60}\b(?:enforce|requir|authori[sz]e|grant|protect)/i, 'right'],
  [/\b(?:enforc|requir|protect|authori[sz]|must )\w*[^.]{0,60}\b(?:SAML|SSO|single sign-?on)\b/i, 'right'],
  [
    /\breferr?er\b[^.]{0,60}\b(?:blocked|not allowed|restrict)|\b(?:blocked|restrict)\w*[^.]{0,40}\breferr?er/i,
    'right',
  ],
  [
    /\b(?:not|only) (?:available|included|allowed) (?:on|in|for|with) (?:your|the|a) (?:[\w-]+ ){0,3}(?:plan|tier|subscription)/i,
    'right',
  ],
  [
    new RegExp(
      `\\b${KEY} (?:is |are )?not (?:allowed|permitted|authorized|valid|enabled) (?:for|to access|to use|on) (?:this|that|the) (?:endpoint|operation|model|method|route|action|account|API)\\b`,
      'i',
    ),
    'right',
  ],
  [/\bno (?:read|write|admin) permissions?\b|\bgated repo\b|\byour role does not\b/i, 'right'],
  [/\b(?:is|are) read-?\s?only\b|\bverify your (?:e-?mail|phone|account|identity)\b/i, 'right'],
  // Google's words for an API that a project has not enabled
  [/\bAPI has not been used in project\b[^.]{0,40}\bdisabled\b/i, 'right'],
  [/\b(?:accept|agree to)\b[^.]{0,60}\b(?:terms|license|agreement|conditions)\b|\bmust be verified\b/i, 'right'],
];

/** Limits for errors; deeper values and longer lists are content. */
const MAX_DEPTH = 5;
const MAX_TEXTS = 60;
const SENTENCE = 1_000;

/**
 * Returns the cause of a refusal if its words say that the credential is not the cause.
 * @param texts an error's words, its names (`ip_not_authorized`), or its document
 */
export function causeOf(...texts: unknown[]): Cause | undefined {
  const found = foundIn(texts);
  // Providers name several causes: a dead key counts most, then activity, an address, a refused key and a missing right.
  const order = ['dead', 'activity', 'address', 'key', 'right'] as const;
  const cause = order.find(each => found.includes(each));
  return cause === 'key' || cause === 'dead' ? undefined : cause;
}

/** Returns the cause of a failure. After a limit, only unusual activity counts: no other account may be tried then. */
export function causeOfFailure(failure: 'quota' | 'rate' | 'auth', ...texts: unknown[]): Cause | undefined {
  if (failure === 'auth') return causeOf(...texts);
  // Without this, each command that meets a limit would wait 50 ms for the compilation of all patterns.
  if (!foundIn(texts, 'activity').includes('activity')) return undefined;
  return causeOf(...texts) === 'activity' ? 'activity' : undefined;
}

/** Returns what the names and the words of an error say. @param only leaves out the patterns for anything else */
function foundIn(texts: unknown[], only?: Found): (Found | undefined)[] {
  const all = texts
    .flatMap(text => textsIn(text, MAX_DEPTH))
    .slice(0, MAX_TEXTS)
    .map(readable);
  const wanted = (patterns: typeof CODES) => patterns.filter(([, found]) => only === undefined || found === only);
  return [firstIn(wanted(CODES), all.flatMap(codesIn)), firstIn(wanted(WORDS), all.map(inOneSentence))];
}

/** Reports whether the name of an error says that the credential is refused, and its words give no other cause. */
export function isRefusedByName(...texts: unknown[]): boolean {
  const names = texts
    .flatMap(text => textsIn(text, MAX_DEPTH))
    .slice(0, MAX_TEXTS)
    .flatMap(codesIn);
  const found = firstIn(CODES, names);
  return (found === 'dead' || found === 'key') && causeOf(...texts) === undefined;
}

/** Removes the links from a text, because their words name pages. A range such as `198.51.100.0/24` stays. */
function readable(text: string): string {
  return text
    .slice(0, SENTENCE)
    .replace(/\bhttps?:\/\/\S+|\b[\w-]+(?:\.[\w-]+)+\/\S*/gi, link => (/^(?:\d+\.){3}\d+\/\d/.test(link) ? link : ' '));
}

/** Replaces the dots within words (`203.0.113.7`, `api.example.com`, `1.5`), which don't end a sentence. */
function inOneSentence(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/(?<=\w)\.(?=\w)/g, '_');
}

function firstIn(patterns: typeof CODES, texts: readonly string[]): Found | undefined {
  return patterns.find(([pattern]) => texts.some(text => pattern.test(text)))?.[1];
}

function textsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  return Object.values(value)
    .slice(0, MAX_TEXTS)
    .flatMap(each => textsIn(each, depth - 1));
}

/** Returns the error names in a text in one spelling, for `IP_NOT_ALLOWED`, `ipNotAllowed` and `ip-not-allowed` alike. */
function codesIn(text: string): string[] {
  const isName = /^[\w.-]{2,80}$/.test(text);
  const names = isName ? [text] : (text.match(/\b[a-z]+(?:_[a-z]+)+\b|\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? []);
  return names.map(name =>
    name
      .replace(/([a-z\d])([A-Z])/g, '$1_$2')
      .replace(/[.-]+/g, '_')
      .toLowerCase(),
  );
}

/** The file whose third line is WARP's state; Culvert's daemon writes it (daemon/view/client/status-file.ts). */
const STATUS = 'culvert/status';

/** @param note text from the catalog; `{vpn}` stands for a sentence about WARP or another VPN */
export function noteText(cli: string, note: string, env: NodeJS.ProcessEnv = process.env): string {
  return `${cli}: ${note.replace('{vpn}', vpnSentence(env))}`;
}

function vpnSentence(env: NodeJS.ProcessEnv): string {
  return isWarpConnected(env)
    ? 'WARP is connected and changes the address that the provider sees, which may be the cause'
    : 'a VPN or proxy such as WARP may be the cause';
}

function isWarpConnected({ XDG_RUNTIME_DIR: directory = '' }: NodeJS.ProcessEnv): boolean {
  try {
    const [process, , state] = readFileSync(join(directory, STATUS), 'utf8').split('\n');
    const [pid = ''] = process!.split(' ');
    // After a daemon's end, the file still has its last state.
    return state === 'connected' && readFileSync(`/proc/${Number(pid)}/stat`, 'utf8') !== '';
  } catch {
    return false;
  }
}
