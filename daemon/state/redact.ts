// Redacts secrets in commands of the tunnel CLI and other programs, and in their output.
const BLANK = '[redacted]';
const AFTER = `$1${BLANK}`;
const raw = String.raw;

/** Returns a pattern for words in the usual capitalizations: `token`, `Token`, `TOKEN`. */
function cased(...words: string[]): string {
  return words.flatMap(word => [word, word[0]!.toUpperCase() + word.slice(1), word.toUpperCase()]).join('|');
}

const KIND = cased(
  'api',
  'access',
  'account',
  'auth',
  'encryption',
  'preshared',
  'private',
  'secret',
  'signing',
  'subscription',
);
/** The end of a secret's name, as in `auth_token`, `clientSecret`, `DBPASS`, `Private key`. Not `bypass` or `PWD=/home/ann`. */
const NAME = raw`(?:${cased('token', 'secret', 'password', 'passwd', 'passphrase', 'credential')}|(?:${KIND})[ _-]?(?:${cased('key')})|(?:(?<![A-Za-z])(?:pass|pwd|psk)|(?<![A-Z])(?:Pass|Pwd|Psk)|(?<!BY|COM)(?:PASS|PWD|PSK))(?!=\/)|(?<=["'_])(?:${cased('auth')}))`;
/** Separators between a name and its value, plain or URL-encoded. */
const IS = raw`(?:[:=]|=>|(?:%22)?%3[ADad](?:%2[02])*)`;
/** A constructor in Rust's debug output: `Some(`, `secrecy::Secret(`, `Secret { value: `. */
const OPENED = raw`[A-Za-z][\w:]{0,60}(?:\(\s{0,60}|[ ]?\{\s{0,60}(?:\w{1,30}:[ ]?)?)`;
/** Up to three constructors around a value: `token: Some(ApiToken("…"))`. */
const WRAPPED = raw`(?:${OPENED}){0,3}`;
/** Prefixes of byte, raw or borrowed strings in Rust. */
const PREFIX = raw`(?:&|br?|r)?`;
/** The opening of a quoted string with Rust's constructors or prefixes. */
const SHOWN = raw`(?:(?:${OPENED}){1,3}${PREFIX}|&|br?|r)(?:\\|\\{3}|\\{7})?["']`;
/** A quotation mark, plain or escaped by nested JSON. */
const MARK = raw`(?:\\|\\{3}|\\{7})?["']`;
/** Characters that follow a closing quotation mark: `"Invalid token:", "next"`. */
const CLOSED = raw`\s{0,20}(?:[,}\]:]|\\{0,7}["']|$)`;
/** Text from a quotation mark to the matching mark, the mark of an enclosing string, or the end of the line. */
const QUOTED = raw`(${MARK})(?!\2|\[redacted\])(?:(?!\2)(?:\\{4}|\\{3}["']|\\[^\n]|[^\\\n"]|"(?=\w)))+`;
/** A word up to the next space or quotation mark, without trailing punctuation. */
const VALUE = raw`(?!\[redacted\])(?:(?!\\{1,4}["']|%2[26])[^\s&"'<>]|'(?=\w))*(?!%2[26])[^\s&"'<>,;)}\]\\]`;
/** The end of a word in a sentence. */
const END = raw`(?=[.,;:!]?(?:[\s"'(){}\]<>&]|$))`;
const SWITCH = 'true|false|yes|no|on|off|null|nil|none|None|undefined|required';
/** Text that a program prints in place of a secret: a state, an error, a small number, or more than one word. */
const STATE = raw`(?:(?:${SWITCH}|[a-z]+(?:ed|ing)|valid|invalid|unknown|timeout|ok|empty|unset|wrong|bad|(?:[A-Z][a-z]{2,}){1,4}|\d{1,3})${END}|(?:[A-Z]+|[A-Za-z][a-z'-]*)[.,]?[ \t]+[A-Za-z(])`;
/** Words that follow an option's name in a sentence. */
const VERB = raw`(?:is|was|are|and|or|to|not|must|needs|requires|has|can|with|for|from)\b`;
/** The rest of a line, up to the closing quotation mark of an enclosing string. */
const LINE = raw`(?:=(?<open>${MARK})(?!${CLOSED})[^"\n\\]*\k<open>|\\(?!\\{0,6}["'])[^\n]|[^"'\\\n])+`;

const rule = (...parts: string[]) => new RegExp(parts.join(''), 'g');
const line = (...parts: string[]) => new RegExp(parts.join(''), 'gim');

/**
 * Patterns of secrets in the order in which they are applied, each with an example and a replacement. A rare anchor or bounded
 * repetition in each pattern keeps the time linear in the text's length.
 */
export const SECRETS: readonly [example: string, pattern: RegExp, shown: string | typeof maskAfter][] = [
  // licenses, keys and tokens with a distinctive form
  [
    'CaNaRy77-CaNaRy77-aaaa1234',
    /(?<![\w-])(?=[\d-]{0,25}[A-Za-z])[0-9A-Za-z]{8}-[0-9A-Za-z]{8}-[0-9A-Za-z]{8}(?![\w-])/g,
    license => maskLicense(license),
  ],
  [
    '-----BEGIN PRIVATE KEY-----\nCaNaRy77\n-----END PRIVATE KEY-----',
    /(-----BEGIN [A-Z\d ]{0,30}PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?(-----END|$(?![\s\S]))/g,
    `$1${BLANK}$2`,
  ],
  // the end of a private key without its beginning
  [
    'CaNaRy77CaNaRy77\n-----END PRIVATE KEY-----',
    /(?<![\w+/=\s])[\w+/=\s]{16,}(?=-----END [A-Z\d ]{0,30}PRIVATE KEY)/g,
    BLANK,
  ],
  ['eyJhbGciOiJI.CaNaRy77.CaNaRy77', /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*)+/g, BLANK],
  [
    'ghp_CaNaRy77CaNaRy77',
    /(?<![A-Za-z0-9])(?:(?:gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|[sp]k-)(?=[\w-]{0,99}\d)[\w-]{8,}|[rs]k_(?:live|test)_[A-Za-z0-9]{8,}|pypi-AgE[\w-]{8,}|(?:npm|hf)_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{8,}|(?:AKIA|ASIA)[A-Za-z0-9]{8,})/g,
    BLANK,
  ],
  // licenses after their name, but not "License: Apache-2.0"
  [
    'License key: CaNaRy77',
    line(
      raw`(\blicen[sc]e[ _-]?key\\?["']?(?:\s*[:=]\s*${WRAPPED}${PREFIX}|</key>\s*<string>)\\?["']?)(?!${VERB})([^\s"',)}\\<]+)`,
    ),
    maskAfter,
  ],
  [
    'License: CaNaRy77',
    line(
      raw`(\blicen[sc]e\\?["']?(?:\s*[:=]\s*${WRAPPED}${PREFIX}|</key>\s*<string>)\\?["']?)(?=[\w-]{0,99}\d|\w{16})(?=[\w-]{8})([a-z\d]{4,}(?:-[a-z\d]{4,})*)(?![\w.-])`,
    ),
    maskAfter,
  ],
  // names and values
  [
    '{"auth_token": "CaNaRy77"}',
    rule(
      raw`((?:${NAME}|${cased('authorization', 'cookie')})(?:${MARK}\s{0,20}${IS}\s{0,20}${WRAPPED}${PREFIX}|[ \t]*${IS}[ \t]*${WRAPPED}${PREFIX}(?!${MARK}${CLOSED})))${QUOTED}`,
    ),
    `$1$2${BLANK}`,
  ],
  // bytes; the replacement repeats the name's quotation mark to keep JSON valid
  [
    'token: [67, 97, 78, 97]',
    rule(
      raw`(${NAME}(${MARK}|)\s{0,20}${IS}\s{0,20}${WRAPPED})\[\s{0,60}(?:(?:0x)?[\da-fA-F]{1,3},\s{0,60}){3,}(?:(?:0x)?[\da-fA-F]{1,3}\s{0,60})?\]?`,
    ),
    `$1$2${BLANK}$2`,
  ],
  [
    'Authorization: token CaNaRy77',
    line(
      raw`(\bauthorization[ \t]*[:=][ \t]*)(?!\[redacted\])(?:[\w-]+[ \t]+(?=[\w-]+=)${LINE}|[^\s"'\\]+(?:[ \t]+[^\s"'\\]+)?)`,
    ),
    AFTER,
  ],
  [
    'Set-Cookie: CF_Authorization=CaNaRy77',
    line(raw`(\b(?:set-)?cookie:(?![ \t]*(?:\[redacted\]|(?:en|dis)abled$))[ \t]*)(?=\S)${LINE}`),
    AFTER,
  ],
  ['AWS4-HMAC-SHA256 Credential=CaNaRy77', rule(raw`(\b(?:AWS4-HMAC-\w+|Digest|OAuth)[ \t]+)(?=\w+=)${LINE}`), AFTER],
  [
    'Bearer CaNaRy77',
    rule(raw`\b(${cased('bearer', 'basic')})\s+(?![A-Za-z]?[a-z-]+(?![\w.~+/=-]))[\w.~+/=-]{8,}`),
    `$1 ${BLANK}`,
  ],
  [
    'password=CaNaRy77',
    rule(raw`(${NAME}(?:=|(?:%22)?%3[ADad](?:%2[02])*))(?!(?:${SWITCH}|\d{1,3})${END})`, VALUE),
    AFTER,
  ],
  [
    'INFO auth_token: CaNaRy77',
    rule(raw`(${NAME}[ \t]*${IS}[ \t]*(?:[A-Za-z][\w:]{0,60}\(){0,3})(?!${STATE}|[{[(]|${SHOWN})`, VALUE),
    AFTER,
  ],
  [
    '<key>auth_token</key><string>CaNaRy77</string>',
    rule(raw`((?:${NAME}|${cased('cookie')})<\/key>\s*<(?:string|data)>)[^<]+`),
    AFTER,
  ],
  ['<password>CaNaRy77</password>', rule(raw`(${NAME}>)[^<>]+(?=<\/)`), AFTER],
  ['Registration token CaNaRy77', /(\bregistration (?:with )?token\s+["']?)(?=[^\s"'<>]*\d)[^\s"'<>]{8,}/gi, AFTER],
  [
    'warp-cli override unlock CaNaRy77',
    rule(
      raw`(\bwarp-cli(?:[ \t]+-[\w-]{1,40}){0,5}[ \t]+(?:override unlock|registration (?:license|token)|connector new)[ \t]+["']?)(?!-|\*{4}|${VERB})`,
      VALUE,
    ),
    AFTER,
  ],
  // command options, and lines of .curlrc
  [
    "curl -b 'session=CaNaRy77'",
    /(\bcurl\b[^\n]{0,300}?[ \t](?:-b|--cookie)[ \t=]{0,2}["']?)(?!\[redacted\])[^\s"'=]{1,100}=[^\s"']+/g,
    AFTER,
  ],
  [
    '--token CaNaRy77',
    rule(
      raw`((?<![\w-])--[\w-]{0,40}?(?:${NAME}|license)[ \t]+)(?!-|${VERB})(?:(?!${MARK}${CLOSED})${QUOTED}|${VALUE})`,
    ),
    `$1$2${BLANK}`,
  ],
  [
    '--proxy-user ann:CaNaRy77',
    line(
      raw`((?:--|^[ \t]*)(?:proxy-)?user(?:[ \t]*[=:][ \t]*|[ \t]+)(?!\d+:\d+(?:\s|$)|unit:[\w.@-]+\.service)["']?[^\s:"'/]{1,100}:)${VALUE}`,
    ),
    AFTER,
  ],
  [
    '-u ann:CaNaRy77',
    rule(
      raw`((?:\bcurl\b[^\n]{0,300}?[ \t]-[uU][ \t]?|(?<![\w-])-[uU][ \t]+(?![^\s:]{1,100}:(?:[a-z_-]+|\d+)(?:["'\s]|$)))["']?[^\s:"'/]{1,100}:)${VALUE}`,
    ),
    AFTER,
  ],
  // parameters and users in URLs
  [
    'https://example.org/?sig=CaNaRy77&x=1',
    /([?&](?!code=\d{1,3}(?![^\s&"'<>]))(?:code|(?:[\w-]{0,40}[_-])?(?:key|sig(?:nature)?))=)[^\s&"'<>]+/gi,
    AFTER,
  ],
  ['http://ann:a"CaNaRy77@proxy.example:3128', /(\\?\/\\?\/[^\s/"'<>:@?#]+:)(?!\d{1,5}[?#])[^\s/@<>,{}]+(?=@)/g, AFTER],
  ['http://ann:CaNaRy77@proxy.example:3128', /(:\\?\/\\?\/(?!git@))[^\s/"'<>?#]+(?=@)/g, AFTER],
  ['http%3A%2F%2Fann%3ACaNaRy77%40proxy.example', /(%3a%2f%2f)(?:(?!%2f|%3f|\?)[^\s/"'<>]){1,300}?(?=@|%40)/gi, AFTER],
];

/**
 * Redacts license keys (except the last four characters), tokens, codes and users in URLs. Idempotent.
 * @param secrets exact values from the command line; values shorter than four characters are ignored, because redacting every
 *   `1` would destroy the output without hiding a secret
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  let out = text;
  for (const secret of secrets) if (secret.length >= 4) out = out.replaceAll(secret, blank(secret));
  for (const [, pattern, shown] of SECRETS)
    out = typeof shown === 'string' ? out.replace(pattern, shown) : out.replace(pattern, shown);
  return out;
}

function maskAfter(_: string, key: string, license: string): string {
  return key + maskLicense(license);
}

/** Redacts a command line (without the program), including arguments that are secret by position. */
export function redactArgv(argv: readonly string[]): string[] {
  const secrets = secretsIn(argv);
  return argv.map(arg => (secrets.includes(arg) ? blank(arg) : redact(arg)));
}

/** Returns the arguments that are secret by position: license keys, registration tokens, override codes. */
export function secretsIn(argv: readonly string[]): string[] {
  const words = argv.filter(arg => !arg.startsWith('-'));
  const [first = '', second = '', third] = words;
  if (first === 'set-license' || first === 'teams-enroll-token') return words.slice(1);
  if (first === 'override' && second && !OVERRIDE_COMMANDS.has(second)) return words.slice(1);
  return third !== undefined && SECRET_AFTER.has(`${first} ${second}`) ? words.slice(2) : [];
}

/** Hides a license key except its last four characters. Idempotent. */
export function maskLicense(license: string): string {
  return `****${license.length >= 8 ? license.slice(-4) : ''}`;
}

const SECRET_AFTER = new Set(['registration license', 'registration token', 'connector new', 'override unlock']);
const OVERRIDE_COMMANDS = new Set(['show', 'unlock', 'generate', 'local-network', 'help']);

function blank(secret: string): string {
  return /^[0-9A-Za-z]{8}(-[0-9A-Za-z]{8}){2}$/.test(secret) ? maskLicense(secret) : BLANK;
}
