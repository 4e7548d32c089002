// What the updater remembers between runs: the highest serials seen, the version that was rolled back, the one before.
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Channel } from '../../manifest/verify.ts';
import type { Paths } from '../paths.ts';
import { replaceFile } from './files.ts';
import { Refused } from './refused.ts';

export interface Memory {
  /** Of each channel, the highest serial whose signature was verified. A lower one is a rollback or a freeze. */
  serials: Partial<Record<Channel, number>>;
  /** The version that the user went back from; it is not offered again. */
  declined: string | null;
  /** Of an AppImage: the version before the last update, and its file. */
  previous: { version: string; file: string } | null;
}

const NOTHING: Memory = { serials: {}, declined: null, previous: null };

/**
 * Reads the memory; what never was is empty. What can't be read is no reason to forget which releases were seen, so it
 * is refused: the file is replaced as a whole, and only a failing disk or another program leaves it torn.
 * @throws Refused state-broken
 */
export function recall(paths: Pick<Paths, 'state'>): Memory {
  const file = fileIn(paths);
  try {
    return check(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING;
    const why = error instanceof SyntaxError ? 'it is damaged' : (error as Error).message;
    throw new Refused('state-broken', `Which releases were seen before can't be read from ${file}: ${why}.`, error);
  }
}

/** @throws NodeJS.ErrnoException */
export function remember(paths: Pick<Paths, 'state'>, change: Partial<Memory>): void {
  const now = recall(paths);
  const next = { ...now, ...change };
  if (JSON.stringify(next) === JSON.stringify(now)) return;
  const file = fileIn(paths);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  replaceFile(file, `${JSON.stringify(next, null, 2)}\n`, 0o600);
}

/** Remembers a serial, if it is the highest yet. @throws NodeJS.ErrnoException */
export function rememberSerial(paths: Pick<Paths, 'state'>, channel: Channel, serial: number): void {
  const { serials } = recall(paths);
  if ((serials[channel] ?? 0) < serial) remember(paths, { serials: { ...serials, [channel]: serial } });
}

function fileIn({ state }: Pick<Paths, 'state'>): string {
  return join(state, 'update.json');
}

function check(value: unknown): Memory {
  const { serials, declined, previous } = value as Memory;
  const whole = (n: unknown) => n === undefined || (Number.isSafeInteger(n) && (n as number) > 0);
  const text = (s: unknown) => typeof s === 'string';
  const sound =
    isObject(serials) &&
    whole(serials.stable) &&
    whole(serials.beta) &&
    (declined === null || text(declined)) &&
    (previous === null || (isObject(previous) && text(previous.version) && text(previous.file)));
  if (!sound) throw new SyntaxError('not of this form');
  return { serials, declined, previous };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
