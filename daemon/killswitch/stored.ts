// Pure: what the root service keeps on disk. The rules file is the wish itself (it exists: wanted) and what the boot
// guard loads, so that the two can't disagree; its first line holds the options it was rendered from.
import { checkEndpoints, type EndpointTuple, type Wanted } from './request.ts';
import { render } from './rules.ts';

const HEAD = '# culvert kill switch 1 ';

export type Stored = { kind: 'absent' } | { kind: 'wanted'; wanted: Wanted } | { kind: 'broken'; why: string };

/** The text of the rules file. */
export function formatRules({ allowLan, endpoints }: Wanted): string {
  const tuples = endpoints.map(({ cidr, protocol, ports }) => [cidr, protocol, ports]);
  return `${HEAD}${JSON.stringify({ allowLan, endpoints: tuples })}\n${render({ allowLan, endpoints })}`;
}

/** Reads the rules file. Nothing that stands there ever counts as "not wanted". */
export function parseRules(text: string): Stored {
  const broken = (why: string): Stored => ({ kind: 'broken', why });
  const line = text.split('\n', 1)[0]!;
  if (!line.startsWith(HEAD)) return broken(text === '' ? 'it is empty' : 'it does not begin with its options');
  let options: unknown;
  try {
    options = JSON.parse(line.slice(HEAD.length));
  } catch {
    return broken('its options are torn');
  }
  const { allowLan, endpoints } = (options ?? {}) as { allowLan?: unknown; endpoints?: unknown };
  if (typeof allowLan !== 'boolean' || !Array.isArray(endpoints) || !endpoints.every(isTuple))
    return broken('its options are not in their form');
  const checked = checkEndpoints(endpoints);
  return typeof checked === 'string' ? broken(checked) : { kind: 'wanted', wanted: { allowLan, endpoints: checked } };
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

/** The pause that holds now, or null: one of another boot, one that is over, and one that can't be read have ended. */
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
