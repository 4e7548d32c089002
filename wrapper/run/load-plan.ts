// Loads the plan of a CLI: the stored one, or one compiled again when configuration or catalog changed.
import type { Context } from '../context.ts';
import { type Plan, readPlan, stampOf } from '../store/plan.ts';

/**
 * The current plan of one CLI.
 * @throws WrapError as `readConfig`, `loadCatalog` and `providerOf`
 */
export async function loadPlan(cli: string, context: Pick<Context, 'paths' | 'catalog' | 'load'>): Promise<Plan> {
  const stamp = stampOf(context);
  const stored = readPlan(cli, context.paths, stamp);
  if (stored) return stored;
  const { compile, writePlan } = await context.load();
  const plan = compile(cli, context, stamp);
  writePlan(plan, context);
  return plan;
}
