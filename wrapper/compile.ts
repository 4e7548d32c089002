// Compiles configuration and catalog into plans.
import { loadCatalog, providerOf } from './catalog.ts';
import { Capacity, readConfig } from './config.ts';
import { parseDuration } from './duration.ts';
import { type Plan, type Sources, stampOf, writePlan } from './plan.ts';

/**
 * The plan of one CLI.
 * @param stamp see `stampOf`
 * @throws WrapError as `readConfig`, `loadCatalog` and `providerOf`
 */
export function compile(cli: string, { paths, catalog }: Sources, stamp: string): Plan {
  const config = readConfig(paths.config);
  return {
    cli,
    stamp,
    // A run needs no probes, and reads less without them.
    provider: { ...providerOf(loadCatalog(catalog, paths.userCatalog), cli), probes: [], probe_env: {} },
    accounts: config.accounts.filter(account => account.cli === cli),
    capacity: config.capacity[cli] ?? Capacity.parse({}),
    audit: config.audit,
    secretTimeoutMs: parseDuration(config.secret_timeout),
  };
}

/** Writes the plans of these CLIs, after an installation or a change of the configuration. */
export function refreshPlans(clis: Iterable<string>, sources: Sources): void {
  const stamp = stampOf(sources);
  for (const cli of clis) writePlan(compile(cli, sources, stamp), sources.paths);
}
