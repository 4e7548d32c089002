// Stores a plan per CLI, compiled from configuration and catalog into JSON, which saves runs from parsing TOML. Holds no secret.
import { join } from 'node:path';
import { settledStampAt, stampAt } from '../../daemon/core/file-version.ts';
import { readOptional, readText } from '../../daemon/core/files.ts';
import { parseJson } from '../../daemon/core/shape.ts';
import { catalogFiles, updateStateFile } from '../catalog/files.ts';
import type { Provider } from '../catalog/provider.ts';
import type { Account, Capacity, Config, Pool } from './config.ts';
import { hasLogins } from './logins.ts';
import type { Paths } from './paths.ts';

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
