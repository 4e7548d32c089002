// Stores a plan per CLI, compiled from configuration and catalog into JSON, which saves runs from parsing TOML. Holds no secret.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, linkSync, openSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { settledStampAt, stampAt } from '../../daemon/core/file-version.ts';
import { giveIfPossible, isReadableByOthers, readOptional, readText } from '../../daemon/core/files.ts';
import { parseJson } from '../../daemon/core/shape.ts';
import { catalogFiles, updateStateFile } from '../catalog/files.ts';
import type { Provider } from '../catalog/provider.ts';
import { createDirectory } from '../system/files.ts';
import type { AuditEntry } from './audit.ts';
import type { Account, Capacity, Config, Pool } from './config.ts';
import { hasLogins } from './logins.ts';
import { DIRECTORY_FILE, type Paths } from './paths.ts';

export interface Plan {
  cli: string;
  /** Identifies the versions of the plan's sources; see `stampOf`. */
  stamp: string;
  provider: Provider;
  /** True if the user's catalog entry has patterns that need a time limit. */
  ownPatterns: boolean;
  /** In the configuration's order, including disabled accounts. */
  accounts: Account[];
  capacity: Capacity;
  /** True if a limit or a refused credential leads to the next account, where the terms allow it. */
  failover: boolean;
  /** Preferred credentials: the user's own outside culvert-wrap, or the accounts. */
  prefer: 'own' | 'accounts';
  /** The store shared with other machines, if any. */
  pool?: Pool;
  audit: boolean;
  secretTimeoutMs: number;
}

/** Returns a tool's settings for failover and preference, from the user's configuration or the catalog. */
export function whoseAccount(
  { account_is: is }: Pick<Provider, 'account_is'>,
  tool: Config['tools'][string] | undefined,
  accounts: readonly Account[] = [],
): Pick<Plan, 'failover' | 'prefer'> {
  const failover = !hasLogins(accounts) && (tool?.failover ?? is === 'quota');
  return { failover, prefer: tool?.prefer ?? (is === 'place' ? 'own' : 'accounts') };
}

/** Files that a plan is compiled from. */
export interface Sources {
  paths: Paths;
  /** The shipped providers.toml; its directory in the sources. */
  catalog: string;
}

/** Reads the plan of a CLI; returns `undefined` if it is missing, damaged, or made from other sources. */
export function readPlan(cli: string, paths: Paths, stamp: string): Plan | undefined {
  const plan = readLastPlan(cli, paths);
  return plan?.stamp === stamp ? plan : undefined;
}

/** Reads the plan of a CLI even if its sources changed. */
export function readLastPlan(cli: string, paths: Paths): Plan | undefined {
  const plan = parseJson(readText(planFile(paths, cli)));
  return isPlan(plan) && plan.cli === cli ? plan : undefined;
}

/** Reports whether a CLI had accounts when its configuration was last read; true if the plan is lost. */
export function hadAccounts(cli: string, paths: Paths): boolean {
  try {
    const text = readOptional(planFile(paths, cli));
    return text !== '' && readLastPlan(cli, paths)?.accounts.length !== 0;
  } catch {
    // the file belongs to another user
    return false;
  }
}

/** Checks only fields that every run needs: only this program writes plans, and a schema costs 5 ms. */
function isPlan(value: unknown): value is Plan {
  if (typeof value !== 'object' || value === null) return false;
  const { provider, accounts, capacity, secretTimeoutMs } = value as Partial<Plan>;
  return (
    Array.isArray(accounts) &&
    accounts.every(account => typeof account?.name === 'string' && typeof account.env === 'object' && account.env) &&
    [provider?.rules, provider?.inject, provider?.home, provider?.silent_jobs, provider?.session_files].every(
      Array.isArray,
    ) &&
    typeof provider?.commit === 'object' &&
    [
      provider?.hosts?.names,
      provider?.hosts?.repositories?.env,
      provider?.choice?.files,
      provider?.directory_options,
    ].every(Array.isArray) &&
    typeof capacity?.policy === 'string' &&
    Array.isArray(capacity.notify_at) &&
    typeof secretTimeoutMs === 'number'
  );
}

/** Returns the path of the script that runs a single account without Node; see `manage/shortcut.ts`. */
export function shortcutFile(paths: Paths, cli: string): string {
  return `${planFile(paths, cli)}.sh`;
}

export function planFile(paths: Paths, cli: string): string {
  return join(paths.plans, cli);
}

/** Identifies the versions of a plan's sources; see `stampAt`. */
export function stampOf(sources: Sources): string {
  return filesOf(sources).map(stampAt).join(' ');
}

/** Returns the stamp for a plan stored right after its sources; see `settledStampAt`. */
export function settledStampOf(sources: Sources): string {
  return filesOf(sources).map(settledStampAt).join(' ');
}

function filesOf({ paths, catalog }: Sources): string[] {
  return [paths.config, paths.userCatalog, updateStateFile(paths.catalogUpdates), ...catalogFiles(catalog)];
}

/**
 * One source and its stamp: `link` refers to the file that was read, and `time` has its modification time. A newer file, an
 * older file and another file of the same age are all noticed; a test for newer files alone would miss a restored file, which
 * keeps its old time. For a private file, `link` is a hard link; for any other file, a symlink to the real path.
 */
export interface SourceStamp {
  source: string;
  link: string;
  time: string;
}

/** Returns the stamps for a CLI's plan: configuration, user catalog and, with the shipped catalog, that and a signed one. */
export function sourceStamps(
  cli: string,
  paths: Paths,
  catalog?: string,
): [SourceStamp, SourceStamp, ...SourceStamp[]] {
  const stamp = (source: string, name: string): SourceStamp => {
    const base = join(paths.plans, `.${cli}.${name}`);
    return { source, link: base, time: `${base}.time` };
  };
  const shipped =
    catalog === undefined ? [] : [stamp(catalog, 'shipped'), stamp(updateStateFile(paths.catalogUpdates), 'signed')];
  return [stamp(paths.config, 'config'), stamp(paths.userCatalog, 'user'), ...shipped];
}

/** Returns an sh condition that is true if the source differs from its stamp. */
export function isStale({ source, link, time }: SourceStamp): string {
  const [s, l, t] = [quote(source), quote(link), quote(time)];
  const changed = `! [ ${s} -ef ${l} ] || [ ${s} -nt ${t} ] || [ ${s} -ot ${t} ]`;
  return `{ { [ -e ${s} ] || [ -e ${l} ]; } && { ${changed}; }; }`;
}

/**
 * Stores stamps of the current sources.
 * @throws the system's error if the directory can't be written
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

/** Removes the given stamps. */
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
    // the source is on another file system, or belongs to another user
  }
  symlinkSync(real, link);
}

/** Quotes a word for sh. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Commands that set `__cw_d` to the nearest directory with a file that may choose an account, or, if there is no such file, to
 * the last directory tried. They follow `..`, because `PWD` may contain a symlink.
 */
export const FIND_DIRECTORY_FILE = `__cw_d=.
until [ -e $__cw_d/${DIRECTORY_FILE} ] || ! [ -e $__cw_d ] || [ $__cw_d -ef / ]; do __cw_d=$__cw_d/..; done`;

/** Condition that is true if `FIND_DIRECTORY_FILE` found a file. */
export const HAS_DIRECTORY_FILE = `[ -e $__cw_d/${DIRECTORY_FILE} ]`;

/** Returns commands that set `__cw_c` to the environment's configuration directory; see `pathsFor`. */
export function findConfiguration({ configDir }: Pick<Paths, 'configDir'>): string {
  const name = quote(`/${basename(configDir)}`);
  return `case $XDG_CONFIG_HOME in /*) __cw_c=$XDG_CONFIG_HOME${name} ;; *) __cw_c=$HOME/.config${name} ;; esac`;
}

/** Returns a condition that is true if `findConfiguration` found another installation's configuration. */
export function isElsewhere({ configDir }: Pick<Paths, 'configDir'>): string {
  const own = quote(configDir);
  return `! { [ "$__cw_c" = ${own} ] || [ "$__cw_c" -ef ${own} ]; }`;
}

/**
 * Returns commands that append a run to the audit log.
 * @param entry the run; its `command` is a shell word
 * @param otherwise command to run if the log is not a writable regular file, or date(1) gives no milliseconds
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
