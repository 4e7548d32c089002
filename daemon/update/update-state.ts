// Keeps the state of the updater across runs: releases that were seen, revoked keys, and the version that was rolled back.
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
  /** For each channel, the highest serial whose signature was verified. A lower one is a rollback or a freeze. */
  serials: z.object({ stable: z.optional(Serial), beta: z.optional(Serial) }),
  /** Ids of the release keys that a release has revoked. */
  revoked: z._default(z.array(z.string()), []),
  /** The version that the user rolled back from; it is not offered again. */
  declined: z.nullable(z.string()),
  /** The AppImage's version before the last update, and its file. */
  previous: z.nullable(z.object({ version: z.string(), file: z.string() })),
  /** When the source last gave a valid answer, in milliseconds since 1970. */
  answeredAt: z._default(z.nullable(z.number()), null),
  /** Since when automatic checks have failed, in milliseconds since 1970. */
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
 * Reads the state; a missing file is an empty state. A damaged one is refused, because without it an old release could
 * come back: the file is replaced as a whole, so only a failing disk or another program can damage it.
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
 * Records a verified release: its serial, and the keys that it revokes. A revocation starts the count of serials again,
 * in every channel, because the stolen key may have raised it.
 * @throws as {@link saveUpdateState}
 */
export function recordRelease(paths: Pick<Paths, 'state'>, release: Verified): void {
  const { serials, revoked } = loadUpdateState(paths);
  const { channel, serial } = release;
  if (release.revoked.length > 0)
    saveUpdateState(paths, { serials: { [channel]: serial }, revoked: [...new Set([...revoked, ...release.revoked])] });
  else if ((serials[channel] ?? 0) < serial) saveUpdateState(paths, { serials: { ...serials, [channel]: serial } });
}

/** Records something, or reports that it could not. A failure undoes nothing. */
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
