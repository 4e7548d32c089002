// Reads the journal of the tunnel client's service, and finds the lines that data/knowledge/journal.toml explains.
import stripAnsi from 'strip-ansi';
import type { Message } from '../../api/values.ts';
import { isRecord, parseJson } from '../../core/shape.ts';
import { inEnglish, message, wordMessage } from '../../view/message.ts';
import { english } from '../../view/translator.ts';
import type { JournalCause } from '../../warp/registration.ts';
import { NoVerdict } from '../errors.ts';
import type { JournalPattern } from '../knowledge.ts';
import type { Tools } from './tools.ts';

/** Units of the vendor's package and of the NixOS module. */
const UNITS = ['warp-svc', 'cloudflare-warp'];
/** Time to read a journal that is not in the page cache. */
const LIMIT_MS = 8_000;
const LINES = 400;
const LINE_CHARACTERS = 500;
/** A longer line is cut before secrets are replaced, so that one alone does not take the place of all others. */
const RAW_CHARACTERS = 16 * 1024;
/** The most output that is kept: a message can be a backtrace of many kilobytes. */
const MEBIBYTES = 4;
const CHARACTERS = 256 * 1024;
const NOT_ALLOWED = /not seeing messages from|insufficient permissions|no journal files/i;

/** A line of the journal. */
export interface Line {
  /** Milliseconds since 1970; null if the journal did not say. */
  at: number | null;
  text: string;
}

/**
 * Returns the service's lines since the computer started, oldest first: at most 400 lines of 500 characters. Asks for JSON,
 * in which times do not depend on the user's language.
 * @param redact replaces what must not be shown, in a text of several lines
 * @throws NoVerdict if journalctl is missing or hangs, or if this user may not read the journal
 */
export async function readServiceJournal(tools: Pick<Tools, 'run'>, redact: Redact): Promise<Line[]> {
  return redactLines(await readRawJournal(tools), redact);
}

/**
 * Returns the same lines with secrets and names in them, for a search: a machine may have the name of a word that is searched
 * for. Show none of them without {@link redactLine}.
 * @throws NoVerdict as {@link readServiceJournal} does
 */
export async function readRawJournal(tools: Pick<Tools, 'run'>): Promise<Line[]> {
  const units = UNITS.flatMap(unit => ['-u', unit]);
  const format = ['-o', 'json', '--output-fields=MESSAGE', '--no-pager'];
  const words = [...units, '-b', '-n', String(LINES), ...format];
  const { stdout, stderr, exitCode } = await tools.run('journalctl', words, {
    limitMs: LIMIT_MS,
    mebibytes: MEBIBYTES,
  });
  const lines = parseJournal(stdout);
  if (lines.length === 0 && NOT_ALLOWED.test(stderr))
    throw new NoVerdict(message('This user may not read the journal of the service (group systemd-journal).'));
  if (exitCode !== 0 && lines.length === 0)
    throw new NoVerdict(message('The journal of the service could not be read.'));
  return lines;
}

/** Parses the output of journalctl: an object on each line, or the text of any other format. */
function parseJournal(stdout: string): Line[] {
  return stdout.split('\n').flatMap(line => {
    const entry = line.startsWith('{') ? objectOf(line) : null;
    if (!entry) return line.trim() && !/^-- .* --$/.test(line) ? [{ at: null, text: stripAnsi(line) }] : [];
    const at = Number(entry.__REALTIME_TIMESTAMP) / 1000;
    const text = stripAnsi(textOf(entry.MESSAGE));
    return text.split('\n').map(each => ({ at: Number.isFinite(at) && at > 0 ? at : null, text: each }));
  });
}

function objectOf(line: string): Record<string, unknown> | null {
  const value = parseJson(line);
  return isRecord(value) && '__REALTIME_TIMESTAMP' in value ? value : null;
}

/** The journal gives a message with control characters as the numbers of its bytes, and a long one as null. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every(byte => Number.isInteger(byte)) ? Buffer.from(value).toString() : '';
}

/** Redacts all lines as one text, because a key may have several lines; then shortens them. */
export async function redactLines(lines: readonly Line[], redact: Redact): Promise<Line[]> {
  const kept: Line[] = [];
  let characters = 0;
  for (const line of lines.toReversed()) {
    const text = line.text.slice(0, RAW_CHARACTERS).trimEnd();
    characters += text.length + 1;
    if (characters > CHARACTERS) break;
    kept.push({ ...line, text });
  }
  kept.reverse();
  const texts = (await redact(kept.map(({ text }) => text).join('\n'))).split('\n');
  // a redacted key takes one line: the lines after it keep their own times from the end
  const missing = kept.length - texts.length;
  const timed = missing === 0 ? texts.map((text, i) => ({ at: kept[i]!.at, text })) : untimed(texts, kept);
  return timed
    .filter(({ text }) => text.trim())
    .slice(-LINES)
    .map(({ at, text }) => ({ at, text: text.trim().slice(0, LINE_CHARACTERS) }));
}

type Redact = (text: string) => string | Promise<string>;

/** Returns a line that may be shown: without secrets, and at most 500 characters long. */
export async function redactLine({ at, text }: Line, redact: Redact): Promise<Line> {
  const shown = await redact(text.slice(0, RAW_CHARACTERS));
  return { at, text: shown.trim().slice(0, LINE_CHARACTERS) };
}

/** Gives each text the time of the line with the same text, and other texts the time before them. */
function untimed(texts: readonly string[], lines: readonly Line[]): Line[] {
  let next = 0;
  let at: number | null = lines[0]?.at ?? null;
  return texts.map(text => {
    const found = lines.findIndex((line, i) => i >= next && line.text === text);
    if (found >= 0) {
      next = found + 1;
      at = lines[found]!.at;
    }
    return { at, text };
  });
}

/** A line that an entry of the table explains. */
export interface Seen {
  pattern: JournalPattern;
  meaning: Message;
  line: Line;
}

/** State at the time of a search in the journal. */
export interface Moment {
  /** Milliseconds since 1970. */
  now: number;
  /** `Status.blocked`. */
  blocked?: string | null;
}

const RECENT_MS = 10 * 60_000;
/** The first line of a started service (public logs of 2023 to 2025: `INFO warp::warp_service: Starting WarpService pid=15`). */
const STARTED = /\bStarting WarpService\b/;

/** Characters of a chain that patterns are tried on, and of its first line. */
const CHAIN_CHARACTERS = 2_048;
const FIRST_CHARACTERS = 1_024;
/** Time of the processor for one search. Patterns of the user's own directory have no other bound than it. */
const SEARCH_MICROSECONDS = 1_000_000;

/** The start of another message (public logs of 2023 to 2026: `2025-07-31T00:00:00.000Z ERROR main_loop: …`). */
const ANOTHER = /^(?:.{0,200}\[\d+\]: )?\s*(?:\d{4}-\d\d-\d\dT\S+|TRACE|DEBUG|INFO|WARN|ERROR)\s/;

/** Returns a line and the causes after it, of the same message. */
function chainAt(lines: readonly Line[], at: number): string[] {
  const [first = '', ...after] = lines.slice(at, at + 3).map(({ text }) => text.slice(0, FIRST_CHARACTERS));
  const end = after.findIndex(text => ANOTHER.test(text));
  return [first, ...(end < 0 ? after : after.slice(0, end))];
}

interface PatternTest {
  pattern: JournalPattern;
  own: RegExp;
  whole: RegExp;
  unless: RegExp | undefined;
}

function testOf(pattern: JournalPattern): PatternTest {
  return {
    pattern,
    own: new RegExp(pattern.line ?? pattern.pattern, 'i'),
    whole: new RegExp(pattern.pattern, 'i'),
    unless: pattern.unless === undefined ? undefined : new RegExp(pattern.unless, 'i'),
  };
}

function explains({ own, whole, unless }: PatternTest, chain: readonly string[]): boolean {
  const text = chain.join('\n').slice(0, CHAIN_CHARACTERS);
  return own.test(chain[0]!) && whole.test(text) && unless?.test(text) !== true;
}

/**
 * Returns the newest line that an entry explains; null without one, or where the search takes too long.
 * @param lines as they are: show the found line only after {@link redactLine}
 */
export function seenIn(
  lines: readonly Line[],
  patterns: readonly JournalPattern[],
  { now, blocked = null }: Moment,
): Seen | null {
  const tests = patterns.filter(({ when }) => when === undefined || when === blocked).map(testOf);
  const started = lines.findLastIndex(({ text }) => STARTED.test(text));
  const isCurrent = ({ span }: JournalPattern, at: number) => {
    const time = lines[at]!.at;
    if (span === 'recent') return time === null || now - time <= RECENT_MS;
    return span === 'boot' || at > started;
  };
  const start = process.cpuUsage();
  const isLate = () => process.cpuUsage(start).user > SEARCH_MICROSECONDS;
  for (let at = lines.length - 1; at >= 0 && !isLate(); at--) {
    const chain = chainAt(lines, at);
    const found = tests.find(test => explains(test, chain) && isCurrent(test.pattern, at));
    if (found) return { pattern: found.pattern, meaning: meaningOf(found.pattern), line: lines[at]! };
  }
  return null;
}

/** Returns the newest line that explains why a device is not registered, as it is; null without one. */
export function registrationIn(
  lines: readonly Line[],
  patterns: readonly JournalPattern[],
  moment: Moment,
): JournalCause | null {
  const seen = seenIn(
    lines,
    patterns.filter(({ cause }) => cause !== undefined),
    moment,
  );
  if (!seen) return null;
  const { text, at } = seen.line;
  return { code: seen.pattern.cause!, line: text, at, host: HOST.exec(text)?.[1] ?? null };
}

/** A host of Cloudflare's API; any other name in a line may be that of a machine. */
const HOST = /\bhttps?:\/\/((?:[\w-]+\.)*cloudflare(?:client)?\.com)\.?(?![\w.-])/i;

/** Returns the entry that explains a line that a user typed or pasted; null without one. */
export function patternOf(line: string, patterns: readonly JournalPattern[]): JournalPattern | null {
  const chain = [line.slice(0, CHAIN_CHARACTERS)];
  return patterns.find(pattern => explains(testOf(pattern), chain)) ?? null;
}

/** The meanings of the shipped entries, for the catalogs. An entry with other words, of a user or an update, is in English. */
const MEANINGS: readonly Message[] = [
  message(
    'WARP could not set its firewall rules, because the service did not find the program nft. Install nftables, and restart the service.',
  ),
  message(
    'WARP could not set its firewall rules, because nft refused them. The kernel may lack a feature of nftables, or the service the right to use it.',
  ),
  message('WARP could not set its firewall rules. Another program may hold the packet filter.'),
  message('WARP did not read its policy file, because it is a symbolic link. Put a regular file in its place.'),
  message('WARP’s service may not read its policy file, and goes on without it. Make root its owner.'),
  message('WARP could not read its policy file, and goes on without it.'),
  message('This version of WARP does not understand Cloudflare’s servers anymore. Update WARP.'),
  message(
    'Another server answered in the place of Cloudflare’s server for registration. A DNS filter, a firewall or the provider redirects its name.',
  ),
  message(
    'WARP could not reach Cloudflare’s server for registration on TCP port 443. A firewall, a DNS filter or the provider may block it.',
  ),
  message(
    'The system ended the WARP service because memory ran out. Close some programs, or give this computer more memory; the service uses more over time.',
  ),
  message('The WARP service crashed. Restart it; if it crashes again, update WARP or install it again.'),
  message(
    'The WARP service lost contact with a program that asked it for something. Restart the service if it does not answer.',
  ),
  message(
    'The WARP service ended its connection, and has not answered since. Restart it, and revert the last change of a setting.',
  ),
];

/** Returns the meaning of an entry, to translate. */
export function meaningOf({ meaning }: Pick<JournalPattern, 'meaning'>): Message {
  return MEANINGS.find(each => wordMessage(each, english) === meaning) ?? inEnglish(meaning);
}

/** Returns the last warnings and errors, at most three. */
export function complaintsIn(lines: readonly Line[]): string[] {
  return lines
    .map(({ text }) => text)
    .filter(text => /\b(?:WARN|ERROR)\b/.test(text))
    .slice(-3);
}
