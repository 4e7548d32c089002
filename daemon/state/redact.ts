// Blanks out secrets in commands of the tunnel CLI and in their output.
const BLANK = '[redacted]';
const AFTER = `$1${BLANK}`;

/** Ends of names that stand for a secret. */
const NAME =
  '(?:token|secret|password|passwd|passphrase|(?<![a-z])(?:pass|pwd|psk)|(?:api|access|secret|private|preshared)[_-]?key)';
/** A word, or text in quotes. */
const VALUE = `(?:"(?:[^"\\\\\\n]|\\\\.)*"|'[^'\\n]*'|[^\\s&"'<>]*[^\\s&"'<>,;])`;

/** Forms of secrets: an example, its pattern, and the replacement. Later ones see what earlier ones have left. */
export const SECRETS: readonly [example: string, pattern: RegExp, shown: string | typeof maskAfter][] = [
  [
    'CaNaRy77-CaNaRy77-aaaa1234',
    /(?<![\w-])[0-9A-Za-z]{8}-[0-9A-Za-z]{8}-[0-9A-Za-z]{8}(?![\w-])/g,
    license => maskLicense(license),
  ],
  [
    '-----BEGIN PRIVATE KEY-----\nCaNaRy77\n-----END PRIVATE KEY-----',
    /(-----BEGIN [A-Z\d ]{0,30}PRIVATE KEY-----)[\s\S]*?(-----END|$(?![\s\S]))/g,
    `$1${BLANK}$2`,
  ],
  ['License key: CaNaRy77', /(\blicen[sc]e(?: key)?"?\s*[:=]\s*"?)([^\s",}]+)/gi, maskAfter],
  ['eyJhbGciOiJI.CaNaRy77.CaNaRy77', /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*)+/g, BLANK],
  [
    'https://example.org/?sig=CaNaRy77&x=1',
    /([?&](?:code|(?:[\w-]{0,40}[_-])?(?:token|secret|key|sig(?:nature)?))=)[^\s&"'<>]+/gi,
    AFTER,
  ],
  ['password=CaNaRy77', new RegExp(`(${NAME}=)${VALUE}`, 'gi'), AFTER],
  // a line of a settings file
  [
    'aws_secret_access_key = CaNaRy77',
    new RegExp(`^([ \\t]*[\\w.-]*${NAME}[ \\t]*[=:][ \\t]*)${VALUE}(?=[ \\t]*[,;]?$)`, 'gim'),
    AFTER,
  ],
  // anchored by what is rare, so that the time grows with the length alone
  ['http://ann:a"CaNaRy77@proxy.example:3128', /(:\\?\/\\?\/[^\s/"'<>:@]+:)[^\s/@<>,{}]+(?=@)/g, AFTER],
  ['http://ann:CaNaRy77@proxy.example:3128', /(:\\?\/\\?\/(?!git@))[^\s/"'<>]+(?=@)/g, AFTER],
  ['http%3A%2F%2Fann%3ACaNaRy77%40proxy.example', /(%3a%2f%2f)(?:(?!%2f)[^\s/"'<>]){1,300}?(?=@|%40)/gi, AFTER],
  [
    '--token CaNaRy77',
    /((?<![\w-])--[\w-]{0,40}?(?:token|license|secret|password|passphrase|api-key)[ =])[^\s"'<>]+/gi,
    AFTER,
  ],
  ['--proxy-user ann:CaNaRy77', /(--(?:proxy-)?user[ =]["']?[^\s:"']{1,100}:)[^\s"'<>]+/gi, AFTER],
  ['PrivateKey = CaNaRy77', /(\b(?:private|preshared)key\s*=\s*)[^\s"'<>]+/gi, AFTER],
  ['Authorization: token CaNaRy77', /(\bauthorization:[ \t]*)(?!\[redacted\])[^\s"']+(?:[ \t]+[^\s"']+)?/gi, AFTER],
  ['Bearer CaNaRy77', /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${BLANK}`],
  [
    '{"auth_token": "CaNaRy77"}',
    /("(?:[\w-]*(?:token|secret|password|authorization|(?:api|access|private)_?key)|(?:\w*_)?(?:pass|pwd|psk|auth|(?:set-)?cookie))"\s*:\s*")(?:[^"\\]|\\.)*/gi,
    AFTER,
  ],
  ['Registration token CaNaRy77', /(\bregistration token\s+)(?=[^\s"'<>]*\d)[^\s"'<>]{8,}/gi, AFTER],
  ['Set-Cookie: CF_Authorization=CaNaRy77', /(\b(?:set-)?cookie:[ \t]*)\S.*$/gim, AFTER],
  [
    '<key>auth_token</key><string>CaNaRy77</string>',
    /(<key>[^<]*(?:token|secret|password|passphrase|cookie|private[ _-]?key)<\/key>\s*<(?:string|data)>)[^<]+/gi,
    AFTER,
  ],
  [
    'API token: CaNaRy77',
    /^([ \t]*(?:\w+ |[\w-]+-)?(?:token|secret|password|pwd|psk|private key|api-key):[ \t]*)\S.*$/gim,
    AFTER,
  ],
];

/**
 * Blanks out what must not be stored or shown: license keys (the last four characters stay), tokens, codes,
 * users in addresses.
 * Idempotent. `secrets` are exact values known from the command line; those below four characters are left alone,
 * because blanking every `1` of an output would destroy it without hiding anything.
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

/** The same for a command line (without the program), where the position shows what is secret. */
export function redactArgv(argv: readonly string[]): string[] {
  const secrets = secretsIn(argv);
  return argv.map(arg => (secrets.includes(arg) ? blank(arg) : redact(arg)));
}

/** Arguments that are secret by their position: license keys, registration tokens, override codes. */
export function secretsIn(argv: readonly string[]): string[] {
  const words = argv.filter(arg => !arg.startsWith('-'));
  const [first = '', second = '', third] = words;
  if (first === 'set-license' || first === 'teams-enroll-token') return words.slice(1);
  if (first === 'override' && second && !OVERRIDE_COMMANDS.has(second)) return words.slice(1);
  return third !== undefined && SECRET_AFTER.has(`${first} ${second}`) ? words.slice(2) : [];
}

/** Hides all of a license key but its last four characters. Idempotent. */
export function maskLicense(license: string): string {
  return `****${license.length >= 8 ? license.slice(-4) : ''}`;
}

const SECRET_AFTER = new Set(['registration license', 'registration token', 'connector new', 'override unlock']);
const OVERRIDE_COMMANDS = new Set(['show', 'unlock', 'generate', 'local-network', 'help']);

function blank(secret: string): string {
  return /^[0-9A-Za-z]{8}(-[0-9A-Za-z]{8}){2}$/.test(secret) ? maskLicense(secret) : BLANK;
}
