// Configuration and catalog compiled per CLI, so that a shim's run reads one JSON file and no TOML. Holds no secret.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Provider } from './catalog.ts';
import type { Account, Capacity } from './config.ts';
import type { Paths } from './paths.ts';
import { readText, writeAtomic } from './store.ts';

export interface Plan {
  cli: string;
  /** Identifies the files it was made from; see `stampOf`. */
  stamp: string;
  provider: Provider;
  /** In the order of the configuration, disabled ones included. */
  accounts: Account[];
  capacity: Capacity;
  audit: boolean;
  secretTimeoutMs: number;
}

/** Where a plan comes from. */
export interface Sources {
  paths: Paths;
  /** The shipped providers.toml. */
  catalog: string;
}

/**
 * The plan of one CLI, compiled anew when configuration or catalog changed since.
 * @throws WrapError as `readConfig`, `loadCatalog` and `providerOf`
 */
export async function loadPlan(cli: string, sources: Sources): Promise<Plan> {
  const stamp = stampOf(sources);
  const text = readText(planFile(sources.paths, cli));
  if (text) {
    try {
      const plan = JSON.parse(text) as Plan;
      if (plan.stamp === stamp && plan.cli === cli) return plan;
    } catch {
      // A damaged plan is compiled again like an old one.
    }
  }
  const { compile } = await import('./manage.ts');
  const plan = compile(cli, sources, stamp);
  writePlan(plan, sources.paths);
  return plan;
}

export function planFile(paths: Paths, cli: string): string {
  return join(paths.plans, cli);
}

/** The shim tests for a non-empty file, so a CLI without accounts gets an empty one. */
export function writePlan(plan: Plan, paths: Paths): void {
  const text = plan.accounts.length === 0 ? '' : `${JSON.stringify(plan)}\n`;
  try {
    writeAtomic(planFile(paths, plan.cli), text);
  } catch {
    // The plan is a cache: a full or read-only disk must not stop the command.
  }
}

/** Identifies the files a plan is made from. */
export function stampOf({ paths, catalog }: Sources): string {
  return [paths.config, paths.userCatalog, catalog]
    .map(file => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat ? `${stat.mtimeMs}:${stat.size}:${stat.ino}` : '-';
    })
    .join(' ');
}
