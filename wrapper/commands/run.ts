// Implements `run <tool> -- [args…]`, which runs a tool once as its shim would, for scripts, cron, CI and containers.
import { isExecutable } from '../../daemon/core/files.ts';
import type { Context, End } from '../context.ts';
import { loadPlan } from '../run/invocation.ts';
import { runDirectly } from '../run/run.ts';
import { originalsOf } from '../shims/check.ts';
import { recordIn } from '../shims/shim.ts';
import { findOnPath, foreignShim, readInstalls, shimOf } from '../store/installs.ts';
import type { Plan } from '../store/plan.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/**
 * Runs a tool once with its accounts. A shim of the tool is skipped, so that it does not start another run.
 * @param args the tool's arguments; a first `--` is not one of them
 * @throws WrapError `unknown-cli`, `no-tool`, `original-missing`, `no-account`, and those of a run
 */
export async function runTool(cli: string, args: readonly string[], context: Context): Promise<End> {
  const plan = await loadPlan(cli, context);
  if (plan.provider.programs_only) {
    throw new WrapError('no-tool', EXIT.usage, `${cli} has no tool that could be run`, {
      hint: `programs use its accounts with \`culvert-wrap serve ${cli} -- PROGRAM\``,
    });
  }
  const program = toolOf(plan, context);
  if (program === undefined) {
    const { bin, package: name } = plan.provider;
    throw new WrapError(
      'original-missing',
      EXIT.unavailable,
      `${cli} was not run: there is no command ${bin} on PATH`,
      {
        hint: `install it${name ? ` (npm install -g ${name})` : ''}, or add its directory to PATH`,
      },
    );
  }
  return runDirectly(plan, program, args[0] === '--' ? args.slice(1) : args, context);
}

/**
 * Returns the path of a tool itself: what an installed shim replaces, what PATH finds besides shims, or what the shim of another
 * user's installation replaces.
 */
export function toolOf(
  { cli, provider: { bin } }: Pick<Plan, 'cli' | 'provider'>,
  { paths, env }: Pick<Context, 'paths' | 'env'>,
): string | undefined {
  const search = env.PATH ?? '';
  const installed = readInstalls(paths)[cli];
  // after an upgrade, the tool itself is in the shim's place
  const replaced = installed && shimOf(installed.bin) === cli ? originalsOf(installed).find(isExecutable) : undefined;
  const found = replaced ?? findOnPath(bin, search);
  if (found !== undefined) return found;
  const foreign = foreignShim(bin, search, paths);
  const record = foreign === undefined ? undefined : recordIn(foreign);
  return record && originalsOf(record).find(isExecutable);
}
