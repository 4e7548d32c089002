// Keeps the latest commands of the tunnel CLI and their output in a ring, without secrets.
import type { LogEntry } from '../api/schema.ts';

/** Limit of one stream of one entry, in characters; the snapshot has all output of the newest read of each kind. */
const TEXT_LIMIT = 16 * 1024;
const BLANK = '[redacted]';

export interface CommandLog {
  /** Stores an entry under the next id, drops the oldest one beyond the capacity, and calls `onEntry`. */
  append(entry: Omit<LogEntry, 'id'>): LogEntry;
  /** Entries with a greater id than `id`, oldest first, at most `limit`. */
  since(id: number, limit: number): LogEntry[];
  /** Id of the newest entry; 0 before the first. */
  readonly lastId: number;
  /** Id of the oldest entry that is kept; null before the first. */
  readonly oldestId: number | null;
  readonly capacity: number;
}

/** An empty log. `capacity` counts entries; each keeps at most 16 KiB per stream. */
export function createLog(options: { capacity: number; onEntry?: (entry: LogEntry) => void }): CommandLog {
  const { capacity, onEntry } = options;
  const entries: LogEntry[] = [];
  let lastId = 0;
  return {
    capacity,
    get lastId() {
      return lastId;
    },
    get oldestId() {
      return entries[0]?.id ?? null;
    },
    append(entry) {
      lastId += 1;
      const stored = { id: lastId, ...entry, stdout: shorten(entry.stdout), stderr: shorten(entry.stderr) };
      entries.push(stored);
      if (entries.length > capacity) entries.shift();
      onEntry?.(stored);
      return stored;
    },
    since(id, limit) {
      const first = entries.findIndex(entry => entry.id > id);
      return first < 0 ? [] : entries.slice(first, first + Math.max(0, limit));
    },
  };
}

/**
 * Blanks out what must not be stored or shown: license keys (the last four characters stay), tokens, codes.
 * Idempotent. `secrets` are exact values known from the command line; those below four characters are left alone,
 * because blanking every `1` of an output would destroy it without hiding anything.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  let out = text;
  for (const secret of secrets) if (secret.length >= 4) out = out.replaceAll(secret, blank(secret));
  return out
    .replace(/(?<![\w-])[0-9A-Za-z]{8}-[0-9A-Za-z]{8}-[0-9A-Za-z]{8}(?![\w-])/g, maskLicense)
    .replace(/(\blicen[sc]e(?: key)?"?\s*[:=]\s*"?)([^\s",}]+)/gi, (_, key, value) => key + maskLicense(value))
    .replace(/(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*)+/g, BLANK)
    .replace(/([?&](?:token|code|access_token|secret|key)=)[^\s&"'<>]+/gi, `$1${BLANK}`)
    .replace(/((?:token|secret|password|passwd|api[_-]?key|(?<![a-z])(?:pass|pwd|psk))=)[^\s&"'<>]+/gi, `$1${BLANK}`)
    .replace(/(--(?:token|license|secret|password|api-key)[ =])[^\s"'<>]+/gi, `$1${BLANK}`)
    .replace(/(\b(?:private|preshared)key\s*=\s*)[^\s"'<>]+/gi, `$1${BLANK}`)
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${BLANK}`)
    .replace(
      /("(?:\w*_)?(?:token|secret|password|pass|pwd|psk|auth|api_?key|private_key|(?:set-)?cookie)"\s*:\s*")(?:[^"\\]|\\.)*/gi,
      `$1${BLANK}`,
    )
    .replace(/(\bregistration token\s+)(?=[^\s"'<>]*\d)[^\s"'<>]{8,}/gi, `$1${BLANK}`)
    .replace(/(\b(?:set-)?cookie:[ \t]*)\S.*$/gim, `$1${BLANK}`)
    .replace(
      /(<key>[^<]*(?:token|secret|password|passphrase|cookie|private[ _-]?key)<\/key>\s*<(?:string|data)>)[^<]+/gi,
      `$1${BLANK}`,
    )
    .replace(
      /^([ \t]*(?:\w+ |[\w-]+-)?(?:token|secret|password|pwd|psk|private key|api-key):[ \t]*)\S.*$/gim,
      `$1${BLANK}`,
    );
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

function shorten(text: string): string {
  return text.length <= TEXT_LIMIT ? text : `${text.slice(0, TEXT_LIMIT)}\n[cut in the log]`;
}
