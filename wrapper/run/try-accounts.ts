// Tries one account after another until an attempt counts.
import type { Context, Credentials, Invocation, PooledEnd, PooledRun } from '../context.ts';
import { say } from '../errors.ts';
import type { Account } from '../store/config.ts';
import { formatDuration, parseDuration } from '../store/duration.ts';
import type { Plan } from '../store/plan.ts';
import type { CliState, Cooldown } from '../store/state.ts';
import { type Candidate, shareQuota } from './accounts/candidates.ts';
import { claimProbe } from './accounts/probe.ts';
import { makeReady } from './accounts/ready.ts';
import type { Journal } from './journal.ts';
import { cannotStart } from './pass-through.ts';
import type { Cooldown as NamedCooldown, Verdict } from './rules/classify.ts';
import type { Patterns } from './rules/patterns.ts';
import { type Attempt, attempt } from './upstream/attempt.ts';
import type { Stdin } from './upstream/stdin.ts';

const QUOTA_COOLDOWN_MS = 3_600_000;
const QUOTAS_KNOWN_MS = 3_600_000;
const ASK_MS = 2_000;

/** One wrapped command on its way. */
export interface Run {
  plan: Plan;
  original: string;
  invocation: Invocation;
  context: Context;
  state: CliState;
  credentials: Credentials;
  journal: Journal;
  /** Leases each account, and decides which one comes next. */
  pool?: PooledRun | undefined;
  patterns: Patterns;
  stdin: Stdin;
  /** Whether a second attempt is possible at all. */
  repeatable: boolean;
  /** The last attempt must not be shown before it is known how it ended. */
  holdLast: boolean;
  /** What the command is expected to use. */
  cost: number;
  /** An account was named, or created the job: it is tried whatever its state. */
  pinned: boolean;
  /** The command can wait, or be kept, while other runs try accounts after their cooldown. */
  patient?: boolean;
}

/** How the attempts ended. */
export interface Outcome {
  /** The attempt that counts, with its output not yet shown; `undefined` when no account could be used. */
  attempt: Attempt | undefined;
  /** Every account answered with a limit, or is to be waited for, and nothing has been shown or created. */
  exhausted: boolean;
  /** What to tell after the output: which account failed and why it ended there. */
  failure?: string;
  /** What a queued command that failed is worth; see `manage/queue.ts`. */
  kept?: 'limit' | 'other' | 'usage' | 'uncertain';
  /** Accounts that could not be used, with the reason. */
  skipped: string[];
}

type Retry = Verdict & { kind: 'retry' };

/**
 * Tries the candidates in turn.
 * @throws WrapError `original-missing`, `original-unusable`
 */
export async function tryAccounts(candidates: readonly Candidate[], run: Run): Promise<Outcome> {
  const { plan, journal, pool } = run;
  const outcome: Outcome = { attempt: undefined, exhausted: false, skipped: [] };
  const failed: { name: string; class: Retry['class'] }[] = [];
  const first = candidates[0]?.account;
  const isNamed = (account: Account) => run.pinned && account === first;
  // Who can wait does not shorten a cooldown.
  let left = candidates
    .filter(({ account, coolingDown }) => !run.patient || !coolingDown || isNamed(account))
    .map(({ account }) => account);
  let awaited = left.length < candidates.length;
  let asked = false;
  const probedByOthers = new Set<Account>();
  for (;;) {
    const account = pool ? await pool.next(left) : left[0];
    if (!account) break;
    left = left.filter(other => other !== account);
    const { name } = account;
    const shared = failed.find(other => other.class !== 'auth' && shareQuota(other.name, name, run.state));
    if (shared && plan.provider.scope !== 'key') {
      say(`${plan.cli}: account "${name}" has the same quota as "${shared.name}" and is not tried`);
      pool?.settle({ spent: 0 });
      continue;
    }
    if (!pool && !isNamed(account) && !probedByOthers.has(account) && !claimProbe(name, run)) {
      probedByOthers.add(account);
      if (run.patient) awaited = true;
      else left = [...left, account];
      continue;
    }
    const ready = await makeReady(account, run);
    if (!ready.ok) {
      outcome.skipped.push(`${name}: ${ready.problem}`);
      journal.add({ account: name, outcome: 'skipped' });
      pool?.settle({ spent: 0 });
      say(`${plan.cli}: skipping account "${name}": ${ready.problem}`);
      continue;
    }
    if (pool && !(await pool.matches(account, ready.credentials))) {
      left = [account, ...left];
      continue;
    }
    if (ready.digest) journal.prepared(ready.digest, run.state);
    outcome.attempt?.output.dispose();
    if (outcome.failure) say(`${outcome.failure}; trying "${name}"`);
    const started = run.context.now();
    const last = left.length === 0 || !run.repeatable;
    const result = await attempt(
      optionsFor(run, name, { env: ready.env, last, alone: candidates.length === 1 && !pool }),
    );
    if (result.startError) throw cannotStart(run.original, result.startError);
    outcome.attempt = result;
    delete outcome.failure;
    const verdict = run.patterns.verdictOf(result);
    const session = run.patterns.sessionOf(result.output.stderr);
    for (const id of session ? [...result.output.jobs, session] : result.output.jobs) journal.job(id, name);
    const ended = {
      account: name,
      exit: result.exit,
      signal: result.signal ?? undefined,
      ms: run.context.now() - started,
    };
    if (verdict.kind === 'success') journal.success(name, failed.length > 0, started, ended);
    if (verdict.kind === 'final') {
      journal.add({ ...ended, outcome: 'failed', class: verdict.class });
      outcome.kept = verdict.class === 'usage' ? 'usage' : mayHaveRun(result, run) ? 'uncertain' : 'other';
    }
    pool?.settle(pooledEnd(verdict, run));
    if (verdict.kind !== 'retry') return outcome;
    if (verdict.class !== 'auth' && left.length > 0 && !pool && !asked) {
      asked = true;
      await learnQuotas([account, ...left], run);
    }
    const cooldown = cooldownFor(verdict, run.state, name, run.context.now());
    journal.coolDown(name, cooldown, ready.credentials, { ...ended, class: verdict.class });
    if (isLimitOfAddress(verdict, run)) journal.coolDownOthers(name, cooldown);
    failed.push({ name, class: verdict.class });
    outcome.failure = describeFailure(run, name, verdict, cooldown);
    const obstacle = whyNotRepeated(result, verdict, run);
    if (obstacle) {
      outcome.failure += `; not repeated, because ${obstacle}`;
      outcome.kept = mayHaveRun(result, run, verdict.class) ? 'uncertain' : 'limit';
      return outcome;
    }
  }
  outcome.kept = 'limit';
  if (outcome.failure) outcome.failure += `; no account is left${unusedAccounts(plan)}`;
  outcome.exhausted = awaited || failed.some(({ class: failure }) => failure !== 'auth');
  return outcome;
}

/**
 * Several keys may draw on one quota: that is asked before the next one is tried, unless it was within the hour. The answer
 * also says when a used-up quota starts again. Nobody waits long for it.
 */
async function learnQuotas(accounts: readonly Account[], { plan, state, context, credentials }: Run): Promise<void> {
  const { scope, usage } = plan.provider;
  if (scope === 'key' || scope === 'ip' || !(usage?.identity ?? usage?.moment)) return;
  const oldest = context.now() - QUOTAS_KNOWN_MS;
  if (accounts.every(({ name }) => (state.remaining[name]?.at ?? 0) > oldest)) return;
  const { refreshUsage } = await context.load();
  await Promise.race([
    refreshUsage(plan, state, context, { credentials }).catch(() => {}),
    new Promise(resolve => setTimeout(resolve, ASK_MS).unref()),
  ]);
}

function optionsFor(
  { plan, original, invocation, context, patterns, stdin, holdLast }: Run,
  account: string,
  { env, last, alone }: { env: NodeJS.ProcessEnv; last: boolean; alone: boolean },
): Parameters<typeof attempt>[0] {
  const { provider } = plan;
  // With one account of its own nothing is learned from a failure, and the upstream can have the caller's own descriptors.
  const unread = alone && !holdLast;
  return {
    program: original,
    args: [...provider.arguments.map(arg => arg.replaceAll('{account}', account)), ...invocation.args],
    env,
    last: last && !holdLast,
    read: {
      stdout:
        !unread &&
        ((invocation.once && provider.job_id !== undefined) ||
          provider.rules.some(rule => rule.stdout !== undefined || rule.json !== undefined)),
      stderr: !unread,
    },
    machineReadable: invocation.machineReadable,
    commit: {
      bytes: provider.commit.bytes,
      afterMs: parseDuration(provider.commit.after),
      stderrAfterMs: parseDuration(provider.commit.stderr_after),
    },
    patterns,
    storm: patterns.storm,
    stdin,
    signals: context.signals,
  };
}

/** What the pool learns. A limit of this network address says nothing about the account on other machines. */
function pooledEnd(verdict: Verdict, { plan, cost }: Run): PooledEnd {
  if (verdict.kind === 'success') return { spent: cost };
  // whether a failed command was charged is not known
  if (verdict.kind === 'final') return { spent: verdict.class === 'usage' ? 0 : cost };
  if (isLimitOfAddress(verdict, { plan })) return { spent: 0 };
  return { spent: 0, cooldown: { class: verdict.class, rest: verdict.rest } };
}

/** Another account would meet the same limit. */
function isLimitOfAddress(verdict: Retry, { plan }: Pick<Run, 'plan'>): boolean {
  return verdict.class !== 'auth' && (verdict.scope ?? plan.provider.scope) === 'ip';
}

function cooldownFor(verdict: Retry, state: CliState, account: string, now: number): Cooldown {
  return {
    class: verdict.class,
    until: cooldownUntil(verdict.rest, state.remaining[account]?.resets, now),
    since: now,
  };
}

/** In milliseconds since the epoch, or `null` until the credential changes. */
function cooldownUntil(rest: NamedCooldown, resets: string | null | undefined, now: number): number | null {
  if (rest.until === 'credential') return null;
  if (rest.until === 'elapsed') return now + rest.ms;
  if (rest.until === 'time' && rest.at > now) return rest.at;
  const end = resets ? Date.parse(resets) : Number.NaN;
  return end > now ? end : now + QUOTA_COOLDOWN_MS;
}

const CLASS_TEXT = { quota: 'has no quota left', rate: 'is rate limited', auth: 'was refused' } as const;

function describeFailure({ plan, context }: Run, account: string, verdict: Retry, cooldown: Cooldown): string {
  const rest =
    cooldown.until === null
      ? 'rests until its credential changes'
      : `rests ${formatDuration(cooldown.until - context.now())}`;
  return `${plan.cli}: account "${account}" ${CLASS_TEXT[verdict.class]} (${verdict.class}, ${rest})`;
}

/**
 * Whether a command that must run once may have done its work although it failed. Without a known reason it may: the
 * answer to the request that created the job can be lost.
 */
function mayHaveRun({ output }: Attempt, { invocation, repeatable }: Run, failure?: Retry['class']): boolean {
  if (output.jobs.length > 0 || !repeatable) return true;
  return failure === undefined ? invocation.once : invocation.silentJob.includes(failure);
}

function whyNotRepeated({ output }: Attempt, verdict: Retry, run: Run): string | undefined {
  const { context, plan, invocation, stdin } = run;
  if (context.signals.received) return `${context.signals.received} arrived`;
  if (output.jobs.length > 0) return `the job ${output.jobs[0]} exists already`;
  if (output.committed) return 'part of its output has been passed on';
  if (!run.repeatable) return 'the command must run once only';
  if (invocation.silentJob.includes(verdict.class)) {
    const options = plan.provider.silent_jobs.flatMap(job => job.unless);
    return `it may have created a job without printing its id${options.length > 0 ? ` (${options.join(' or ')} shows it)` : ''}`;
  }
  if (isLimitOfAddress(verdict, run)) {
    return 'the limit is one of this network address, not of the account';
  }
  return stdin.canRepeat() ? undefined : 'its standard input could not be kept';
}

/** A person whose last account failed may have forgotten about a disabled one. */
function unusedAccounts(plan: Plan): string {
  const names = plan.accounts.filter(account => !account.enabled).map(account => `"${account.name}"`);
  return names.length > 0 ? ` (disabled: ${names.join(', ')})` : '';
}
