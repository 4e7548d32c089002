// Selects the account that comes first. Shared by a run and by `explain`, so that they can't disagree.

import type { Context, Invocation } from '../../context.ts';
import { EXIT, WrapError } from '../../errors.ts';
import { readText } from '../../store/files.ts';
import type { Plan } from '../../store/plan.ts';
import type { CliState } from '../../store/state.ts';
import { directoryFile } from '../find-up.ts';
import { isCommandIn } from '../rules/classify.ts';
import { USER_PATTERN_MS, withTimeLimit } from '../rules/regex-limit.ts';
import type { Choice } from './candidates.ts';

/**
 * In this order: `CULVERT_WRAP_ACCOUNT`, the account that created a job named in the arguments or kept by the CLI for this
 * command, a trusted directory file, the default.
 * @returns the choice, and what the person should know about one that was not followed
 * @throws WrapError `unknown-account` for a name in `CULVERT_WRAP_ACCOUNT` that can't be used
 */
export async function chooseAccount(
  plan: Plan,
  invocation: Pick<Invocation, 'args' | 'command'>,
  state: Pick<CliState, 'jobs'>,
  context: Pick<Context, 'env' | 'cwd' | 'paths' | 'load'>,
): Promise<{ choice: Choice; notice?: string }> {
  const find = (name: string) => plan.accounts.find(account => account.name === name);
  const pinned = pinnedAccount(plan.cli, context.env.CULVERT_WRAP_ACCOUNT);
  if (pinned) {
    if (find(pinned)?.enabled) return { choice: { by: 'environment', name: pinned } };
    const what = find(pinned) ? 'is disabled' : 'does not exist';
    throw new WrapError(
      'unknown-account',
      EXIT.usage,
      `${plan.cli}: the account "${pinned}" of CULVERT_WRAP_ACCOUNT ${what}`,
      {
        hint:
          plan.accounts.length > 0
            ? `accounts: ${plan.accounts.map(account => account.name).join(', ')}`
            : `${plan.cli} has no accounts; add one, or unset the variable`,
      },
    );
  }
  const named = invocation.args.flatMap(arg => [arg, arg.slice(arg.indexOf('=') + 1)]);
  const job = [...named, ...keptSessions(plan, invocation.command, context.env)]
    .map(id => state.jobs[id])
    .find(found => found && find(found.account)?.enabled);
  if (job) return { choice: { by: 'job', name: job.account } };
  const choice: Choice = { by: 'default' };
  if (!directoryFile(context.cwd)) return { choice };
  const directory = (await context.load()).chooseByDirectory(plan.cli, context.cwd, context.paths);
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

/** The ids of what the CLI opened last, where the command continues with it. */
function keptSessions({ provider, ownPatterns }: Plan, command: string, { HOME = '~' }: NodeJS.ProcessEnv): string[] {
  return provider.session_files
    .filter(({ commands, unless }) => isCommandIn(command, commands) && !isCommandIn(command, unless))
    .flatMap(({ file, pattern }) => {
      try {
        const text = readText(file.replace(/^~(?=\/)/, HOME)) ?? '';
        const find = () => new RegExp(pattern).exec(text)?.[1];
        return (ownPatterns ? withTimeLimit(USER_PATTERN_MS, find, undefined) : find()) ?? [];
      } catch {
        // What can't be read says nothing.
        return [];
      }
    });
}

/**
 * Whether `CULVERT_WRAP_ACCOUNT` names an account without which a CLI must not run. A name alone counts only for the CLIs
 * that have such an account: it may be meant for another one.
 */
export function demandsAccount({ cli, accounts }: Pick<Plan, 'cli' | 'accounts'>, value: string | undefined): boolean {
  const named = pinnedAccount(cli, value);
  return named !== undefined && (namesCli(cli, value) || accounts.some(({ name }) => name === named));
}

/**
 * The account that `CULVERT_WRAP_ACCOUNT` names for a CLI. `team-b` counts for whatever is run; `firecrawl=team-b,npm=ci`
 * for these only.
 */
export function pinnedAccount(cli: string, value: string | undefined): string | undefined {
  const entries = entriesOf(value);
  const own = entries.find(entry => entry.cli === cli);
  return (own ?? entries.find(entry => entry.cli === undefined))?.account || undefined;
}

function namesCli(cli: string, value: string | undefined): boolean {
  return entriesOf(value).some(entry => entry.cli === cli);
}

/** People write blanks around commas and equals signs. */
function entriesOf(value: string | undefined): { cli: string | undefined; account: string }[] {
  return (value ?? '')
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
    .map(entry => {
      const equals = entry.indexOf('=');
      return equals < 0
        ? { cli: undefined, account: entry }
        : { cli: entry.slice(0, equals).trim(), account: entry.slice(equals + 1).trim() };
    });
}

/** The value for the environment of an upstream: what counted for `cli` alone must not reach the CLIs that it starts. */
export function pinForChildren(cli: string, value: string): string {
  return entriesOf(value)
    .map(entry => `${entry.cli ?? cli}=${entry.account}`)
    .join(',');
}
