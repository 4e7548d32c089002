// Lets a shell check the files that determine a command's account, and log its run, without starting a program.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, linkSync, openSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { giveIfPossible, isReadableByOthers } from '../../daemon/core/files.ts';
import { createDirectory } from '../system/files.ts';
import type { AuditEntry } from './audit.ts';
import type { Paths } from './paths.ts';

/**
 * One source and its stamp: `link` names the file that was read, `time` has its modification time. A younger file, an older file and
 * another file of the same age are all noticed; comparing by "younger" alone would miss a restored file, which keeps its old time. A private file is kept as a hard link, others as a symlink to their real path.
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
    giveIfPossible(fd, dirname(time));
    closeSync(fd);
    touch.push(`touch -r ${quote(source)} ${quote(time)}`);
  }
  // Node's utimes loses nanoseconds.
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

const DIRECTORY_FILE = '.culvert-wrap.toml';

/**
 * Commands that set `__cw_d` to the nearest directory with a file that may choose an account, or to one without. The walk
 * is along `..`, because `PWD` may lead through a symlink.
 */
export const FIND_DIRECTORY_FILE = `__cw_d=.
until [ -e $__cw_d/${DIRECTORY_FILE} ] || ! [ -e $__cw_d ] || [ $__cw_d -ef / ]; do __cw_d=$__cw_d/..; done`;

/** A condition that holds after `FIND_DIRECTORY_FILE` if it found a file. */
export const HAS_DIRECTORY_FILE = `[ -e $__cw_d/${DIRECTORY_FILE} ]`;

/** Commands that set `__cw_c` to the directory of the configuration for this environment; see `pathsFor`. */
export function findConfiguration({ configDir }: Pick<Paths, 'configDir'>): string {
  const name = quote(`/${basename(configDir)}`);
  return `case $XDG_CONFIG_HOME in /*) __cw_c=$XDG_CONFIG_HOME${name} ;; *) __cw_c=$HOME/.config${name} ;; esac`;
}

/** A condition that holds after `findConfiguration` when that is not the configuration of this installation. */
export function isElsewhere({ configDir }: Pick<Paths, 'configDir'>): string {
  const own = quote(configDir);
  return `! { [ "$__cw_c" = ${own} ] || [ "$__cw_c" -ef ${own} ]; }`;
}

/**
 * Commands that append a run to the audit log.
 * @param entry its `command` is a word of the shell
 * @param otherwise a command for when the log is not a plain file that can be written, or date(1) gives no milliseconds
 */
export function appendAudit(
  { cli, command, account, outcome, why, choice }: Omit<AuditEntry, 'at'>,
  { audit }: Pick<Paths, 'audit'>,
  otherwise: string,
): string {
  const file = quote(audit);
  const line = JSON.stringify({ cli, command: '%s', account, outcome, why, choice }).replace('{', '{"at":%s,');
  return `__cw_t=
if [ -f ${file} ] && ! [ -L ${file} ] && [ -w ${file} ]; then __cw_t=$(date +%s%3N); fi
case $__cw_t in ''|*[!0-9]*) ${otherwise} ;; *) printf ${quote(`${line}\\n`)} "$__cw_t" ${command} >> ${file} ;; esac`;
}
