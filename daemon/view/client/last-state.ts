// Reads the state that the daemon left in its status file, for the first frame of a client that has no connection yet.
import { type Look, lookOf, STATES } from '../states/labels.ts';

/** The line of the file that holds the JSON of `culvert status --json` (daemon/state/status-file.ts). */
const JSON_LINE = 5;

/** @returns null for a file that is not understood. */
export function lastLook(text: string): Exclude<Look, 'unavailable'> | null {
  try {
    const line: unknown = JSON.parse(text.split('\n')[JSON_LINE] ?? '');
    if (!isRecord(line) || !isRecord(line.status)) return null;
    const { state: given, blocked } = line.status;
    const state = STATES.find(name => name === given);
    if (!state) return null;
    // which step of the setup is missing makes no difference to the look
    return lookOf({ status: { state, blocked: blocked === null ? null : 'not-registered' } });
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
