// Implements `events`: what runs do, as JSON lines, as they do it.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Context } from '../context.ts';
import { readConfig } from '../store/config.ts';
import { EXIT, WrapError } from '../system/errors.ts';

const POLL_MS = 250;

/**
 * Prints every entry that is added to the audit log, until the reader leaves or the process is interrupted.
 * @throws WrapError `no-audit` when the log is turned off
 */
export async function followEvents({ paths }: Pick<Context, 'paths'>): Promise<void> {
  if (!readConfig(paths.config).audit) {
    throw new WrapError('no-audit', EXIT.config, `the audit log is turned off in ${paths.config}`, {
      hint: 'remove the line `audit = false`: events are read from it',
    });
  }
  const start = statSync(paths.audit, { throwIfNoEntry: false });
  let inode = start?.ino;
  let position = start?.size ?? 0;
  let decoder = new StringDecoder('utf8');
  for (;;) {
    const stat = statSync(paths.audit, { throwIfNoEntry: false });
    if (stat && (stat.ino !== inode || stat.size < position)) {
      // The log was rotated, with what was added last, or has just been created.
      const older = `${paths.audit}.1`;
      const last = statSync(older, { throwIfNoEntry: false });
      if (last && last.ino === inode && last.size > position) {
        process.stdout.write(decoder.write(readFrom(older, position, last.size - position)));
      }
      inode = stat.ino;
      position = 0;
      decoder = new StringDecoder('utf8');
    }
    if (stat && stat.size > position) {
      const added = readFrom(paths.audit, position, stat.size - position);
      position += added.length;
      process.stdout.write(decoder.write(added));
    }
    await new Promise(resolve => setTimeout(resolve, POLL_MS));
  }
}

function readFrom(file: string, position: number, length: number): Buffer {
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(fd, buffer, 0, length, position));
  } finally {
    closeSync(fd);
  }
}
