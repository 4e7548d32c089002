// Implements `explain <cli> [args]`, which describes what a command would do, and why, without running it.
import type { Rule } from '../catalog/provider.ts';
import type { Context, Invocation } from '../context.ts';
import { describeAddress } from '../pool/address.ts';
import { knownFor, namesIn, ownChoice, type Ruling, ruleOn } from '../run/accounts/own-choice.ts';
import { type Chosen, chooseAccount, lostDefault, nameOf } from '../run/accounts/select-account.ts';
import {
  type Candidate,
  type Choice,
  costOf,
  isAvailable,
  isBound,
  orderCandidates,
  staysInPlace,
} from '../run/candidates.ts';
import { loadPlan, readInvocation } from '../run/invocation.ts';
import { isCommandIn } from '../run/rules/classify.ts';
import { describePause } from '../store/describe.ts';
import { findOnPath, readInstalls } from '../store/installs.ts';
import { hasLogins } from '../store/logins.ts';
import type { Plan } from '../store/plan.ts';
import { describeSource } from '../store/secrets.ts';
import { type CliState, readState } from '../store/state.ts';
import { WrapError } from '../system/errors.ts';
import { emit, pauseText, wrapped } from './print.ts';

export interface ExplainOptions {
  json?: boolean;
  /** Show the rules as the catalog writes them. */
  verbose?: boolean;
}

/** Prints the meaning of a command line, the order of its accounts, and the failures that lead to another account. */
export async function explain(
  cli: string,
  args: readonly string[],
  options: ExplainOptions,
  context: Context,
): Promise<void> {
  const plan = await loadPlan(cli, context);
  const { provider, capacity } = plan;
  const invocation = readInvocation(args, provider);
  const installed = readInstalls(context.paths)[cli];
  const state = readState(context.paths, cli);
  const { choice, notice, lostSession } = await chosenFor(plan, invocation, state, context);
  const error = invocation.passthrough ? undefined : lostDefault(plan, state, choice);
  const lost = error && `nothing runs: ${error.message.slice(cli.length + 2)}; ${error.hint}`;
  const known = knownFor(plan, nameOf(choice, plan, state));
  const ruling = rulingIn(known, invocation, choice, context);
  const cost = costOf(invocation.command, provider, capacity);
  const sharedQuota = provider.scope !== 'key';
  const onlyChosen = isBound(choice, plan);
  const order = { now: context.now(), cost, capacity, sharedQuota, onlyChosen };
  const candidates = orderCandidates(plan.accounts, state, choice, order);
  const accounts = candidates.map(({ account, why, paused, spent }) => ({
    name: account.name,
    why,
    paused: paused ? describePause(state.paused[account.name], context.now()) : null,
    spent,
    sources: Object.fromEntries(Object.entries(account.env).map(([name, source]) => [name, describeSource(source)])),
    login: account.login ?? null,
  }));
  const rules = provider.rules.filter(rule => !rule.commands || isCommandIn(invocation.command, rule.commands));
  const report = {
    cli,
    command: invocation.command,
    how: ruling?.runs === 'original' ? ruling.how : (lost ?? describeRun(plan, invocation, candidates)),
    choice: ruling ? { names: ruling.choice, counts: ruling.runs === 'original', why: ruling.why } : null,
    shim: installed?.bin ?? null,
    original: installed?.original ?? findOnPath(provider.bin, context.env.PATH ?? '') ?? null,
    readsStdin: invocation.readsStdin,
    cost,
    pool: plan.pool ? describeAddress(plan.pool.url) : null,
    accounts,
    rules,
    notice: [notice, lostSession, ruling?.runs === 'accounts' && ruling.how].filter(Boolean).join('; ') || null,
    terms: provider.terms_note ?? null,
    termsUrl: provider.terms_url ?? null,
  };
  const lines = [
    `${cli} ${args.join(' ')}`.trim(),
    `  runs      ${report.how}`,
    `  shim      ${report.shim ?? 'not installed'}`,
    `  original  ${report.original ?? 'not found'}`,
    ...accounts.map((account, index) => {
      const pause = account.paused ? `, paused ${pauseText(account.paused)}` : '';
      const login = account.login === null ? '' : `, login in ${account.login}`;
      return `  ${String(index + 1).padStart(2)}. ${account.name}: ${account.why}${login}${pause}${account.spent ? ', nothing left' : ''}`;
    }),
    ...(report.pool
      ? [`  pool      ${report.pool} chooses among these; \`culvert-wrap pool status\` shows what it knows`]
      : []),
    ...(options.verbose ? rules.map(ruleText) : [`  moves on  ${onlyChosen ? neverText(plan) : summaryOf(rules)}`]),
    ...(report.notice ? [`  note      ${report.notice}`] : []),
    ...(provider.terms_note ? [`  terms     ${provider.terms_note}`] : []),
    ...(provider.terms_url
      ? [`            ${provider.terms_url}, read ${provider.terms_read ?? 'at no known date'}`]
      : []),
  ];
  emit(options.json, report, lines.map(line => wrapped(line, 12)).join('\n'));
}

/** Chooses an account as a run does. A passthrough command needs none, so an invalid account name doesn't matter. */
async function chosenFor(plan: Plan, invocation: Invocation, state: CliState, context: Context): Promise<Chosen> {
  const choice: Choice = { by: 'default' };
  if (invocation.passthrough && (!hasLogins(plan.accounts) || invocation.command === '')) return { choice };
  return chooseAccount(plan, invocation, state, context);
}

/** Decides between the accounts and a choice that the user made without culvert-wrap. */
function rulingIn(
  plan: Plan,
  { args, passthrough }: Invocation,
  choice: Choice,
  { env, cwd }: Pick<Context, 'env' | 'cwd'>,
): (Omit<Ruling, 'line'> & { how: string }) | undefined {
  if (passthrough || !plan.accounts.some(({ enabled }) => enabled)) return undefined;
  const own = ownChoice(plan, args, env, cwd);
  if (!own) return undefined;
  try {
    const { line, ...ruling } = ruleOn(own, choice, plan);
    return { ...ruling, how: line.slice(plan.cli.length + 2) };
  } catch (error) {
    if (!(error instanceof WrapError)) throw error;
    const how = `nothing runs: ${error.message.slice(plan.cli.length + 2)}`;
    return { runs: 'original', why: own.fixed?.why ?? 'own-choice', choice: namesIn(own), how };
  }
}

function neverText(plan: Plan): string {
  if (hasLogins(plan.accounts)) return 'never: another login is used only when you choose it';
  return staysInPlace(plan)
    ? `never: another account holds other projects ([tools.${plan.cli}] failover = true changes that)`
    : 'never: another account is used only when it is named';
}

function describeRun(plan: Plan, invocation: Invocation, candidates: readonly Candidate[]): string {
  const { provider, capacity } = plan;
  if (candidates.length === 0) return 'no account: the original runs unchanged';
  const isLogin = provider.login?.kind === 'directory' && candidates[0]?.account.login !== undefined;
  if (invocation.passthrough && isLogin && invocation.command !== '') return 'in the directory of the login';
  if (invocation.passthrough) return 'passthrough: the original runs as it is, without an account';
  if (!plan.pool && capacity.policy !== 'execute' && !isAvailable(candidates))
    return `nothing is left: ${capacity.policy}`;
  if (hasLogins(plan.accounts)) return 'with one account only: another login is never tried by itself';
  if (staysInPlace(plan)) return 'with one account only: another account holds other projects';
  if (provider.accounts === 'one-per-person') return 'with one account only: the terms do not allow automatic failover';
  if (!invocation.once) return 'with failover';
  if (!provider.job_id) return 'with the first account only: the command must run once';
  if (invocation.silentJob.length === 0) return 'with failover until a job has been created';
  return invocation.silentJob.length === 3
    ? 'with the first account only: it creates a job without printing its id'
    : `with failover, but not after ${invocation.silentJob.join(' or ')}: a job may exist without a printed id`;
}

const CLASS_WORDS = { quota: 'a used-up quota', rate: 'a rate limit', auth: 'a refused credential' } as const;

function summaryOf(rules: readonly Rule[]): string {
  const classes = (['quota', 'rate', 'auth'] as const).filter(name => rules.some(rule => rule.class === name));
  return classes.length === 0
    ? 'never: the catalog has no rule for this command'
    : `after ${classes.map(name => CLASS_WORDS[name]).join(', ')} (--verbose shows the rules)`;
}

function ruleText(rule: Rule): string {
  const conditions = [
    `exit ${rule.exit?.join('/') ?? 'not 0'}`,
    ...(rule.stderr ? [`stderr ${rule.stderr}`] : []),
    ...(rule.stdout ? [`stdout ${rule.stdout}`] : []),
    ...(rule.json ? [`${rule.json.path} in JSON ${rule.json.matches}`] : []),
  ];
  return `  ${rule.class.padEnd(6)} ${conditions.join(', ')}`;
}
