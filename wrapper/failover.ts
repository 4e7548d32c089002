// The failover loop: one account after another until an attempt counts, and only then what was learnt is stored.
import { type Candidate, orderCandidates } from './accounts.ts';
import { type Attempt, attempt } from './attempt.ts';
import { costOf, decide, isLow, totalRemaining } from './capacity.ts';
import { chooseAccount } from './choice.ts';
import { classify, type Rest, type Verdict } from './classify.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { accountEnvironment, callerEnvironment } from './environment.ts';
import { EXIT, WrapError } from './errors.ts';
import type { Invocation } from './invocation.ts';
import { type Journal, startJournal } from './journal.ts';
import type { Plan } from './plan.ts';
import { prepare } from './prepare.ts';
import { type Context, cannotStart, type End, say } from './run.ts';
import { resolveAccount } from './secrets.ts';
import { type CliState, fingerprint, type Resting, readState, updateState } from './state.ts';
import { openStdin, type Stdin } from './stdin.ts';

const QUOTA_REST_MS = 3_600_000;

/**
 * Runs a command with the accounts of the plan.
 * @param stdin without it, descriptor 0
 * @returns how the attempt that counted ended; its output has been written
 * @throws WrapError `unknown-account`, `nothing-left`, `original-missing`
 */
export async function failover(
  plan: Plan,
  original: string,
  invocation: Invocation,
  context: Context,
  stdin?: Stdin,
): Promise<End> {
  const { provider, capacity, cli } = plan;
  const state = readState(context.paths, cli);
  const { choice, notice } = await chooseAccount(plan, invocation.args, state, context);
  if (notice) say(notice);
  const caller = callerEnvironment(context.env);
  await wakeChanged(plan, state, caller);
  const controlled = capacity.policy !== 'execute' || capacity.reserve > 0 || capacity.warn_below !== undefined;
  if (controlled) {
    const { refreshUsage } = await import('./manage.ts');
    await refreshUsage(plan, state, context);
  }
  const cost = costOf(invocation.command, provider, capacity);
  const candidates = orderCandidates(plan.accounts, state, choice, context.now(), { cost, reserve: capacity.reserve });
  const journal = startJournal(plan, invocation, state, context, cost);
  try {
    const decision = decide(candidates, capacity);
    if (decision !== 'execute') {
      const { postpone } = await import('./manage.ts');
      return postpone(decision, plan, invocation, context, journal.add);
    }
    const usable = choice.by === 'job' ? candidates.slice(0, 1) : candidates;
    return await tryInTurn(usable, plan, original, invocation, state, context, journal, stdin);
  } finally {
    journal.store();
    if (controlled) await warnWhenLow(plan, context);
  }
}

async function tryInTurn(
  candidates: readonly Candidate[],
  plan: Plan,
  original: string,
  invocation: Invocation,
  state: CliState,
  context: Context,
  journal: Journal,
  given: Stdin | undefined,
): Promise<End> {
  const { provider } = plan;
  const caller = callerEnvironment(context.env);
  const jobId = invocation.once && provider.job_id ? new RegExp(provider.job_id) : undefined;
  // Without a way to tell whether a job was created, a command that must run once is tried with one account only.
  const replayable = !invocation.once || jobId !== undefined;
  const stdin = given ?? openStdin(invocation.readsStdin && replayable && candidates.length > 1);
  const { signals } = context;
  // With one account nothing is to be learnt from a failure, and the upstream can have all of the caller's descriptors.
  const alone = candidates.length === 1 && plan.capacity.policy === 'execute';
  const skipped: string[] = [];
  let counted: { attempt: Attempt; failure?: string; consequence?: string } | undefined;

  for (const [index, { account }] of candidates.entries()) {
    const next = candidates[index + 1]?.account.name;
    const ready = await makeReady(plan, account, caller, state, context);
    if (!ready.ok) {
      skipped.push(`${account.name}: ${ready.problem}`);
      journal.add({ account: account.name, outcome: 'skipped' });
      say(`${plan.cli}: skipping account "${account.name}": ${ready.problem}`);
      continue;
    }
    if (ready.digest) journal.prepared(ready.digest, state);
    counted?.attempt.dispose();
    if (counted) say(`${counted.failure}; trying "${account.name}"`);
    const started = context.now();
    const result = await attempt({
      program: original,
      args: [...provider.arguments.map(arg => arg.replaceAll('{account}', account.name)), ...invocation.args],
      env: ready.env,
      last: next === undefined || !replayable,
      read: {
        stdout:
          !alone &&
          (jobId !== undefined || provider.rules.some(rule => rule.stdout !== undefined || rule.json !== undefined)),
        stderr: !alone,
      },
      commit: {
        bytes: provider.commit.bytes,
        afterMs: parseDuration(provider.commit.after),
        stderrAfterMs: parseDuration(provider.commit.stderr_after),
      },
      ...(jobId && { jobId }),
      ...(provider.storm && {
        storm: { pattern: new RegExp(provider.storm.stderr, 'm'), afterMs: parseDuration(provider.storm.after) },
      }),
      stdin,
      signals,
    });
    if (result.startError) throw cannotStart(original, result.startError);
    const verdict = verdictOf(result, plan, invocation);
    const session = provider.session_id && new RegExp(provider.session_id).exec(result.stderr)?.[1];
    for (const id of session ? [...result.jobs, session] : result.jobs) journal.job(id, account.name);
    const outcome = {
      account: account.name,
      exit: result.exit,
      signal: result.signal ?? undefined,
      ms: context.now() - started,
    };
    if (verdict.kind === 'success') journal.success(account.name, counted !== undefined, outcome);
    if (verdict.kind === 'final') journal.add({ ...outcome, outcome: 'failed', class: verdict.class });
    if (verdict.kind !== 'retry') {
      counted = { attempt: result };
      break;
    }
    const resting = restingOf(verdict, state, account.name, context.now());
    journal.rest(account.name, resting, ready.credentials, { ...outcome, class: verdict.class });
    const failure = describe(plan.cli, account.name, verdict, resting, context.now());
    counted = { attempt: result, failure, consequence: 'no account is left' };
    if (result.committed || result.jobs.length > 0 || signals.received || !replayable) {
      counted.consequence = `not repeated, because ${whyNotRepeated(result, signals.received)}`;
      break;
    }
  }
  if (!counted) {
    throw new WrapError(
      'nothing-left',
      EXIT.unavailable,
      `${plan.cli}: no account can be used (${skipped.join('; ')})`,
      {
        hint: `see \`${plan.provider.bin} ${plan.provider.auth_command} list\``,
      },
    );
  }
  counted.attempt.release();
  if (context.staysAlive) counted.attempt.dispose();
  if (counted.failure) say(`${counted.failure}; ${counted.consequence}`);
  return { exit: counted.attempt.exit, signal: counted.attempt.signal };
}

type Ready =
  | { ok: true; env: NodeJS.ProcessEnv; credentials: Record<string, string>; digest?: string }
  | { ok: false; problem: string };

/** Resolves an account's credentials and runs its prepare command. */
async function makeReady(
  plan: Plan,
  account: Candidate['account'],
  caller: NodeJS.ProcessEnv,
  state: CliState,
  context: Context,
): Promise<Ready> {
  const { provider } = plan;
  const resolved = await resolveAccount(account, caller, plan.secretTimeoutMs);
  if (!resolved.ok) return resolved;
  const missing = provider.inject.filter(name => !resolved.env[name]);
  if (missing.length > 0) return { ok: false, problem: `it provides no ${missing.join(', ')}` };
  const switched = Object.keys(resolved.env).length + provider.home.length + provider.arguments.length > 0;
  if (!switched && !provider.prepare_command) return { ok: false, problem: 'it provides no credential' };
  const env = accountEnvironment(plan, account, resolved.env, caller, context.paths);
  const prepared = await prepare(provider, { name: account.name, env: resolved.env }, env, state);
  if (!prepared.ok) return prepared;
  return { ok: true, env, credentials: resolved.env, ...(prepared.digest && { digest: prepared.digest }) };
}

/** An account that rests until its credential changes is woken by a new one, before the order is made. */
async function wakeChanged(plan: Plan, state: CliState, caller: NodeJS.ProcessEnv): Promise<void> {
  for (const account of plan.accounts) {
    const resting = state.resting[account.name];
    if (!account.enabled || !resting || resting.until !== null) continue;
    const resolved = await resolveAccount(account, caller, plan.secretTimeoutMs);
    if (resolved.ok && fingerprint(state.salt, resolved.env) !== resting.credential) delete state.resting[account.name];
  }
}

function verdictOf(result: Attempt, plan: Plan, invocation: Invocation): Verdict {
  if (result.signal && !result.storm) return { kind: 'final', class: 'other' };
  const outcome = { ...result, exit: result.storm ? 1 : result.exit, command: invocation.command };
  const verdict = classify(outcome, plan.provider.rules);
  if (!result.storm || verdict.kind === 'retry') return verdict;
  const storm = plan.provider.storm!;
  return {
    kind: 'retry',
    class: storm.class,
    rest: storm.class === 'rate' ? { until: 'elapsed', ms: 60_000 } : { until: 'period' },
    text: 'it went on retrying',
  };
}

function restingOf(verdict: Verdict & { kind: 'retry' }, state: CliState, account: string, now: number): Resting {
  return { class: verdict.class, until: wakingTime(verdict.rest, state.remaining[account]?.resets, now), since: now };
}

function wakingTime(rest: Rest, resets: string | null | undefined, now: number): number | null {
  if (rest.until === 'credential') return null;
  if (rest.until === 'elapsed') return now + rest.ms;
  const end = resets ? Date.parse(resets) : Number.NaN;
  return end > now ? end : now + QUOTA_REST_MS;
}

const CLASS_TEXT = { quota: 'has no quota left', rate: 'is rate limited', auth: 'was refused' } as const;

function describe(
  cli: string,
  account: string,
  verdict: Verdict & { kind: 'retry' },
  resting: Resting,
  now: number,
): string {
  const rest =
    resting.until === null ? 'rests until its credential changes' : `rests ${formatDuration(resting.until - now)}`;
  return `${cli}: account "${account}" ${CLASS_TEXT[verdict.class]} (${verdict.class}, ${rest})`;
}

function whyNotRepeated(result: Attempt, signal: NodeJS.Signals | undefined): string {
  if (signal) return `${signal} arrived`;
  if (result.jobs.length > 0) return `the job ${result.jobs[0]} exists already`;
  return result.committed ? 'part of its output has been passed on' : 'the command must run once only';
}

async function warnWhenLow(plan: Plan, context: Context): Promise<void> {
  const state = readState(context.paths, plan.cli);
  const names = plan.accounts.filter(account => account.enabled).map(account => account.name);
  const total = totalRemaining(names, state);
  if (!isLow(total, plan.capacity, state, context.now())) return;
  say(`${plan.cli}: ${total} left over all accounts, below ${plan.capacity.warn_below}`);
  updateState(context.paths, plan.cli, changed => {
    changed.warnedAt = context.now();
  });
  if (plan.capacity.warn_command) {
    const { runWarning } = await import('./manage.ts');
    runWarning(plan, total ?? 0, context);
  }
}
