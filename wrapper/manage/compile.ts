// Compiles the configuration and the catalog into the plans that runs read.
import { rmSync } from 'node:fs';
import { catalogOf, providerOf } from '../catalog/catalog.ts';
import type { Provider } from '../catalog/provider.ts';
import { accountsOf, Capacity, readConfig } from '../store/config.ts';
import { hasLogins } from '../store/logins.ts';
import {
  type Plan,
  planFile,
  removeStamps,
  type Sources,
  settledStampOf,
  shortcutFile,
  sourceStamps,
  stampOf,
  whoseAccount,
  writeStamps,
} from '../store/plan.ts';
import { readState } from '../store/state.ts';
import { writeAtomic } from '../system/files.ts';
import { parseDuration } from '../system/notation.ts';
import { shortcutFor } from './shortcut.ts';

/**
 * Compiles the plan of one CLI.
 * @param stamp see `stampOf`
 * @throws WrapError those of `readConfig`, `catalogOf` and `providerOf`
 */
export function compile(cli: string, sources: Sources, stamp: string): Plan {
  const config = readConfig(sources.paths.config);
  const entries = catalogOf(sources);
  const provider = providerOf(entries, cli);
  // only a gateway for a provider's own MCP server needs the rules of MCP servers
  const mcp = provider.http?.mcp ? provider.mcp : [];
  const accounts = accountsOf(config, cli);
  return {
    cli,
    stamp,
    // A run needs no probes and no places of stored keys, and reads a smaller plan without them.
    provider: { ...provider, stored: [], mcp, probes: [], probe_env: {}, probe_files: {} },
    // a signed catalog brings patterns whose run time was not measured with this version
    ownPatterns: entries.updated.includes(cli) || (entries.overridden.includes(cli) && mayBacktrack(provider)),
    accounts,
    capacity: config.capacity[cli] ?? Capacity.parse({}),
    ...whoseAccount(provider, config.tools[cli], accounts),
    // a login is on this machine only, and has no credential to recognize it by
    ...(config.pool && !hasLogins(accounts) && { pool: config.pool }),
    audit: config.audit,
    secretTimeoutMs: parseDuration(config.secret_timeout),
  };
}

/**
 * Reports whether a pattern may take exponential or high polynomial time, because it repeats a group or has several open
 * repetitions. Only such patterns get a time limit, which costs time.
 */
function mayBacktrack(provider: Provider): boolean {
  const { rules, job_id, session_id, session_files, http } = provider;
  const patterns = [
    ...(http?.retry.map(({ body }) => body) ?? []),
    ...rules.flatMap(rule => [rule.stderr, rule.stdout, rule.json?.matches]),
    job_id,
    session_id,
    ...session_files.map(({ pattern }) => pattern),
  ].filter(pattern => pattern !== undefined);
  return patterns.some(
    pattern => /\)(?:[*+]|\{\d*,)/.test(pattern) || (pattern.match(/[*+]|\{\d*,\}/g) ?? []).length > 2,
  );
}

/** Writes the plans of these CLIs, after an installation or a change of the configuration. */
export function refreshPlans(clis: Iterable<string>, sources: Sources): void {
  const stamp = settledStampOf(sources);
  for (const cli of clis) writePlan(compile(cli, sources, stamp), sources);
}

/**
 * Stores a plan. The shim tests for a non-empty file, so a CLI without accounts and jobs gets an empty file. A plan is a cache, so
 * a full or read-only disk does not stop a command. The stamps are written last, and only if no source has changed.
 */
export function writePlan(plan: Plan, sources: Sources): void {
  const { paths, catalog } = sources;
  const file = planFile(paths, plan.cli);
  const shortcut = shortcutFile(paths, plan.cli);
  const stamps = sourceStamps(plan.cli, paths, catalog);
  try {
    const { jobs } = readState(paths, plan.cli);
    const text = shortcutFor(plan, paths, stamps, jobs);
    // a job of a removed account must not use the machine's login
    const needed = plan.accounts.length > 0 || Object.keys(jobs).length > 0;
    removeStamps(stamps);
    rmSync(shortcut, { force: true });
    writeAtomic(file, needed ? `${JSON.stringify(plan)}\n` : '');
    if (text !== undefined) writeAtomic(shortcut, text);
    if (stampOf(sources) === plan.stamp) writeStamps(stamps);
    else rmSync(shortcut, { force: true });
  } catch {
    // A missing plan does not stop a command.
  }
}
