// Lets a shell notice, without starting a program, that a plan's sources are not the files it was compiled from.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, linkSync, openSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createDirectory, giveToOwner, isReadableByOthers } from '../system/files.ts';
import type { Paths } from './paths.ts';

/**
 * One source and what is kept of it: `link` names the file that was read, `time` has its modification time. Neither a
 * younger nor an older file, nor another file of the same age, goes unnoticed; being younger alone says little, because
 * a restored file keeps its old time. A private file is kept as a hard link, others as a symlink to their real path.
 */
export interface SourceStamp {
  source: string;
  link: string;
  time: string;
}

/** The stamps of a CLI's plan: configuration, the user's catalog and, if given, the shipped one. */
export function sourceStamps(
  cli: string,
  paths: Paths,
  catalog?: string,
): [SourceStamp, SourceStamp, ...SourceStamp[]] {
  const stamp = (source: string, name: string): SourceStamp => {
    const base = join(paths.plans, `.${cli}.${name}`);
    return { source, link: base, time: `${base}.time` };
  };
  const shipped = catalog === undefined ? [] : [stamp(catalog, 'shipped')];
  return [stamp(paths.config, 'config'), stamp(paths.userCatalog, 'user'), ...shipped];
}

/** A condition for sh that holds when the source is not the stamped one anymore. */
export function isStale({ source, link, time }: SourceStamp): string {
  const [s, l, t] = [quote(source), quote(link), quote(time)];
  const changed = `! [ ${s} -ef ${l} ] || [ ${s} -nt ${t} ] || [ ${s} -ot ${t} ]`;
  return `{ { [ -e ${s} ] || [ -e ${l} ]; } && { ${changed}; }; }`;
}

/**
 * Remembers the sources as they are now.
 * @throws the system's error when the directory can't be written
 */
export function writeStamps(stamps: readonly SourceStamp[]): void {
  const touch: string[] = [];
  for (const { source, link, time } of stamps) {
    createDirectory(dirname(link));
    for (const file of [link, time]) rmSync(file, { force: true });
    if (!existsSync(source)) continue;
    keepName(source, link);
    const fd = openSync(time, 'wx', 0o600);
    giveToOwner(fd, dirname(time));
    closeSync(fd);
    touch.push(`touch -r ${quote(source)} ${quote(time)}`);
  }
  // utimes(2) by way of Node loses nanoseconds.
  if (touch.length > 0) spawnSync('/bin/sh', ['-c', touch.join('\n')], { stdio: 'ignore' });
}

/** Removes the stamps of a CLI. */
export function removeStamps(stamps: readonly SourceStamp[]): void {
  for (const { link, time } of stamps) for (const file of [link, time]) rmSync(file, { force: true });
}

function keepName(source: string, link: string): void {
  const real = realpathSync(source);
  try {
    if (!isReadableByOthers(real)) {
      linkSync(real, link);
      return;
    }
  } catch {
    // Another file system, or another user's file.
  }
  symlinkSync(real, link);
}

/** A word for sh. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
