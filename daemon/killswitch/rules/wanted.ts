// Checks the kill switch settings in calls to the root service, and formats and parses the files that store them. One rules
// file both records that the kill switch is on and holds the rules that the boot guard loads, so the two can't disagree. Pure.
import { type Message, message } from '../wording.ts';
import { type Endpoint, isEndpointPort, parseCidr } from './endpoints.ts';
import { render } from './rules.ts';

/** An endpoint as D-Bus carries it, `(ssaq)`: range, protocol, ports. */
export type EndpointTuple = readonly [cidr: string, protocol: string, ports: readonly number[]];

/** Checked settings of a kill switch that is on. */
export interface Wanted {
  allowLan: boolean;
  endpoints: readonly Endpoint[];
}

export const MAX_ENDPOINTS = 128;
const MAX_PORTS = 16;
const MAX_PAUSE_SECONDS = 3600;
/** A sign-in takes a few minutes at most. While it lasts, one program may send traffic outside the tunnel. */
export const MAX_SIGN_IN_SECONDS = 900;
/** A person who still has a connection confirms a change within seconds. */
const MAX_CONFIRM_SECONDS = 600;

/** Checks a caller's endpoints. @returns the value, or a sentence about the error */
export function checkEndpoints(tuples: readonly EndpointTuple[]): Endpoint[] | string {
  if (tuples.length > MAX_ENDPOINTS) return tooManyEndpoints(tuples.length);
  const endpoints = new Map<string, Endpoint>();
  for (const [word, protocol, ports] of tuples) {
    const cidr = parseCidr(word);
    if (typeof cidr === 'string') return `${cidr}.`;
    if (protocol !== 'udp' && protocol !== 'tcp') return 'The protocol of an endpoint is udp or tcp.';
    if (!ports.length || ports.length > MAX_PORTS) return `An endpoint has 1 to ${MAX_PORTS} ports.`;
    const wrong = ports.find(port => !isEndpointPort(port));
    if (wrong !== undefined)
      return `${wrong} can't be the port of an endpoint; DNS (53, 853) never leaves outside the tunnel.`;
    const endpoint = { cidr: cidr.text, protocol, ports: [...new Set(ports)].sort((a, b) => a - b) } as const;
    endpoints.set(JSON.stringify(endpoint), endpoint);
  }
  return [...endpoints.values()];
}

export function tooManyEndpoints(count: number): string {
  return `There are ${count} endpoints, but at most ${MAX_ENDPOINTS} are allowed.`;
}

/** Checks the length of a pause in seconds; 0 ends it. @returns the value, or a sentence about the error */
export function checkSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_PAUSE_SECONDS;
  return fits ? seconds : `A pause has at most ${MAX_PAUSE_SECONDS} seconds.`;
}

/** Checks the length of a sign-in in seconds; 0 ends it. @returns the value, or a sentence about the error */
export function checkSignInSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_SIGN_IN_SECONDS;
  return fits ? seconds : `A sign-in has at most ${MAX_SIGN_IN_SECONDS} seconds.`;
}

/** Checks the seconds within which a change must be confirmed. @returns the value, or a sentence about the error */
export function checkConfirmSeconds(seconds: number): number | string {
  const fits = Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_CONFIRM_SECONDS;
  return fits ? seconds : `A change is confirmed within 1 to ${MAX_CONFIRM_SECONDS} seconds.`;
}

const HEAD = '# culvert kill switch 1 ';

export type Stored = { kind: 'absent' } | { kind: 'wanted'; wanted: Wanted } | { kind: 'broken'; why: Message };

/** Returns the text of the rules file. */
export function formatRules({ allowLan, endpoints }: Wanted): string {
  return `${HEAD}${JSON.stringify(toOptions({ allowLan, endpoints }))}\n${render({ allowLan, endpoints })}`;
}

/** Parses the rules file. No content ever counts as "off". */
export function parseRules(text: string): Stored {
  const line = text.split('\n', 1)[0]!;
  if (!line.startsWith(HEAD))
    return broken(
      text === ''
        ? message("The stored settings can't be read: they are empty.")
        : message("The stored settings can't be read: they do not begin with their options."),
    );
  let options: unknown;
  try {
    options = JSON.parse(line.slice(HEAD.length));
  } catch {
    return broken(message("The stored settings can't be read: their options are incomplete."));
  }
  const wanted = parseOptions(options);
  return typeof wanted === 'string' ? broken(unreadable(wanted)) : { kind: 'wanted', wanted };
}

function broken(why: Message): Stored {
  return { kind: 'broken', why };
}

/** @param why error from the system, or from checking the options */
export function unreadable(why: string): Message {
  return message("The stored settings can't be read: %s.", why);
}

/** True if two settings are equal; null means off. */
export function isSame(a: Wanted | null, b: Wanted | null): boolean {
  return JSON.stringify(a && toOptions(a)) === JSON.stringify(b && toOptions(b));
}

function toOptions({ allowLan, endpoints }: Wanted) {
  return { allowLan, endpoints: endpoints.map(({ cidr, protocol, ports }) => [cidr, protocol, ports]) };
}

/** @returns the settings, or a phrase about the error */
function parseOptions(options: unknown): Wanted | string {
  const { allowLan, endpoints } = (options ?? {}) as { allowLan?: unknown; endpoints?: unknown };
  if (typeof allowLan !== 'boolean' || !Array.isArray(endpoints) || !endpoints.every(isTuple))
    return 'its options are not in their form';
  const checked = checkEndpoints(endpoints);
  return typeof checked === 'string' ? checked : { allowLan, endpoints: checked };
}

/** Settings with a deadline: an unconfirmed change, or a pause. The rules file keeps the settings to restore. */
export interface Trial {
  bootId: string;
  /** Deadline, in seconds of /proc/uptime, which counts through suspend and restarts at boot. */
  until: number;
  /** Uid of the user who made the change and may confirm it; null for a pause, which can't be confirmed. */
  by: number | null;
  /** Time of the change in ms since the epoch, for display only. */
  setAt: number;
  /** Settings in force until the deadline; null means off. */
  wanted: Wanted | null;
}

/** True for a pause, which turns the kill switch off until a deadline and can't be made permanent. */
export function isPause({ by }: Trial): boolean {
  return by === null;
}

export function formatTrial(trial: Trial): string {
  return `${JSON.stringify({ ...trial, wanted: trial.wanted && toOptions(trial.wanted) })}\n`;
}

/**
 * Parses the pause or unconfirmed change that was under way when the process ended; returns null for an unreadable file.
 * @returns `due`: true if the deadline has passed or is invalid, or if the trial is from an earlier boot
 */
export function parseTrial(
  text: string,
  { bootId, uptime }: { bootId: string; uptime: number },
): { trial: Trial; due: boolean } | null {
  try {
    const value = (JSON.parse(text) ?? {}) as { [K in keyof Trial]?: unknown };
    const { until, by, setAt } = value;
    const wanted = value.wanted === null ? null : parseOptions(value.wanted);
    if (typeof value.bootId !== 'string' || typeof wanted === 'string') return null;
    if (typeof until !== 'number' || !isCount(setAt) || (by !== null && !isCount(by))) return null;
    if (by === null && wanted !== null) return null;
    const longest = by === null ? MAX_PAUSE_SECONDS : MAX_CONFIRM_SECONDS;
    const due = value.bootId !== bootId || until <= uptime || until > uptime + longest;
    return { trial: { bootId: value.bootId, until, by, setAt, wanted }, due };
  } catch {
    return null;
  }
}

/** Parses the `pause.json` of Culvert 0.2.7 and older into a trial; returns null if the file can't be read. */
export function parseFormerPause(text: string, setAt: number): Trial | null {
  try {
    const { bootId, until } = (JSON.parse(text) ?? {}) as { bootId?: unknown; until?: unknown };
    if (typeof bootId !== 'string' || typeof until !== 'number') return null;
    return { bootId, until, by: null, setAt, wanted: null };
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTuple(value: unknown): value is EndpointTuple {
  if (!Array.isArray(value)) return false;
  const [cidr, protocol, ports] = value;
  return (
    typeof cidr === 'string' &&
    typeof protocol === 'string' &&
    Array.isArray(ports) &&
    ports.every(port => typeof port === 'number')
  );
}
