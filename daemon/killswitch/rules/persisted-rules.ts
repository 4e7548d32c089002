// Pure: formats and parses what the root service keeps on disk. The rules file both records that the kill switch is on
// and is what the boot guard loads, so that the two can't disagree. Its first line holds the options it was rendered
// from.
import { checkEndpoints, type EndpointTuple, type Wanted } from '../request.ts';
import { type Message, message } from '../wording.ts';
import { render } from './rules.ts';

const HEAD = '# culvert kill switch 1 ';

export type Stored = { kind: 'absent' } | { kind: 'wanted'; wanted: Wanted } | { kind: 'broken'; why: Message };

/** The text of the rules file. */
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
    return broken(message("The stored settings can't be read: their options are torn."));
  }
  const wanted = parseOptions(options);
  return typeof wanted === 'string' ? broken(unreadable(wanted)) : { kind: 'wanted', wanted };
}

function broken(why: Message): Stored {
  return { kind: 'broken', why };
}

/** @param why what the system or the check of the options says */
export function unreadable(why: string): Message {
  return message("The stored settings can't be read: %s.", why);
}

/** Whether two values ask for the same; null is off. */
export function isSame(a: Wanted | null, b: Wanted | null): boolean {
  return JSON.stringify(a && toOptions(a)) === JSON.stringify(b && toOptions(b));
}

function toOptions({ allowLan, endpoints }: Wanted) {
  return { allowLan, endpoints: endpoints.map(({ cidr, protocol, ports }) => [cidr, protocol, ports]) };
}

/** @returns a phrase that says what is wrong */
function parseOptions(options: unknown): Wanted | string {
  const { allowLan, endpoints } = (options ?? {}) as { allowLan?: unknown; endpoints?: unknown };
  if (typeof allowLan !== 'boolean' || !Array.isArray(endpoints) || !endpoints.every(isTuple))
    return 'its options are not in their form';
  const checked = checkEndpoints(endpoints);
  return typeof checked === 'string' ? checked : { allowLan, endpoints: checked };
}

/** A pause: until when, by a clock that counts through suspend and starts again with the machine. */
export interface Pause {
  bootId: string;
  /** Seconds of /proc/uptime. */
  until: number;
}

export function formatPause(pause: Pause): string {
  return `${JSON.stringify(pause)}\n`;
}

/** The current pause; null if it is over, is from an earlier boot, or can't be read. */
export function parsePause(text: string, bootId: string, uptime: number, longest: number): Pause | null {
  try {
    const pause = JSON.parse(text) as Partial<Pause> | null;
    const until = pause?.until;
    if (pause?.bootId !== bootId || typeof until !== 'number') return null;
    return until > uptime && until <= uptime + longest ? { bootId, until } : null;
  } catch {
    return null;
  }
}

/** A value that holds until a deadline unless it is confirmed. The rules file keeps the value that returns. */
export interface Trial {
  bootId: string;
  /** Seconds of /proc/uptime. */
  until: number;
  /** User who made the change, and may confirm it. */
  by: number;
  /** When it was made, in ms since the epoch; for people only. */
  setAt: number;
  /** What is in force meanwhile; null: off. */
  wanted: Wanted | null;
}

export function formatTrial(trial: Trial): string {
  return `${JSON.stringify({ ...trial, wanted: trial.wanted && toOptions(trial.wanted) })}\n`;
}

/**
 * The change that was not confirmed when the process ended; null where there is none that can be read.
 * @param longest seconds; a deadline beyond it was never set
 * @returns `due`: its time is over, or it is from an earlier boot
 */
export function parseTrial(
  text: string,
  { bootId, uptime, longest }: { bootId: string; uptime: number; longest: number },
): { trial: Trial; due: boolean } | null {
  try {
    const value = (JSON.parse(text) ?? {}) as { [K in keyof Trial]?: unknown };
    const { until, by, setAt } = value;
    const wanted = value.wanted === null ? null : parseOptions(value.wanted);
    if (typeof value.bootId !== 'string' || typeof wanted === 'string') return null;
    if (typeof until !== 'number' || !isCount(by) || !isCount(setAt)) return null;
    const due = value.bootId !== bootId || until <= uptime || until > uptime + longest;
    return { trial: { bootId: value.bootId, until, by, setAt, wanted }, due };
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
