// A full disk is told before anything is fetched.
import { freeSpace } from './files.ts';
import { Refused } from './refused.ts';

/** What everything else on the disk keeps. */
const MARGIN = 16 << 20;

/**
 * @param bytes what is going to be written
 * @throws Refused disk-full
 */
export function requireSpace(directory: string, bytes: number): void {
  const free = freeSpace(directory);
  const need = bytes + MARGIN;
  if (free < need) throw new Refused('disk-full', `${directory} has ${mib(free)} free; the update needs ${mib(need)}.`);
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / (1 << 20))} MiB`;
}
