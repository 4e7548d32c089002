// Keeps the file of changes that are to be taken back. It is written before a change is made, so that no kill loses its
// return.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { errno, reason } from '../system/errno.ts';
import { replaceFile } from '../system/files.ts';
import { Value } from './values.ts';

const Deadline = z.object({ bootId: z.string(), uptimeMs: z.number(), at: z.iso.datetime() });

const Pending = z.object({
  /** What returns. */
  previous: Value,
  /** What was set, for people. */
  value: z.nullable(z.string()),
  setAt: z.iso.datetime(),
  /** The change is under way. A daemon that finds this when it starts reverts the change. */
  making: z.boolean(),
  confirmBy: z.nullable(Deadline),
  endsAt: z.nullable(Deadline),
});
export type Pending = z.infer<typeof Pending>;

const File = z.object({ version: z.literal(1), pending: z.array(Pending) });

/**
 * Reads the file. A missing file means no changes; a file that can't be parsed is renamed to `….broken`.
 * @param say called with a message about a broken file
 */
export function loadChanges(path: string, say: (line: string) => void): Pending[] {
  if (!existsSync(path)) return [];
  try {
    return z.parse(File, JSON.parse(readFileSync(path, 'utf8'))).pending;
  } catch (error) {
    const why = errno(error) ? reason(error) : 'It is damaged, or another version of Culvert wrote it';
    say(
      `${path} can't be read: ${why}. ${putAside(path)} Changes that were to be reverted stay: check mode and connection.`,
    );
    return [];
  }
}

function putAside(path: string): string {
  try {
    renameSync(path, `${path}.broken`);
    return `The file is kept as ${path}.broken.`;
  } catch (error) {
    return `It could not be renamed either: ${reason(error)}.`;
  }
}

/** Replaces the file, or removes it when nothing is pending. @throws FileError */
export function saveChanges(path: string, pending: readonly Pending[]): void {
  if (pending.length === 0) {
    rmSync(path, { force: true });
    return;
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, `${JSON.stringify({ version: 1, pending })}\n`);
}
