// Runs a shimmed command with accounts, or the original unchanged. A named account is used, or nothing runs.
import { existsSync } from 'node:fs';
import { reason } from '../../daemon/core/errors.ts';
import type { Context, End } from '../context.ts';
import { type Why, writeAudit } from '../store/audit.ts';
import { hiddenPaths, type Paths } from '../store/paths.ts';
import { hadAccounts, type Plan, readLastPlan } from '../store/plan.ts';
import { readState } from '../store/state.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { chooseAccount, isNested, namedAccount, rulingFor } from './accounts/select-account.ts';
import { failover } from './failover.ts';
import { readInvocation } from './invocation.ts';
import { loadPlan } from './load-plan.ts';
import { passThrough } from './original.ts';
import { isCommandIn } from './rules/classify.ts';

/** Codes of errors for what the user asked for and can't have. */
const REFUSALS = ['unknown-account', 'directory-broken', 'no-default', 'other-host', 'own-credential'];

/** A shimmed command on its way to the original. */
interface Command {
  cli: string;
  /** Absolute path of the command that was moved away. */
  original: string;
  args: readonly string[];
  context: Context;
}

/**
 * Runs a shimmed command.
 * @param original absolute path of the command that was moved away
 * @throws WrapError for what the user asked for and can't have (a named account that can't be used); all else runs the
 *   original
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
  try {
    return await runPlan(plan, command);
  } catch (error) {
    if (error instanceof WrapError && REFUSALS.includes(error.code))
      audit(command, { outcome: 'refused', why: error.code }, plan);
    throw error;
  }
}

async function runPlan(plan: Plan, command: Command): Promise<End> {
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

/** Runs what needs no account. A login of the CLI itself looks like a success, and changes nothing for the commands after it. */
async function runPassthrough(plan: Plan, command: Command, usable: boolean): Promise<End> {
  const { cli, provider } = plan;
  const end = await runOriginal(command, 'passthrough', plan);
  const words = readInvocation(command.args, provider).command;
  if (usable && end.exit === 0 && isCommandIn(words, provider.login_commands)) {
    say(
      `${cli}: this does not change the account of other commands; \`${provider.bin} ${provider.auth_command} use NAME\` does`,
    );
  }
  return end;
}

function hiddenAccounts(hidden: Paths, { env, paths }: Context): WrapError {
  const variable = env.XDG_CONFIG_HOME ? 'XDG_CONFIG_HOME' : 'HOME';
  const problem = `its accounts are in ${hidden.config}, and ${variable} leads to ${paths.configDir}`;
  const hint = `run it with the ${variable} that it was installed with, or name no account`;
  return new WrapError('accounts-hidden', EXIT.config, problem, { hint });
}

/**
 * Runs the original for a person who named no account, because none can be known.
 * @param paths of the installation whose accounts these are
 * @throws WrapError `accounts-unreadable` where one is named
 */
async function withoutAccounts(command: Command, why: Why, problem: unknown, paths: Paths): Promise<End> {
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

function runOriginal(command: Command, why: Why, plan: Plan | undefined, choice?: string): Promise<End> {
  audit(command, { outcome: 'original', why, choice }, plan);
  return passThrough(command.original, command.args, command.context, plan);
}

function audit(
  { cli, args, context }: Command,
  entry: { outcome: 'refused' | 'original'; why: string; choice?: string | undefined },
  plan: Plan | undefined,
) {
  if (plan?.audit === false) return;
  const paths = (!existsSync(context.paths.config) && hiddenPaths(context.env)) || context.paths;
  const command = plan ? (readInvocation(args, plan.provider).command.split(' ')[0] ?? '') : '';
  writeAudit(paths, [{ at: context.now(), cli, command, account: null, ...entry }]);
}
