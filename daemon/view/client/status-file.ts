// Defines the format of the daemon's status file, with one value per line. The daemon writes it (daemon/state/status-line.ts),
// `culvert status` prints lines of it (data/bin/culvert.in), and the window takes its first frame from it.
import type { ConnectionState } from '../../api/schema.ts';
import { STATES } from '../../api/states.ts';
import { isRecord } from '../../core/shape.ts';
import type { LastState } from './client-state.ts';

/** Values of the file, in the order of its lines. */
interface StatusFile {
  /** Process ID and start time of the daemon. */
  owner: string;
  port: number | null;
  /**
   * `reading` for a connected tunnel while the daemon reads changed settings, `unknown` for an outdated state, `old` if the
   * settings could not be read again.
   */
  state: ConnectionState | 'reading' | 'old';
  /** The line for people. */
  line: string;
  coloredLine: string;
  /** The object that `culvert status --json` prints. */
  json: unknown;
  warning: string | null;
}

const JSON_LINE = 5;

/** @returns the text of the file */
export function formatStatusFile({ owner, port, state, line, coloredLine, json, warning }: StatusFile): string {
  const lines = [owner, port ?? '-', state, line, coloredLine];
  lines[JSON_LINE] = JSON.stringify(json);
  if (warning !== null) lines.push(warning);
  return `${lines.join('\n')}\n`;
}

/** @returns the state in a status file, or null if the file can't be parsed. */
export function stateInStatusFile(text: string): LastState | null {
  try {
    const json: unknown = JSON.parse(text.split('\n')[JSON_LINE] ?? '');
    if (!isRecord(json)) return null;
    const state = STATES.find(name => name === json.summary);
    return state ? { state, demo: json.demo === true } : null;
  } catch {
    return null;
  }
}
