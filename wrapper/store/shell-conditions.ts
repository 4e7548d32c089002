// Lets a shell notice, without starting Node, what decides about the account of a command, and log what it ran.
import { basename } from 'node:path';
import type { AuditEntry } from './audit.ts';
import type { Paths } from './paths.ts';
import { quote } from './source-stamps.ts';

const DIRECTORY_FILE = '.culvert-wrap.toml';

/**
 * Commands that set `__cw_d` to the nearest directory with a file that may choose an account, or to one without. The walk
 * is along `..`, because `PWD` may lead through a symlink.
 */
export const FIND_DIRECTORY_FILE = `__cw_d=.
until [ -e $__cw_d/${DIRECTORY_FILE} ] || ! [ -e $__cw_d ] || [ $__cw_d -ef / ]; do __cw_d=$__cw_d/..; done`;

/** A condition that holds after `FIND_DIRECTORY_FILE` when there is such a file. */
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
