// Runs a shimmed command: the original as it is, or with accounts. When in doubt the original runs.
import type { Context, End } from '../context.ts';
import { reason, say } from '../errors.ts';
import type { Plan } from '../store/plan.ts';
import { isNested } from './accounts/environment.ts';
import { demandsAccount } from './accounts/select-account.ts';
import { failover } from './failover.ts';
import { readInvocation } from './invocation.ts';
import { loadPlan } from './load-plan.ts';
import { passThrough } from './pass-through.ts';

/**
 * Runs a shimmed command.
 * @param original absolute path of the command that was moved away
 * @throws WrapError only for what the user asked for and can't have (an unknown account); all else runs the original
 */
export async function run(cli: string, original: string, args: readonly string[], context: Context): Promise<End> {
  const asIs = () => passThrough(original, args, context);
  if (isNested(cli, context.env)) return asIs();
  let plan: Plan;
  try {
    plan = await loadPlan(cli, context);
  } catch (error) {
    say(`${reason(error)}; running ${cli} without an account`);
    return asIs();
  }
  const usable = plan.accounts.some(account => account.enabled);
  if (!usable && !demandsAccount(plan, context.env.CULVERT_WRAP_ACCOUNT)) return asIs();
  const invocation = readInvocation(args, plan.provider);
  const repl = plan.provider.line_repl;
  if (repl && args.length === repl.args.length && args.every((arg, i) => arg === repl.args[i])) {
    const { lineRepl } = await context.load();
    return lineRepl(plan, original, context);
  }
  if (invocation.passthrough || invocation.ownCredential || args.length === 0) return asIs();
  return failover({ plan, original, invocation, context });
}
