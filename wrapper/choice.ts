// Which account goes first, and on whose word: shared by a run and by `explain`, so that they can't disagree.
import type { Choice } from './accounts.ts';
import { EXIT, WrapError } from './errors.ts';
import type { Plan } from './plan.ts';
import type { Context } from './run.ts';
import type { CliState } from './state.ts';
import { directoryFile } from './upwards.ts';

/**
 * In this order: `CULVERT_WRAP_ACCOUNT`, the account that created a job named in the arguments, a trusted directory
 * file, the default.
 * @returns the choice, and what the person should know about one that was not followed
 * @throws WrapError `unknown-account` for a name in `CULVERT_WRAP_ACCOUNT` that can't be used
 */
export async function chooseAccount(
  plan: Plan,
  args: readonly string[],
  state: Pick<CliState, 'jobs'>,
  context: Pick<Context, 'env' | 'cwd' | 'paths'>,
): Promise<{ choice: Choice; notice?: string }> {
  const find = (name: string) => plan.accounts.find(account => account.name === name);
  const named = context.env.CULVERT_WRAP_ACCOUNT;
  if (named) {
    if (find(named)?.enabled) return { choice: { by: 'environment', name: named } };
    const what = find(named) ? 'is disabled' : 'does not exist';
    throw new WrapError(
      'unknown-account',
      EXIT.usage,
      `${plan.cli}: the account "${named}" of CULVERT_WRAP_ACCOUNT ${what}`,
      { hint: `accounts: ${plan.accounts.map(account => account.name).join(', ')}` },
    );
  }
  const job = args
    .flatMap(arg => [arg, arg.slice(arg.indexOf('=') + 1)])
    .map(arg => state.jobs[arg])
    .find(found => found && find(found.account)?.enabled);
  if (job) return { choice: { by: 'job', name: job.account } };
  const choice: Choice = { by: 'default' };
  if (!directoryFile(context.cwd)) return { choice };
  const directory = (await import('./manage.ts')).chooseByDirectory(plan.cli, context.cwd, context.paths);
  switch (directory.kind) {
    case 'none':
      return { choice };
    case 'untrusted':
      return {
        choice,
        notice: `${directory.file} is not trusted and ignored; look at it, then run \`culvert-wrap trust\``,
      };
    case 'broken':
      return { choice, notice: `${directory.file} is ignored: ${directory.why}` };
    case 'chosen':
      if (find(directory.account)?.enabled) return { choice: { by: 'directory', name: directory.account } };
      return {
        choice,
        notice: `${directory.file} is ignored: ${plan.cli} has no enabled account "${directory.account}"`,
      };
  }
}
