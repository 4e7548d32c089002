// Implements `events`: what runs do, as JSON lines, as they do it.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Context } from '../context.ts';

const POLL_MS = 250;

/** Prints every entry that is added to the audit log, until the reader leaves or the process is interrupted. */
export async function followEvents({ paths }: Pick<Context, 'paths'>): Promise<void> {
  const start = statSync(paths.audit, { throwIfNoEntry: false });
  let inode = start?.ino;
  let position = start?.size ?? 0;
  let decoder = new StringDecoder('utf8');
  for (;;) {
    const stat = statSync(paths.audit, { throwIfNoEntry: false });
    if (stat && (stat.ino !== inode || stat.size < position)) {
      // The log was rotated or has just been created.
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
