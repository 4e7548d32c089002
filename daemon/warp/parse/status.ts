// Reads the connection status that any version of the tunnel CLI prints; what it can't read is "unknown".
import type { Status } from '../../api/schema.ts';
import { excerpt, failureOf, isObject, type Json, jsonOf, linesOf, type Printed } from './output.ts';
import { type Reason, reasonOfJson, reasonOfText } from './reasons.ts';

/** A status without the time and the raw text, which its reader adds. */
export type StatusReading = Pick<Status, 'state' | 'reason' | 'network' | 'blocked'>;

/** Nothing certain is known. */
export const UNKNOWN: StatusReading = { state: 'unknown', reason: null, network: null, blocked: null };

/** The answer of `warp-cli status` in JSON or text. Never throws; never guesses "connected" or "disconnected". */
export function parseStatus(printed: Printed): StatusReading {
  const answer = parseStatusText(printed.stdout);
  if (answer) return answer;
  const failure = failureOf(printed);
  switch (failure?.kind) {
    case 'not-registered':
      return {
        state: 'unable',
        reason: { code: failure.code ?? 'RegistrationMissing', text: failure.message },
        network: null,
        blocked: 'not-registered',
      };
    case 'cli-missing':
    case 'cli-too-old':
    case 'service-stopped':
    case 'service-hangs':
    case 'terms-not-accepted':
    case 'not-authorized':
      return { ...UNKNOWN, blocked: failure.kind };
    default:
      return UNKNOWN;
  }
}

/** Half of more than any status has; one with a long reason has tens of KiB. */
const STATUS_CHARACTERS = 65_536;

/** A status in this text (an answer, or one message of a listening CLI), or null. */
export function parseStatusText(printed: string): StatusReading | null {
  const text = excerpt(printed, STATUS_CHARACTERS);
  const value = jsonOf(text);
  return isObject(value) ? parseObject(value) : parseLines(linesOf(text));
}

const STATES = new Map<string, Status['state']>(
  Object.entries({
    connected: 'connected',
    connecting: 'connecting',
    disconnecting: 'disconnecting',
    disconnected: 'disconnected',
    unable: 'unable',
    'unable to connect': 'unable',
  }),
);

function parseObject(value: Json): StatusReading | null {
  if (typeof value.status !== 'string') return null;
  const state = STATES.get(value.status.toLowerCase());
  if (!state) return value.status === 'Success' ? null : { ...UNKNOWN, reason: reasonOfJson(value.reason) };
  const reason = reasonOfJson(value.reason);
  // The text form says these two as `Network: healthy` and `Network: unstable`, not as a reason.
  if (reason?.code === 'NetworkHealthy') return reading(state, null, 'healthy');
  return reading(state, reason, reason?.code === 'NetworkDegraded' ? 'unstable' : null);
}

/** By the first word of the line `Network:`. JSON has the second one as `NetworkDegraded`, so text may use it later as well. */
const NETWORKS = new Map<string, Status['network']>([
  ['healthy', 'healthy'],
  ['unstable', 'unstable'],
  ['degraded', 'unstable'],
]);

function parseLines(lines: string[]): StatusReading | null {
  const at = lines.findLastIndex(line => /^Status update:/i.test(line));
  if (at < 0) return null;
  // Up to 2024 the reason is on the same line, after a full stop.
  const [, word = '', sameLine] = /^Status update:\s*(.*?)(?:\.\s*Reason:\s*(.*))?$/i.exec(lines[at] ?? '') ?? [];
  const state = STATES.get(word.trim().replace(/\.$/, '').toLowerCase());
  const rest = lines.slice(at + 1);
  const reason = reasonOfText(sameLine ?? fieldOf(rest, 'Reason') ?? '');
  const network = /^\w+/.exec(fieldOf(rest, 'Network')?.toLowerCase() ?? '')?.[0] ?? '';
  if (!state) return { ...UNKNOWN, reason };
  return reading(state, reason, NETWORKS.get(network) ?? null);
}

function fieldOf(lines: string[], key: string): string | undefined {
  return lines
    .find(line => line.startsWith(`${key}:`))
    ?.slice(key.length + 1)
    .trim();
}

function reading(state: Status['state'], reason: Reason | null, network: Status['network']): StatusReading {
  const unregistered = state !== 'connected' && reason?.code === 'RegistrationMissing';
  return { state, reason, network, blocked: unregistered ? 'not-registered' : null };
}
