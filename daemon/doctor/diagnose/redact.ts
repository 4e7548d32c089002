// Replaces what identifies a person, a machine or a network by placeholders that stay the same within one bundle.
import { isIP } from 'node:net';
import { covers } from '../world/facts.ts';

export interface Redactor {
  /** The text without anything that identifies. */
  text(text: string): string;
  /** Every string in a JSON value, also in names of properties. */
  value<T>(value: T): T;
  /** How many different things of each kind were replaced. */
  counts(): Record<string, number>;
}

export interface Known {
  /** Exact strings with the kind that their placeholder names: a host name, an account, an SSID. */
  names: readonly { kind: Kind; text: string }[];
  /** Addresses and ranges that are public knowledge, such as those of the documentation. */
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

/** A shorter string would replace parts of ordinary words. */
const SHORTEST = 3;
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
/** Domains of the vendor, of this program and of interfaces on the bus; everything else may be a person's. */
const PUBLIC_DOMAINS =
  /(?:^|\.)(?:cloudflare\.com|cloudflareclient\.com|cloudflare-dns\.com|cloudflareportal\.com|cloudflareok\.com|cloudflarecp\.com|gstatic\.com|github\.com|freedesktop\.org|debian\.org|ubuntu\.com)$|^org\.(?:freedesktop|kde|culvert)\.|^(?:net|kernel)\.ipv[46]/i;
/** Endings of files and units, which look like domains. */
const FILE =
  /\.(?:conf|service|socket|scope|slice|target|json|toml|yaml|yml|list|sources|gpg|log|txt|xml|plist|so|sock|db|desktop|ts|cjs|mjs|d|lock|bak|old)$/i;

const PATTERNS: readonly [Kind, RegExp][] = [
  ['key', /\beyJ[\w-]{8,}(?:\.[\w-]*)+/g],
  ['key', /-----BEGIN [A-Z ]{1,40}-----(?:(?!-----BEGIN )[\s\S])*?(?:-----END [A-Z ]{1,40}-----|$)/g],
  // name and password in an address; the home of another user than the one who asks
  ['key', /(?<=:\/\/)[^/\s@"'<>]+(?=@)/g],
  ['user', /(?<=\/home\/)[^/\s"':<>]+/g],
  ['email', /[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g],
  ['id', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi],
  ['key', /\b[0-9A-Za-z]{8}-[0-9A-Za-z]{8}-[0-9A-Za-z]{8}\b/g],
  ['mac', /\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b/gi],
  // IPv6 before hexadecimal words; what is not an address stays
  ['ip', /(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])/gi],
  ['ip', /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)/g],
  ['id', /\b[0-9a-f]{24,128}\b/gi],
  ['key', /(?<![\w+/])[A-Za-z0-9+/]{40,}={0,2}(?![\w+/=])/g],
  ['host', /(?<![\w.@-])(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{1,23}\b(?!\()/gi],
];

export function createRedactor(known: Known): Redactor {
  // the documented list of the split tunnel has private ranges, of which the addresses are a person's all the same
  const ranges = known.public.filter(range => !covers(LAN, range) && !LAN.some(lan => covers([range], lan)));
  const bases = new Set(known.public.map(range => range.split('/')[0]));
  const placeholders = new Map<string, string>();
  const numbers = new Map<Kind, number>();
  const names = [...known.names]
    .filter(({ text }) => text.length >= SHORTEST)
    // a longer name may contain a shorter one
    .sort((a, b) => b.text.length - a.text.length)
    .map(({ kind, text }) => ({
      kind,
      text,
      pattern: new RegExp(`(?<![\\p{L}\\p{N}])${literal(text)}(?![\\p{L}\\p{N}])`, 'giu'),
    }));

  function placeholder(kind: Kind, text: string): string {
    const key = `${kind} ${text.toLowerCase()}`;
    const found = placeholders.get(key);
    if (found) return found;
    const number = (numbers.get(kind) ?? 0) + 1;
    numbers.set(kind, number);
    placeholders.set(key, `<${kind}-${number}>`);
    return `<${kind}-${number}>`;
  }

  function replace(kind: Kind, text: string): string {
    if (kind === 'ip') return replaceAddress(text);
    if (kind === 'host' && (PUBLIC_DOMAINS.test(text) || FILE.test(text) || /^\d+(?:\.\d+)+\w*$/.test(text)))
      return text;
    return placeholder(kind, text);
  }

  function replaceAddress(text: string): string {
    if (!isIP(text) || bases.has(text) || covers(NOBODY, text) || covers(ranges, text)) return text;
    return placeholder(covers(LAN, text) ? 'lan-ip' : 'ip', text);
  }

  function text(input: string): string {
    let out = input;
    for (const { kind, text: name, pattern } of names) out = out.replace(pattern, () => placeholder(kind, name));
    // what was replaced is not looked at again
    for (const [kind, pattern] of PATTERNS)
      out = out
        .split(/(<[a-z-]+-\d+>)/)
        .map((part, at) => (at % 2 ? part : part.replace(pattern, match => replace(kind, match))))
        .join('');
    return out;
  }

  function value<T>(input: T): T {
    if (typeof input === 'string') return text(input) as T;
    if (Array.isArray(input)) return input.map(value) as T;
    if (typeof input === 'object' && input !== null)
      return Object.fromEntries(Object.entries(input).map(([key, inner]) => [text(key), value(inner)])) as T;
    return input;
  }

  return { text, value, counts: () => Object.fromEntries(numbers) };
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
