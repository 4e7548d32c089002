// Selects the account to try first, and detects nested runs. A run and `explain` share this, so that they can't disagree.
import { readOptional } from '../../../daemon/core/files.ts';
import type { Context, Invocation } from '../../context.ts';
import { directoryFile, type Paths } from '../../store/paths.ts';
import { hadAccounts, type Plan } from '../../store/plan.ts';
import { innermostRun } from '../../store/secrets.ts';
import { type CliState, effectiveDefault, hasLostDefault, readState } from '../../store/state.ts';
import { EXIT, WrapError } from '../../system/errors.ts';
import { expandHome } from '../../system/notation.ts';
import { anotherPlace, type Choice, isBound } from '../candidates.ts';
import { isCommandIn } from '../rules/classify.ts';
import { USER_PATTERN_MS, withTimeLimit } from '../rules/patterns.ts';
import { knownFor, ownChoice, type Ruling, ruleOn } from './own-choice.ts';

type Place = Pick<Context, 'env' | 'cwd' | 'paths' | 'load'>;

export interface Chosen {
  choice: Choice;
  notice?: string;
  /** Clause about the session that the CLI would continue, if the session's account can't be used. */
  lostSession?: string;
}

/**
 * Chooses the account in this order: `CULVERT_WRAP_ACCOUNT`, the account that created a job in the arguments or a session that the
 * CLI continues, a trusted directory file, the default.
 * The user did not name the session, so another account may run in place of the session's account.
 * @returns the choice, a notice about a choice that was not followed, and the session that is not continued
 * @throws WrapError `unknown-account` for a named account that can't be used, `directory-broken` for a trusted file that
 *   can't be read: a user who named an account never runs as another account
 */
export async function chooseAccount(
  plan: Plan,
  invocation: Pick<Invocation, 'args' | 'command'>,
  state: Pick<CliState, 'jobs'>,
  context: Place,
): Promise<Chosen> {
  const find = (name: string) => plan.accounts.find(account => account.name === name);
  const usable = plan.accounts.some(account => account.enabled);
  const choice: Choice = { by: 'default' };
  const pinned = pinnedAccount(plan.cli, context.env.CULVERT_WRAP_ACCOUNT);
  if (pinned !== undefined) {
    if (find(pinned)?.enabled) return { choice: { by: 'environment', name: pinned } };
    if (usable || demandsAccount(plan, context.env.CULVERT_WRAP_ACCOUNT))
      throw unknownAccount(plan, pinned, 'of CULVERT_WRAP_ACCOUNT');
    return { choice, notice: `${plan.cli} has no enabled account, so "${pinned}" of CULVERT_WRAP_ACCOUNT is not used` };
  }
  const named = jobIn(invocation.args, state);
  if (named && !find(named.account)?.enabled) throw unknownAccount(plan, named.account, `that created ${named.id}`);
  const sessions = keptSessions(plan, invocation.command, context.env).flatMap(id => {
    const account = state.jobs[id]?.account;
    return account === undefined ? [] : { id, account };
  });
  const job = named ?? sessions.find(({ account }) => find(account)?.enabled);
  if (job) return { choice: { by: 'job', name: job.account } };
  const chosen = await chosenByDirectory(plan, context);
  const [lost] = sessions;
  if (!lost) return chosen;
  const lostSession = `the session ${lost.id} belongs to the account "${lost.account}", which ${whyUnusable(plan, lost.account)}`;
  return { ...chosen, lostSession };
}

/**
 * Decides whether the user's own choice or an account counts; `undefined` without such a choice or an enabled account.
 * @throws WrapError as `chooseAccount` and `ruleOn`
 */
export async function rulingFor(
  plan: Plan,
  invocation: Pick<Invocation, 'args' | 'command'>,
  context: Place,
): Promise<Ruling | undefined> {
  if (!plan.accounts.some(({ enabled }) => enabled)) return undefined;
  const any = ownChoice(plan, invocation.args, context.env, context.cwd);
  if (!any) return undefined;
  const state = readState(context.paths, plan.cli);
  const { choice } = await chooseAccount(plan, invocation, state, context);
  const known = knownFor(plan, nameOf(choice, plan, state));
  const own = known === plan ? any : ownChoice(known, invocation.args, context.env, context.cwd);
  return own && ruleOn(own, choice, known);
}

/** Returns the name of the account that comes first. */
export function nameOf(
  choice: Choice,
  { accounts }: Pick<Plan, 'accounts'>,
  state: Pick<CliState, 'default'>,
): string | undefined {
  return choice.by === 'default' ? effectiveDefault(accounts, state) : choice.name;
}

/**
 * Returns the error for a lost default if the user named no account and accounts are not interchangeable, because culvert-wrap must
 * not guess one.
 */
export function lostDefault(plan: Plan, state: Pick<CliState, 'default'>, choice: Choice): WrapError | undefined {
  const { cli, accounts } = plan;
  if (choice.by !== 'default' || !isBound(choice, plan) || !hasLostDefault(accounts, state)) return undefined;
  return new WrapError(
    'no-default',
    EXIT.unavailable,
    `${cli}: its default account is disabled, removed or not known anymore`,
    {
      hint: anotherPlace(plan),
    },
  );
}

/** Returns the account that a trusted directory file names, or the default. */
async function chosenByDirectory(plan: Plan, context: Place): Promise<Chosen> {
  const choice: Choice = { by: 'default' };
  if (!directoryFile(context.cwd)) return { choice };
  const directory = (await context.load()).chooseByDirectory(plan.cli, context.cwd, context.paths);
  switch (directory.kind) {
    case 'none':
      return { choice };
    case 'untrusted':
      return {
        choice,
        ...(plan.accounts.some(({ enabled }) => enabled) && {
          notice: `${directory.file} is not trusted and ignored; look at it, then run \`culvert-wrap trust\``,
        }),
      };
    case 'broken':
      throw new WrapError('directory-broken', EXIT.config, `${directory.file} can't be used: ${directory.why}`, {
        hint: 'correct it and run `culvert-wrap trust`, or run `culvert-wrap distrust`',
      });
    case 'chosen':
      if (plan.accounts.some(({ name, enabled }) => enabled && name === directory.account))
        return { choice: { by: 'directory', name: directory.account } };
      throw unknownAccount(plan, directory.account, `of ${directory.file}`);
  }
}

function whyUnusable({ accounts }: Plan, name: string): string {
  return accounts.some(account => account.name === name) ? 'is disabled' : 'does not exist';
}

function unknownAccount(plan: Plan, name: string, where: string): WrapError {
  const { cli, accounts } = plan;
  const what = `${cli}: the account "${name}" ${where} ${whyUnusable(plan, name)}`;
  return new WrapError('unknown-account', EXIT.usage, what, {
    hint:
      accounts.length > 0
        ? `accounts: ${accounts.map(account => account.name).join(', ')}`
        : `${cli} has no accounts; add one, or name none`,
  });
}

/** Returns the job that the arguments name, as a word or as the value of an option. */
export function jobIn(
  args: readonly string[],
  { jobs }: Pick<CliState, 'jobs'>,
): { id: string; account: string } | undefined {
  const ids = args.flatMap(arg => [arg, arg.slice(arg.indexOf('=') + 1)]);
  const id = ids.find(each => Object.hasOwn(jobs, each));
  return id === undefined ? undefined : { id, account: jobs[id]!.account };
}

/**
 * Describes the account that a command names although its accounts can't be read, or returns `undefined` if it names no account.
 * @param paths paths of the accounts' installation
 */
export async function namedAccount(
  cli: string,
  args: readonly string[],
  paths: Paths,
  { env, cwd, load }: Omit<Place, 'paths'>,
): Promise<string | undefined> {
  const pinned = pinnedAccount(cli, env.CULVERT_WRAP_ACCOUNT);
  if (pinned !== undefined && (namesCli(cli, env.CULVERT_WRAP_ACCOUNT) || hadAccounts(cli, paths)))
    return `the account "${pinned}" of CULVERT_WRAP_ACCOUNT`;
  const job = jobIn(args, readState(paths, cli));
  if (job) return `the account "${job.account}" that created ${job.id}`;
  if (!directoryFile(cwd)) return undefined;
  const directory = (await load()).chooseByDirectory(cli, cwd, paths);
  if (directory.kind === 'chosen') return `the account "${directory.account}" of ${directory.file}`;
  return directory.kind === 'broken' ? `the account that ${directory.file} names` : undefined;
}

/** Reports whether another run of this CLI started it, and no other account was named since. */
export async function isNested(
  cli: string,
  args: readonly string[],
  { env, cwd, paths, load }: Pick<Context, 'env' | 'cwd' | 'paths' | 'load'>,
): Promise<boolean> {
  const run = innermostRun(env, cli);
  if (!run) return false;
  const { account } = run;
  const pinned = pinnedAccount(cli, env.CULVERT_WRAP_ACCOUNT);
  if (pinned !== undefined) return pinned === account;
  const job = jobIn(args, readState(paths, cli));
  if (job) return job.account === account;
  const file = directoryFile(cwd);
  // After a failure, the outer run may use a different account than the directory's.
  if (file === undefined || encodeURIComponent(file) === run.file) return true;
  const directory = (await load()).chooseByDirectory(cli, cwd, paths);
  return directory.kind === 'chosen' ? directory.account === account : directory.kind !== 'broken';
}

/** Returns the ids of the CLI's last sessions, if the command continues them. */
function keptSessions({ provider, ownPatterns }: Plan, command: string, env: NodeJS.ProcessEnv): string[] {
  return provider.session_files
    .filter(({ commands, unless }) => isCommandIn(command, commands) && !isCommandIn(command, unless))
    .flatMap(({ file, pattern }) => {
      try {
        const text = readOptional(expandHome(file, env)) ?? '';
        const find = () => new RegExp(pattern).exec(text)?.[1];
        return (ownPatterns ? withTimeLimit(USER_PATTERN_MS, find, undefined) : find()) ?? [];
      } catch {
        // An unreadable file names no account.
        return [];
      }
    });
}

/**
 * Reports whether `CULVERT_WRAP_ACCOUNT` names an account that a CLI must run with. A name alone may be meant for another CLI, so
 * it counts only for CLIs that have this account.
 */
export function demandsAccount({ cli, accounts }: Pick<Plan, 'cli' | 'accounts'>, value: string | undefined): boolean {
  const named = pinnedAccount(cli, value);
  return named !== undefined && (namesCli(cli, value) || accounts.some(({ name }) => name === named));
}

/**
 * Returns the account that `CULVERT_WRAP_ACCOUNT` names for a CLI. `team-b` counts for every CLI; `firecrawl=team-b,npm=ci` counts
 * for these two only. An empty name, as in `npm=$UNSET`, matches no account.
 */
export function pinnedAccount(cli: string, value: string | undefined): string | undefined {
  const entries = entriesOf(value);
  const own = entries.find(entry => entry.cli === cli);
  return (own ?? entries.find(entry => entry.cli === undefined))?.account;
}

function namesCli(cli: string, value: string | undefined): boolean {
  return entriesOf(value).some(entry => entry.cli === cli);
}

/** Parses `CULVERT_WRAP_ACCOUNT`. People write blanks around commas and equals signs. */
function entriesOf(value: string | undefined): { cli: string | undefined; account: string }[] {
  return (value ?? '')
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
    .map(entry => {
      const equals = entry.indexOf('=');
      return equals < 0
        ? { cli: undefined, account: entry }
        : { cli: entry.slice(0, equals).trim() || undefined, account: entry.slice(equals + 1).trim() };
    });
}

/**
 * Returns `CULVERT_WRAP_ACCOUNT` for an upstream: limits a name without a CLI to `cli`, because it is not meant for the
 * CLIs that the upstream starts.
 * @param used the account that the upstream runs with, which may differ after a failure
 */
export function pinForChildren(cli: string, value: string, used?: string): string {
  return entriesOf(value)
    .map(entry => ({ ...entry, cli: entry.cli ?? cli }))
    .map(entry => `${entry.cli}=${entry.cli === cli ? (used ?? entry.account) : entry.account}`)
    .join(',');
}
