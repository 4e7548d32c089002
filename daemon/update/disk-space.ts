// Checks the free space before an update is downloaded.
import { statfsSync } from 'node:fs';
import { formatBytes } from '../view/format.ts';
import { english } from '../view/translator.ts';
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
  const amount = (size: number) => formatBytes(size, english);
  if (free < need)
    throw new UpdateRefused('disk-full', `${directory} has ${amount(free)} free; the update needs ${amount(need)}.`);
}
