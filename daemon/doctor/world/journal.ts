// Reads the journal of the tunnel client's service, and finds lines that explain why the tunnel does not connect.
import type { Message } from '../../api/values.ts';
import { redact } from '../../state/redact.ts';
import { message } from '../../view/message.ts';
import { API_UNREACHABLE } from '../../warp/cli/failures.ts';
import { Unknown } from '../errors.ts';
import type { Tools } from './tools.ts';

/** Units of the vendor's package and of the NixOS module. */
const UNITS = ['warp-svc', 'cloudflare-warp'];
/** Time to read a journal that is not in the page cache. */
const LIMIT_MS = 8_000;
const LINES = 400;
const LINE_CHARACTERS = 500;
const NOT_ALLOWED = /not seeing messages from|insufficient permissions|no journal files/i;

/**
 * Returns the service's lines of the last ten minutes, oldest first, without secrets, and without dates, which systemd prints in
 * the user's language. Returns at most 400 lines of 500 characters.
 * @throws Unknown if journalctl is missing or hangs, or if this user may not read the journal
 */
export async function readServiceJournal(tools: Pick<Tools, 'run'>): Promise<string[]> {
  const units = UNITS.flatMap(unit => ['-u', unit]);
  const words = [...units, '--since', '-10min', '-n', String(LINES), '-o', 'cat', '--no-pager'];
  const { stdout, stderr, exitCode } = await tools.run('journalctl', words, { limitMs: LIMIT_MS });
  // redact the whole text, because a key may have several lines
  const lines = redact(stdout)
    .split('\n')
    .filter(line => line.trim() && !/^-- .* --$/.test(line));
  if (lines.length === 0 && NOT_ALLOWED.test(stderr))
    throw new Unknown(message('This user may not read the journal of the service (group systemd-journal).'));
  if (exitCode !== 0 && lines.length === 0) throw new Unknown(message('The journal of the service could not be read.'));
  return lines.slice(-LINES).map(line => line.trim().slice(0, LINE_CHARACTERS));
}

interface Pattern {
  /** Pattern for a line and the next two lines: an error is printed as a chain of causes. */
  seen: RegExp;
  meaning: Message;
}

/** Known lines, from public reports of 2025 and 2026. More exact patterns come first, because the first match counts. */
const PATTERNS: readonly Pattern[] = [
  {
    seen: /(?:update|apply) firewall rules.*No such file or directory/is,
    meaning: message(
      'WARP could not set its firewall rules, because the service did not find the program nft. Install nftables, and restart the service.',
    ),
  },
  {
    seen: /(?:update|apply) firewall rules/i,
    meaning: message('WARP could not set its firewall rules. Another program may hold the packet filter.'),
  },
  {
    seen: /Unable to read local policy file.*symbolic link/is,
    meaning: message(
      'WARP did not read its policy file, because it is a symbolic link. Put a regular file in its place.',
    ),
  },
  {
    seen: /Unable to read local policy file/i,
    meaning: message('WARP could not read its policy file, and goes on without it.'),
  },
  {
    seen: /no variant of enum \w+ found in flattened data/i,
    meaning: message('This version of WARP does not understand Cloudflare’s servers anymore. Update WARP.'),
  },
  {
    seen: /API error for .*(?:TimedOut|dns error|ConnectError|Connect\b)/i,
    meaning: API_UNREACHABLE,
  },
];

/** Returns the newest line that matches a pattern, with its meaning; null without one. */
export function causeInJournal(lines: readonly string[]): { meaning: Message; line: string } | null {
  for (let at = lines.length - 1; at >= 0; at--) {
    const chain = lines.slice(at, at + 3).join('\n');
    const pattern = PATTERNS.find(({ seen }) => seen.test(lines[at]!)) && PATTERNS.find(({ seen }) => seen.test(chain));
    if (pattern) return { meaning: pattern.meaning, line: lines[at]! };
  }
  return null;
}

/** Returns the last warnings and errors, at most three. */
export function complaintsIn(lines: readonly string[]): string[] {
  return lines.filter(line => /\b(?:WARN|ERROR)\b/.test(line)).slice(-3);
}
