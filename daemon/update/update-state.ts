// Stores the updater's state across runs: serials of verified releases, revoked keys, and the version that the user declined.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';
import type { Verified } from '../../manifest/verify.ts';
import { errno, reason } from '../core/errors.ts';
import { makeDirectory, replaceFile } from '../core/files.ts';
import type { Paths } from '../system/paths.ts';
import { refused } from './errors.ts';

const Serial = z.number().check(z.refine(Number.isSafeInteger), z.positive());
const UpdateState = z.object({
  /** The highest verified serial of each channel. A lower serial means a rollback or freeze attack. */
  serials: z.object({ stable: z.optional(Serial), beta: z.optional(Serial) }),
  /** Ids of revoked release keys. */
  revoked: z._default(z.array(z.string()), []),
  /** The version that the user rolled back from. Culvert does not offer it again. */
  declined: z.nullable(z.string()),
  /** The AppImage's previous version and its file. */
  previous: z.nullable(z.object({ version: z.string(), file: z.string() })),
  /** Time of the source's last valid answer, in milliseconds since 1970. */
  answeredAt: z._default(z.nullable(z.number()), null),
  /** Start of the present failures of automatic checks, in milliseconds since 1970. */
  failingSince: z._default(z.nullable(z.number()), null),
});
export type UpdateState = z.infer<typeof UpdateState>;

const EMPTY: UpdateState = {
  serials: {},
  revoked: [],
  declined: null,
  previous: null,
  answeredAt: null,
  failingSince: null,
};

/**
 * Reads the state, which is empty if the file is missing. It refuses a damaged file, because an empty state would allow
 * an old release. Culvert replaces the file as a whole, so only a failing disk or another program can damage it.
 * @throws Failure `state-broken`
 */
export function loadUpdateState(paths: Pick<Paths, 'state'>): UpdateState {
  const file = fileIn(paths);
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (errno(error) === 'ENOENT') return EMPTY;
    const why = error instanceof SyntaxError ? 'it is damaged' : reason(error);
    throw refused('state-broken', `The releases seen before can't be read from ${file}: ${why}.`, error);
  }
}

/** @throws Failure `state-broken`, NodeJS.ErrnoException */
export function saveUpdateState(paths: Pick<Paths, 'state'>, change: Partial<UpdateState>): void {
  const now = loadUpdateState(paths);
  const next = { ...now, ...change };
  if (JSON.stringify(next) === JSON.stringify(now)) return;
  const file = fileIn(paths);
  makeDirectory(dirname(file));
  replaceFile(file, `${JSON.stringify(next, null, 2)}\n`);
}

/**
 * Records a verified release's serial and revoked keys. A revocation resets the serials of every channel, because the
 * stolen key may have raised them.
 * @throws the errors of {@link saveUpdateState}
 */
export function recordRelease(paths: Pick<Paths, 'state'>, release: Verified): void {
  const { serials, revoked } = loadUpdateState(paths);
  const { channel, serial } = release;
  if (release.revoked.length > 0)
    saveUpdateState(paths, { serials: { [channel]: serial }, revoked: [...new Set([...revoked, ...release.revoked])] });
  else if ((serials[channel] ?? 0) < serial) saveUpdateState(paths, { serials: { ...serials, [channel]: serial } });
}

/** Runs work that records a result, and reports a failure without an undo. */
export function attempt({ say }: { say(line: string): void }, failure: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    say(`${failure}: ${reason(error)}`);
  }
}

function fileIn({ state }: Pick<Paths, 'state'>): string {
  return join(state, 'update.json');
}

function parse(text: string): UpdateState {
  const parsed = z.safeParse(UpdateState, JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new SyntaxError('not of this form', { cause: parsed.error });
}
