// Finds the moments at which killing a program could leave its files half written.
import { readFileSync } from 'node:fs';

/** The system calls that create, change or remove files, for `strace -e trace=`. */
export const FILE_CALLS = [
  'openat',
  'write',
  'pwrite64',
  'fsync',
  'ftruncate',
  'rename',
  'renameat',
  'renameat2',
  'link',
  'linkat',
  'symlink',
  'symlinkat',
  'unlink',
  'unlinkat',
  'mkdir',
  'mkdirat',
  'rmdir',
  'chmod',
  'fchmod',
  'fchmodat',
  'utimensat',
].join(',');

/** One call of a program's main thread: the `ordinal`-th of that name, counted from 1 as `strace -e inject` counts. */
export interface FileOperation {
  call: string;
  ordinal: number;
}

/**
 * The operations on files below a directory.
 * @param log what `strace -y -e trace=FILE_CALLS` wrote
 * @param which `changes`: only those that change what a reader sees, because a kill before any other leaves the same
 *   files as a kill before the next of these; `all`: also those that read and those that flush
 */
export function fileOperations(log: string, directory: string, which: 'changes' | 'all'): FileOperation[] {
  const counts = new Map<string, number>();
  return readFileSync(log, 'utf8')
    .split('\n')
    .flatMap(line => {
      const call = /^(\w+)\(/.exec(line)?.[1];
      if (!call) return [];
      const ordinal = (counts.get(call) ?? 0) + 1;
      counts.set(call, ordinal);
      return line.includes(`${directory}/`) && (which === 'all' || changes(call, line)) ? [{ call, ordinal }] : [];
    });
}

/** True for a call that changes a file for its readers. @param line strace's line about it */
export function changes(call: string, line: string): boolean {
  if (call === 'openat') return /O_(CREAT|TRUNC)/.test(line);
  return call !== 'fsync';
}
