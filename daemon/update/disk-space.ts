// Checks the free space before an update is downloaded.
import { statfsSync } from 'node:fs';
import { UpdateRefused } from './errors.ts';

/** Space that other programs on the disk keep. */
const MARGIN = 16 << 20;

/**
 * @param bytes how much is going to be written
 * @throws UpdateRefused `disk-full`
 */
export function requireSpace(directory: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const need = bytes + MARGIN;
  if (free < need)
    throw new UpdateRefused('disk-full', `${directory} has ${mib(free)} free; the update needs ${mib(need)}.`);
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / (1 << 20))} MiB`;
}
