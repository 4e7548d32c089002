// Replaces text that identifies a person, a machine or a network with placeholders that stay the same throughout a bundle.
import { isIP } from 'node:net';
import { redact as blankSecrets } from '../../state/redact.ts';
import { covers } from '../world/facts.ts';

interface Redactor {
  /** Replaces every identifying part of a text. */
  text(text: string): string;
  /** Redacts every string and property name in a JSON value. */
  value<T>(value: T): T;
  /** Number of distinct values replaced, by kind. */
  counts(): Record<string, number>;
}

export interface Known {
  /** Exact strings, and the kinds for their placeholders: a host name, an account, an SSID. */
  names: readonly { kind: Kind; text: string }[];
  /** Addresses and ranges that are public knowledge, such as those in the documentation. */
  public: readonly string[];
}

export type Kind =
  | 'name'
  | 'user'
  | 'host'
  | 'ssid'
  | 'organization'
  | 'ip'
  | 'lan-ip'
  | 'mac'
  | 'email'
  | 'id'
  | 'key'
  | 'value';

/** Names of properties that always hold a secret. */
const SECRET = /(?:token|secret|password|passphrase|cookie|authorization|(?:private|api)[_-]?key)$/i;
const MAC_NAME = /(?:mac|ether|bssid|(?:mac|hw|ll)[ _-]?addr(?:ess)?)$/i;
/** Percent-encoded words, words in base64 or hexadecimal, and the deepest nesting that is decoded. */
const PERCENT = /(?:[\w.~!*()+-]|%[0-9a-f]{2})+/gi;
const BINARY = /[\w+/-]{8,}={0,2}/g;
const DEEPEST = 3;

/** Minimum length of a name that is replaced in any case, and in property names. */
const SHORT = 3;
/** Minimum length of a name that is also replaced before digits, or with a line break inside. */
const LONG = 5;
const LINE_BREAK = '(?:(?:\\r?\\n|\\\\n)[ \\t]*)?';
const PLACEHOLDER = /(<[a-z-]+-\d+>)/;
const LAN = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
  'fe80::/10',
];
const NOBODY = ['127.0.0.0/8', '0.0.0.0/32', '255.0.0.0/8', '224.0.0.0/4', '::/127', 'ff00::/8'];
/** Domains of the vendor, of this program and of interfaces on the bus; other domains may be personal. */
const PUBLIC_DOMAINS =
  /(?:^|\.)(?:cloudflare\.com|cloudflareclient\.com|cloudflare-dns\.com|cloudflareportal\.com|cloudflareok\.com|cloudflarecp\.com|gstatic\.com|github\.com|freedesktop\.org|debian\.org|ubuntu\.com)$|^org\.(?:freedesktop|kde|culvert)\.|^(?:net|kernel)\.ipv[46]/i;
/** Endings of file and unit names that look like domains. */
const FILE =
  /\.(?:conf|service|socket|scope|slice|json|toml|yaml|yml|sources|gpg|log|txt|xml|plist|sock|db|desktop|ts|cjs|mjs|d|lock|bak|old)$/i;
/** Names of files and units that end in a top-level domain. */
const KNOWN_FILE =
  /^(?:lib[\w+-]+|pam_\w+|ld(?:-linux[\w-]*)?|nss_\w+)\.so$|^(?:sources|cloudflare(?:-client|-warp)?)\.list$|^(?:basic|default|multi-user|graphical|graphical-session|network|network-online|network-pre|nss-lookup|shutdown|sysinit|suspend|sleep|time-sync)\.target$/i;

const PATTERNS: readonly [Kind, RegExp][] = [
  ['key', /\beyJ[\w-]{8,}(?:\.[\w-]*)+/g],
  ['key', /-----BEGIN [A-Z ]{1,40}-----(?:(?!-----BEGIN )[\s\S])*?(?:-----END [A-Z ]{1,40}-----|$)/g],
  // credentials in a URL, with the host if it has no domain; then hosts without a domain, also in Windows notation
  ['key', /(?<=:(?:\/|\\\/){2})[^/\s"<>?#]+(?:@(?!localhost\b)[\p{L}\p{N}_-]+(?!\.?[\p{L}\p{N}_-])|(?=@))/gu],
  ['host', /(?<=:(?:\/|\\\/){2})(?!localhost\b)[\p{L}\p{N}_][\p{L}\p{N}_-]*(?!\.?[\p{L}\p{N}_@-])/gu],
  ['host', /(?<=(?:^|[\s"'(=:,])\\{2})[\p{L}\p{N}_][\p{L}\p{N}_-]*(?=\\[\p{L}\p{N}_$])/gmu],
  ['host', /(?<=(?:^|[\s"'(=:,])\\{4})[\p{L}\p{N}_][\p{L}\p{N}_-]*(?=\\{2}[\p{L}\p{N}_$])/gmu],
  // the home directory of another user
  ['user', /(?<=\/(?:home|media|Users)\\?\/)[^/\s"':<>\\]+/g],
  ['user', /(?<=(?:^|[\s"'=:])~)[a-z_][\w.-]*(?=\/)/gim],
  // email addresses, also with a quoted name, an IP address or a host without a domain, but not a device's peer (veth0@if5)
  [
    'email',
    /(?:"[^"@\n]{1,64}"|[\p{L}\p{N}.+_%&'-]{1,64})@(?!if\d)(?:\[[\da-f.:]{2,45}\]|\p{L}[\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*|[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+)/giu,
  ],
  ['id', /(?<![0-9a-z])[0-9a-f]{8}([-_])[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}(?![0-9a-z])/gi],
  ['key', /\b[0-9A-Za-z]{8}-[0-9A-Za-z]{8}-[0-9A-Za-z]{8}\b/g],
  // hardware addresses, also as nmcli, BlueZ and Cisco write them, with blanks, without leading zeros, and in interface names
  ['mac', /(?<![0-9a-z])[0-9a-f]{2}(?:(?:\\?:|[-_])[0-9a-f]{2}){5}(?![0-9a-z])/gi],
  ['mac', /(?<![0-9a-z]|[0-9a-z] )(?=[\d ]{0,17}[a-f])[0-9a-f]{2}(?: [0-9a-f]{2}){5}(?! ?[0-9a-z])/gi],
  ['mac', /(?<![\w:])(?=[\d:]{0,17}[a-f])[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){5}(?![\w:])/gi],
  ['mac', /\b[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}\b|(?<=\b(?:en|wl|ww)x)[0-9a-f]{12}\b/gi],
  // a hardware address without separators, after a word such as "mac"
  [
    'mac',
    /(?<=(?<![a-z])(?:mac|hw|ll)?(?:mac|ether|bssid|[ _-]?addr(?:ess)?)["']?[ \t]{0,4}[:=]?[ \t]{0,4}["']?)[0-9a-f]{12}(?![0-9a-z])/gi,
  ],
  // keys of services, by their usual prefixes
  ['key', /\b(?:sk-|pk-|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|AKIA)[\w-]{12,}/g],
  // IPv6 addresses, before the patterns for hexadecimal words
  ['ip', /(?<!\w)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}(?:\d{1,3}(?:\.\d{1,3}){3})?(?!\w|\.\d{1,3}\.\d)/gi],
  ['ip', /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![0-9a-z]|\.\d)/gi],
  // names of machines in clouds: ip-203-0-113-77
  ['ip', /(?<!\d|\d[-_.])\d{1,3}([-_])\d{1,3}\1\d{1,3}\1\d{1,3}(?![\d.]|[-_]\d)/g],
  ['id', /\b[0-9a-f]{24,128}\b/gi],
  ['id', /\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{16,23}\b/gi],
  ['key', /(?<![\w+/])[A-Za-z0-9+/]{40,}={0,2}(?![\w+/=])/g],
  // a key with a line break, and the end of a key without its beginning
  ['key', /(?<![\w+/])[A-Za-z0-9+/]{16,}\r?\n[A-Za-z0-9+/]{4,}={1,2}(?![\w+/=])/g],
  ['key', /(?<![A-Za-z0-9+/=\s])[A-Za-z0-9+/=\s]{16,}-----END [A-Z ]{1,40}-----/g],
  // unmarked keys: words of 24 or more letters, with two digits and both cases
  ['key', /(?<![\w-])(?=[\w-]*\d[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])\w[\w-]{23,}={0,2}(?![\w-])/g],
  // base64url; long names have no digit or no capital letter
  ['key', /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{40,}={0,2}(?![\w-])/g],
  [
    'host',
    /(?<![\p{L}\p{N}_])(?<![\p{L}\p{N}_][.-])(?:\*\.)?(?:[\p{L}\p{N}_](?:[\p{L}\p{N}_-]{0,61}[\p{L}\p{N}_])?\.)+\p{L}[\p{L}\p{N}-]{1,23}(?![\p{L}\p{N}_(])/gu,
  ],
];

export function createRedactor(vocabulary: Known): Redactor {
  // the documented split tunnel list includes private ranges, but addresses in them still identify a person
  const ranges = vocabulary.public.filter(range => !covers(LAN, range) && !LAN.some(lan => covers([range], lan)));
  const bases = new Set(vocabulary.public.map(range => range.split('/')[0]));
  const placeholders = new Map<string, string>();
  const numbers = new Map<Kind, number>();
  const names = [...vocabulary.names]
    // longer names first: they may contain shorter names
    .sort((a, b) => b.text.length - a.text.length)
    .map(({ kind, text }) => ({ kind, text, pattern: patternOf(text) }));

  function placeholder(kind: Kind, text: string): string {
    const key = `${kind} ${text.toLowerCase()}`;
    const earlier = placeholders.get(key);
    if (earlier) return earlier;
    const number = (numbers.get(kind) ?? 0) + 1;
    numbers.set(kind, number);
    placeholders.set(key, `<${kind}-${number}>`);
    return `<${kind}-${number}>`;
  }

  function replace(kind: Kind, text: string): string {
    if (kind === 'ip') return replaceAddress(text);
    if (
      kind === 'host' &&
      (PUBLIC_DOMAINS.test(text) || FILE.test(text) || KNOWN_FILE.test(text) || /^\d+(?:\.\d+)+\w*$/.test(text))
    )
      return text;
    return placeholder(kind, text);
  }

  /** Replaces an address, even between colons or before a port. */
  function replaceAddress(text: string): string {
    if (!isIP(text) && text.includes(':')) {
      const [, before = '', inner = '', after = ''] = /^(:?)(.*?)(:|:\d+)?$/.exec(text)!;
      return inner.length < text.length && isIP(inner) ? `${before}${replaceAddress(inner)}${after}` : text;
    }
    const plain = text.replace(/[-_]/g, '.').replace(/(?<![\da-f])0+(?=\d)/gi, '');
    if (!isIP(text) && isIP(plain) === 4) {
      const clean = replaceAddress(plain);
      return clean === plain ? text : clean;
    }
    if (!isIP(text) || bases.has(text) || covers(NOBODY, text) || covers(ranges, text)) return text;
    return placeholder(covers(LAN, text) ? 'lan-ip' : 'ip', text);
  }

  /** Replaces matches outside the placeholders of earlier passes. */
  function replaceIn(input: string, pattern: RegExp, work: (match: string) => string): string {
    if (input.search(pattern) < 0) return input;
    const parts = input.split(PLACEHOLDER);
    return parts.map((part, at) => (at % 2 ? part : part.replace(pattern, work))).join('');
  }

  function text(input: string, isKey = false, depth = 0): string {
    if (depth > DEEPEST) return input;
    /** Returns a function that redacts a word if its decoded text contains something to redact. */
    const decoding = (decode: (word: string) => string | null, hide: (clean: string, word: string) => string) => {
      return (word: string) => {
        const plain = decode(word);
        const clean = plain && text(plain, false, depth + 1);
        return clean && clean !== plain ? hide(clean, word) : word;
      };
    };
    let out = blankSecrets(input);
    out = replaceIn(
      out,
      PERCENT,
      decoding(ofPercent, clean => clean),
    );
    for (const { kind, text: name, pattern } of names)
      if (!isKey || name.length >= SHORT) out = replaceIn(out, pattern, () => placeholder(kind, name));
    for (const [kind, pattern] of PATTERNS) out = replaceIn(out, pattern, match => replace(kind, match));
    const hide = (_: string, word: string) => placeholder('value', word);
    return replaceIn(out, BINARY, decoding(ofBinary, hide));
  }

  function value<T>(input: T): T {
    if (typeof input === 'string') return text(input) as T;
    if (Array.isArray(input)) return input.map(value) as T;
    if (typeof input === 'object' && input !== null)
      return Object.fromEntries(
        Object.entries(input).map(([key, inner]) => [text(key, true), ofProperty(key, inner)]),
      ) as T;
    return input;
  }

  function ofProperty(key: string, inner: unknown): unknown {
    if (typeof inner !== 'string') return value(inner);
    if (inner !== '' && SECRET.test(key)) return placeholder('key', inner);
    return MAC_NAME.test(key) && /^[0-9a-f]{12}$/i.test(inner) ? placeholder('mac', inner) : value(inner);
  }

  return { text: input => text(input), value, counts: () => Object.fromEntries(numbers) };
}

/** Returns a pattern for a name as a whole word, in each form that an output may use. */
function patternOf(name: string): RegExp {
  const isLong = name.length >= LONG;
  // terminals break lines at blanks; names of files and hosts replace or drop blanks
  const blank = isLong ? '(?:\\s+|[_.+-]?)' : '\\s+';
  const forms = [...formsOf(name)].sort((a, b) => b.length - a.length).map(form => literal(form).replace(/ +/g, blank));
  const words = name.split(/ +/).map(word => [...word].map(literal).join(LINE_BREAK));
  if (isLong) forms.push(words.join(blank));
  // an escaped line feed may come before the name: \nNAME
  const before = '(?<=^|[^\\p{L}\\p{N}]|\\\\[bfnrt])';
  return new RegExp(
    `${before}(?:${forms.join('|')})(?!${isLong ? '\\p{L}' : '[\\p{L}\\p{N}]'})`,
    name.length < SHORT ? 'gu' : 'giu',
  );
}

/**
 * Returns the forms of a name: unchanged, in JSON (also in ASCII, and nested in JSON), XML, HTML, addresses and mail, in both
 * Unicode normal forms, and with the escapes of nmcli, wpa_supplicant and the kernel.
 */
function formsOf(name: string): Set<string> {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const ascii = json(name).replace(/[\u0080-\uffff]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const xml = name.replace(/[&<>"']/g, c => XML[c]!);
  const bytes = (byte: (code: number) => string) =>
    [...Buffer.from(name)].map(code => (code > 126 ? `\\${byte(code)}` : String.fromCharCode(code))).join('');
  const octal = bytes(code => code.toString(8));
  const hexadecimal = bytes(code => `x${code.toString(16)}`);
  return new Set([
    name,
    name.normalize('NFC'),
    name.normalize('NFD'),
    name.replace(/[:\\]/g, '\\$&'),
    octal,
    octal.replaceAll(' ', '\\040'),
    hexadecimal,
    hexadecimal.replaceAll(' ', '\\x20'),
    name.replaceAll(' ', '+'),
    json(name),
    ascii,
    json(json(name)),
    json(ascii),
    xml,
    name.replace(/[^\w ]/gu, c => `&#${c.codePointAt(0)};`),
    name.replace(/[^\w ]/gu, c => `&#x${c.codePointAt(0)?.toString(16)};`),
    [...Buffer.from(name)].map(code => (code > 126 ? `=${code.toString(16)}` : String.fromCharCode(code))).join(''),
    encodeURIComponent(name.replace(/\p{Surrogate}/gu, '')),
  ]);
}

/** Decodes a percent-encoded word; null for a word without percent-encoding, or with an invalid one. */
function ofPercent(word: string): string | null {
  if (!word.includes('%')) return null;
  try {
    return decodeURIComponent(word.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Decodes text in base64 or hexadecimal; null for anything else. */
function ofBinary(word: string): string | null {
  const isHex = word.length % 2 === 0 && /^[0-9a-f]+$/i.test(word);
  const plain = Buffer.from(word, isHex ? 'hex' : 'base64').toString();
  return /^[^\ufffd\p{Cc}]+$/u.test(plain) ? plain : null;
}

const XML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
