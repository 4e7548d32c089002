// Runs a shimmed command with its accounts, or the original unchanged. If a named account can't be used, nothing runs.
import { existsSync } from 'node:fs';
import { reason } from '../../daemon/core/errors.ts';
import type { Context, End } from '../context.ts';
import { type Why, writeAudit } from '../store/audit.ts';
import { hasLogins, isUsual } from '../store/logins.ts';
import { hiddenPaths, type Paths } from '../store/paths.ts';
import { hadAccounts, type Plan, readLastPlan } from '../store/plan.ts';
import { readState } from '../store/state.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { isOn } from '../system/notation.ts';
import { ownChoice } from './accounts/own-choice.ts';
import { makeReady, openCredentials } from './accounts/ready.ts';
import { chooseAccount, isNested, lostDefault, namedAccount, nameOf, rulingFor } from './accounts/select-account.ts';
import { anotherPlace } from './candidates.ts';
import { describeServed } from './choose.ts';
import { failover, namesAccount } from './failover.ts';
import { loadPlan, readInvocation } from './invocation.ts';
import { passThrough } from './original.ts';
import { isCommandIn } from './rules/classify.ts';

/** Codes of errors for an explicit choice that can't be honored. */
const REFUSALS = ['unknown-account', 'directory-broken', 'no-default', 'other-host', 'own-credential'];

/** A shimmed command on its way to the original. */
interface Shimmed {
  cli: string;
  /** Absolute path of the command that was moved away. */
  original: string;
  args: readonly string[];
  context: Context;
}

/**
 * Runs a shimmed command.
 * @param original absolute path of the command that was moved away
 * @throws WrapError for an explicit choice that can't be honored, such as an unusable named account; otherwise the original runs
 */
export async function runShimmed(
  cli: string,
  original: string,
  args: readonly string[],
  context: Context,
): Promise<End> {
  const command = { cli, original, args, context };
  if (await isNested(cli, args, context)) return passThrough(original, args, context);
  const hidden = hiddenPaths(context.env);
  let plan: Plan | undefined;
  let problem: unknown;
  try {
    plan = await loadPlan(cli, context);
  } catch (error) {
    problem = error;
  }
  if (hidden && !plan?.accounts.length && hadAccounts(cli, hidden))
    return withoutAccounts(command, 'hidden', hiddenAccounts(hidden, context), hidden);
  if (!plan) return withoutAccounts(command, 'configuration', problem, context.paths);
  return logged(runPlan(plan, command), plan, command);
}

/**
 * Runs a command that was not called through a shim.
 * @param original absolute path of the tool
 * @throws WrapError `no-account`, and those of `runShimmed`; without an account nothing runs
 */
export async function runDirectly(
  plan: Plan,
  original: string,
  args: readonly string[],
  context: Context,
): Promise<End> {
  const command = { cli: plan.cli, original, args, context };
  if (isOn(context.env.CULVERT_WRAP_BYPASS)) return runOriginal(command, 'bypass', plan);
  if (await isNested(plan.cli, args, context)) return passThrough(original, args, context);
  if (plan.accounts.some(({ enabled }) => enabled) || readInvocation(args, plan.provider).passthrough)
    return logged(runPlan(plan, command), plan, command);
  // a container may have the credential alone, and no configuration
  const own = ownChoice(plan, args, context.env, context.cwd);
  if (own && own.accounts.length > 0 && own.hosts.length === 0) {
    const names = own.accounts.join(', ');
    say(`${plan.cli}: ${names} is given, so the command runs as it is, without an account`);
    return runOriginal(command, 'own-choice', plan, names);
  }
  audit(command, { outcome: 'refused', why: 'no-account' }, plan);
  const what = plan.accounts.length > 0 ? 'no enabled account' : 'no account';
  const remedy = plan.accounts.length > 0 ? 'enable' : 'add';
  throw new WrapError('no-account', EXIT.unavailable, `${plan.cli} has ${what}, so it was not run`, {
    hint: `\`culvert-wrap accounts ${remedy} ${plan.cli} NAME\` ${remedy}s one; CULVERT_WRAP_BYPASS=1 runs it as it is`,
  });
}

/** Logs the refusal of a run. */
async function logged(run: Promise<End>, plan: Plan, command: Shimmed): Promise<End> {
  try {
    return await run;
  } catch (error) {
    if (error instanceof WrapError && REFUSALS.includes(error.code))
      audit(command, { outcome: 'refused', why: error.code }, plan);
    throw error;
  }
}

async function runPlan(plan: Plan, command: Shimmed): Promise<End> {
  const { original, args, context } = command;
  const invocation = readInvocation(args, plan.provider);
  const usable = plan.accounts.some(account => account.enabled);
  if (invocation.passthrough) return runPassthrough(plan, command, usable);
  const ruling = await rulingFor(plan, invocation, context);
  if (ruling) say(ruling.line);
  if (ruling?.runs === 'original') return runOriginal(command, ruling.why, plan, ruling.choice);
  const repl = plan.provider.line_repl;
  const opensRepl = repl && args.length === repl.args.length && args.every((arg, i) => arg === repl.args[i]);
  if (usable && !opensRepl) return failover({ plan, original, invocation, context, ownChoice: ruling?.choice });
  const state = readState(context.paths, plan.cli);
  const { notice, lostSession } = await chooseAccount(plan, invocation, state, context);
  if (usable) return (await context.load()).lineRepl(plan, original, context);
  if (notice) say(notice);
  const cause = lostSession ?? (!notice && plan.accounts.length > 0 && 'all accounts are disabled');
  if (cause) say(`${plan.cli}: ${cause}; running ${plan.cli} without an account`);
  return runOriginal(command, 'no-account', plan);
}

/**
 * Runs a command that needs no account. If the account is a login, the command runs in its directory, so that `auth login` or
 * `mcp add` are about the login that other commands use. Otherwise, says after a login with the CLI itself that they don't use it.
 */
async function runPassthrough(plan: Plan, command: Shimmed, usable: boolean): Promise<End> {
  const { cli, provider } = plan;
  const login = await loginFor(plan, command);
  if (login) {
    audit(command, { outcome: 'original', why: 'passthrough', account: login.name }, plan);
    return passThrough(command.original, command.args, { ...command.context, env: login.env }, plan);
  }
  const end = await runOriginal(command, 'passthrough', plan);
  const words = readInvocation(command.args, provider).command;
  if (usable && end.exit === 0 && isCommandIn(words, provider.login_commands)) {
    say(
      `${cli}: this does not change the account of other commands; \`${provider.bin} ${provider.auth_command} use NAME\` does`,
    );
  }
  return end;
}

/**
 * Returns the login for a command that needs no account, or `undefined` if the account is not a login, or only an option was given.
 * @throws WrapError as `chooseAccount`; `nothing-left` if the login can't be used
 */
async function loginFor(
  plan: Plan,
  { args, context }: Shimmed,
): Promise<{ name: string; env: NodeJS.ProcessEnv } | undefined> {
  const { cli, provider, accounts } = plan;
  const invocation = readInvocation(args, provider);
  if (provider.login?.kind !== 'directory' || !hasLogins(accounts) || invocation.command === '') return undefined;
  const ruling = await rulingFor(plan, invocation, context);
  if (ruling) say(ruling.line);
  if (ruling?.runs === 'original') return undefined;
  const state = readState(context.paths, cli);
  const { choice, notice } = await chooseAccount(plan, invocation, state, context);
  if (notice) say(notice);
  const lost = lostDefault(plan, state, choice);
  if (lost) throw lost;
  const name = nameOf(choice, plan, state);
  const account = accounts.find(each => each.name === name);
  if (account?.login === undefined) return undefined;
  const ready = await makeReady(account, { plan, state, context, credentials: openCredentials(plan, context) });
  if (!ready.ok) {
    throw new WrapError('nothing-left', EXIT.unavailable, `${cli}: account "${account.name}": ${ready.problem}`, {
      hint: anotherPlace(plan),
    });
  }
  if (namesAccount(plan, context)) say(describeServed(cli, account, choice));
  const further = isUsual(provider, account, context.env) ? {} : provider.login.env;
  return { name: account.name, env: { ...ready.environment(), ...further } };
}

function hiddenAccounts(hidden: Paths, { env, paths }: Context): WrapError {
  const variable = env.XDG_CONFIG_HOME ? 'XDG_CONFIG_HOME' : 'HOME';
  const problem = `its accounts are in ${hidden.config}, and ${variable} leads to ${paths.configDir}`;
  const hint = `run it with the ${variable} that it was installed with, or name no account`;
  return new WrapError('accounts-hidden', EXIT.config, problem, { hint });
}

/**
 * Runs the original, because the accounts can't be read.
 * @param paths the paths of the installation that has the accounts
 * @throws WrapError `accounts-unreadable` if the user named an account
 */
async function withoutAccounts(command: Shimmed, why: Why, problem: unknown, paths: Paths): Promise<End> {
  const { cli, args, context } = command;
  const plan = readLastPlan(cli, paths);
  if (plan && readInvocation(args, plan.provider).passthrough) return runOriginal(command, 'passthrough', plan);
  const name = await namedAccount(cli, args, paths, context);
  if (name !== undefined) {
    audit(command, { outcome: 'refused', why }, plan);
    const hint = problem instanceof WrapError ? problem.hint : undefined;
    throw new WrapError('accounts-unreadable', EXIT.config, `${cli}: ${name} can't be used: ${reason(problem)}`, {
      hint: hint ?? 'correct that, or name no account',
      cause: problem,
    });
  }
  say(`${cli}: ${reason(problem)}; running ${cli} without an account`);
  return runOriginal(command, why, plan);
}

function runOriginal(command: Shimmed, why: Why, plan: Plan | undefined, choice?: string): Promise<End> {
  audit(command, { outcome: 'original', why, choice }, plan);
  return passThrough(command.original, command.args, command.context, plan);
}

function audit(
  { cli, args, context }: Shimmed,
  entry: { outcome: 'refused' | 'original'; why: string; choice?: string | undefined; account?: string },
  plan: Plan | undefined,
) {
  if (plan?.audit === false) return;
  const paths = (!existsSync(context.paths.config) && hiddenPaths(context.env)) || context.paths;
  const command = plan ? (readInvocation(args, plan.provider).command.split(' ')[0] ?? '') : '';
  writeAudit(paths, [{ at: context.now(), cli, command, account: null, ...entry }]);
}
