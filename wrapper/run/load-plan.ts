// Loads the plan of a CLI: the stored one, or one compiled again when configuration or catalog changed.
import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import { hiddenPaths } from '../store/paths.ts';
import { type Plan, readLastPlan, readPlan, stampOf } from '../store/plan.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/**
 * The current plan of one CLI.
 * @throws WrapError as `readConfig`, `loadCatalog` and `providerOf`; `config-missing` when the file is gone and there were
 *   accounts in it
 */
export async function loadPlan(
  cli: string,
  context: Pick<Context, 'paths' | 'catalog' | 'load' | 'env'>,
): Promise<Plan> {
  const { paths } = context;
  const stamp = stampOf(context);
  const stored = readPlan(cli, paths, stamp);
  if (stored) return stored;
  const { compile, writePlan } = await context.load();
  const plan = compile(cli, context, stamp);
  const configured = existsSync(paths.config);
  if (!configured && (readLastPlan(cli, paths)?.accounts.length ?? 0) > 0) {
    throw new WrapError('config-missing', EXIT.config, `${paths.config} is missing, which held accounts of ${cli}`, {
      hint: `restore it, or run \`culvert-wrap install ${cli}\` to go on without accounts`,
    });
  }
  // another home may be meant to stay empty
  if (configured || !hiddenPaths(context.env)) writePlan(plan, context);
  return plan;
}
