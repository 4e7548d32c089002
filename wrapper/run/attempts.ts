// Runs the upstream with one account after another until an attempt counts.
import { isatty } from 'node:tty';
import type { Context, Credentials, Invocation, LeaseEnd, Leases } from '../context.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import type { CliState } from '../store/state.ts';
import { parseDuration } from '../system/duration.ts';
import { say } from '../system/errors.ts';
import { makeReady, type Ready } from './accounts/ready.ts';
import { anotherPlace, type Candidate, endsWhenRefused, staysInPlace } from './choose/candidates.ts';
import { afterReturning, afterTaking, begin, type Failure, type Next, next } from './choose/choose.ts';
import {
  describeFailure,
  describeSelected,
  earlierPause,
  isLimitOfAddress,
  obstacleTo,
  pauseFor,
  type Retry,
  withinReason,
} from './choose/failures.ts';
import type { Ended, Journal } from './journal.ts';
import { cannotStart } from './pass-through.ts';
import type { Verdict } from './rules/classify.ts';
import type { Patterns } from './rules/patterns.ts';
import { type Attempt, attempt } from './upstream/attempt.ts';
import type { Stdin } from './upstream/stdin.ts';
import { describeTooLarge, leftDespite } from './what-is-left.ts';

/** One wrapped command on its way. */
export interface Run {
  plan: Plan;
  original: string;
  invocation: Invocation;
  context: Context;
  state: CliState;
  credentials: Credentials;
  journal: Journal;
  /** Decides which account comes next. */
  leases: Leases;
  patterns: Patterns;
  stdin: Stdin;
  /** A second attempt is possible at all. */
  repeatable: boolean;
  /** The last attempt must not be shown before it is known how it ended. */
  holdLast: boolean;
  /** Units that the command is expected to use. */
  cost: number;
  /** The account that was named, or created the job: it is tried whatever its state, and no other one before it. */
  pinned: string | undefined;
  /** Whose session is not continued, until the account that runs in its place has been named. */
  lostSession: string | undefined;
  /** The command can wait, or be kept, while other runs try accounts after their pause. */
  patient?: boolean;
}

/** Result of the attempts. */
export interface Outcome {
  /** The attempt that counts, with its output not yet shown; `undefined` when no account could be used. */
  attempt: Attempt | undefined;
  /** Every account answered with a limit, or is to be waited for, and nothing has been shown or created. */
  exhausted: boolean;
  /** The sentence after the output: which account failed and why it ended there. */
  failure?: string;
  /** Reason for keeping a failed command in the queue; see `manage/queue.ts`. */
  kept?: 'limit' | 'other' | 'usage' | 'uncertain';
  /** Accounts that could not be used, with the reason. */
  skipped: string[];
  /** The provider refused the account or its quota is used up, and another one would be another set of things. */
  refused?: boolean;
}

/**
 * Tries the candidates in turn.
 * @throws WrapError `original-missing`, `original-unusable`
 */
export async function runAttempts(candidates: readonly Candidate[], run: Run): Promise<Outcome> {
  const { plan, leases, state, pinned, patient = false } = run;
  const outcome: Outcome = { attempt: undefined, exhausted: false, skipped: [] };
  const several = plan.accounts.filter(account => account.enabled).length > 1;
  const isAlone = candidates.length === 1 && !leases.isShared && !(several && staysInPlace(plan));
  let choosing = begin(candidates, {
    patient,
    pinned: pinned !== undefined,
    sharesQuota: plan.provider.scope !== 'key',
  });
  let failure: Failure | undefined;
  /** An account is paused, so that the one that takes over becomes the default. */
  let hasPaused = false;
  for (;;) {
    const following = next(choosing, state, failure);
    failure = undefined;
    for (const { account, sameAs } of following.spared) {
      say(`${plan.cli}: account "${account}" has the same quota as "${sameAs}" and is not tried`);
    }
    if (following.kind === 'end') return ended(outcome, following, plan);
    // Other accounts take over from a named account, but never run in its place.
    const mustUseFirst = pinned !== undefined && outcome.attempt === undefined;
    const accounts = mustUseFirst ? following.accounts.slice(0, 1) : following.accounts;
    const leased = await leases.next(accounts, patient);
    choosing = afterTaking(following.choosing, accounts, leased);
    const { account } = leased;
    const ready = account && (await readyOrSkipped(account, outcome, run));
    if (!ready && mustUseFirst) return outcome;
    if (!ready) continue;
    if (!(await leases.matches(ready.credentials))) {
      choosing = afterReturning(choosing, account);
      continue;
    }
    const last = choosing.left.length === 0 || !run.repeatable;
    if (ready.digest) run.journal.prepared(ready.digest, state);
    outcome.attempt?.output.dispose();
    if (outcome.failure) say(`${outcome.failure}; trying "${account.name}"`);
    delete outcome.failure;
    if (run.lostSession) say(`${plan.cli}: ${run.lostSession}; running with "${account.name}"`);
    run.lostSession = undefined;
    const started = run.context.now();
    const result = await attempt(optionsFor(run, account.name, { env: ready.environment(), last, isAlone }));
    if (result.startError) throw cannotStart(run.original, result.startError);
    outcome.attempt = result;
    const end: Ended = {
      account: account.name,
      exit: result.exit,
      signal: result.signal ?? undefined,
      ms: run.context.now() - started,
    };
    const verdict = await meaningOf(run.patterns.verdictOf(result), ready, run);
    recordJobs(result, account.name, run);
    const left =
      verdict.kind === 'retry'
        ? await leftDespite(verdict, { name: account.name, own: ready.credentials }, run)
        : undefined;
    await leases.settle(left === undefined ? leaseEndOf(verdict, run) : { spent: 0 });
    if (verdict.kind === 'success') run.journal.success(account.name, hasPaused, started, end);
    if (verdict.kind === 'final') {
      run.journal.add({ ...end, outcome: 'failed', class: verdict.class });
      if (verdict.note) outcome.failure = (await run.context.load()).noteText(plan.cli, verdict.note, run.context.env);
      outcome.kept = verdict.class === 'usage' ? 'usage' : mayHaveRun(result, run) ? 'uncertain' : 'other';
    }
    if (verdict.kind !== 'retry') return outcome;
    failure = pauseAfter(account.name, verdict, { end, credentials: ready.credentials, outcome, result, run, left });
    if (outcome.refused && verdict.class === 'auth') {
      const { noteText } = await run.context.load();
      if (verdict.note) outcome.failure = noteText(plan.cli, verdict.note, run.context.env);
      return ended(outcome, { kind: 'end', spared: [], obstacle: undefined, exhausted: false }, plan);
    }
    if (isSelected(plan) && left === undefined)
      outcome.failure = describeSelected(plan.cli, account.name, verdict.class, state.paused[account.name]);
    hasPaused ||= left === undefined;
  }
}

type Usable = Ready & { ok: true };

/** The account made ready, or `undefined` with the reason in the outcome. */
async function readyOrSkipped(account: Account, outcome: Outcome, run: Run): Promise<Usable | undefined> {
  const { name } = account;
  const ready = await makeReady(account, run);
  if (ready.ok) return ready;
  outcome.skipped.push(`${name}: ${ready.problem}`);
  run.journal.add({ account: name, outcome: 'skipped' });
  await run.leases.settle({ spent: 0 });
  if ((run.pinned === undefined && !staysInPlace(run.plan)) || outcome.attempt)
    say(`${run.plan.cli}: skipping account "${name}": ${ready.problem}`);
  return undefined;
}

/** The verdict, or what the provider says where the text of a refusal says too little. */
async function meaningOf(verdict: Verdict, ready: Usable, { plan, context }: Run): Promise<Verdict> {
  if (verdict.kind !== 'retry' || !verdict.check) return verdict;
  const { confirmRefusal } = await context.load();
  return await confirmRefusal(plan, verdict, ready.environment(), context.now());
}

function recordJobs({ output }: Attempt, account: string, { patterns, journal }: Run): void {
  const session = patterns.sessionOf(output.stderr);
  for (const id of session ? [...output.jobs, session] : output.jobs) journal.job(id, account);
}

interface Failed {
  end: Ended;
  credentials: Record<string, string>;
  outcome: Outcome;
  result: Attempt;
  run: Run;
  /** Units that the account has left, where the command only wants more. */
  left: number | undefined;
}

/** Pauses an account after a failure, unless the command is only too large for it, and says so in the outcome. */
function pauseAfter(account: string, verdict: Retry, failed: Failed): Failure {
  const { end, credentials, outcome, result, run, left } = failed;
  const { plan, journal, state, context, invocation, stdin, repeatable } = run;
  outcome.refused = isRefusal(verdict, plan) && !context.signals.received;
  if (outcome.refused && verdict.class === 'auth') {
    // nothing is paused: the next command asks with the same account
    journal.add({ ...end, outcome: 'failed', class: 'auth' });
    outcome.failure = `${plan.cli}: account "${account}" was refused (auth)`;
    return { account, class: 'auth' };
  }
  const isOfAddress = isLimitOfAddress(verdict, plan.provider);
  if (left === undefined) {
    const earlier = earlierPause(state, account, credentials);
    const pause = pauseFor(verdict, state.remaining[account]?.resets, context.now(), earlier);
    journal.pause(account, pause, credentials, { ...end, class: verdict.class });
    if (isOfAddress) journal.pauseOthers(account, pause);
    outcome.failure = describeFailure(plan.cli, account, pause);
  } else {
    journal.add({ ...end, class: verdict.class, outcome: 'left', why: 'too-large' });
    outcome.failure = describeTooLarge(plan.cli, account, left);
  }
  outcome.kept = mayHaveRun(result, run, verdict.class) ? 'uncertain' : 'limit';
  if (outcome.refused) return { account, class: verdict.class };
  const obstacle = obstacleTo(verdict.class, {
    interrupted: context.signals.received,
    job: result.output.jobs[0],
    isShown: result.output.committed,
    isRepeatable: repeatable,
    silentJob: invocation.silentJob,
    showingOptions: plan.provider.silent_jobs.flatMap(job => job.unless),
    isOfAddress,
    isInputKept: stdin.canRepeat(),
  });
  return { account, class: verdict.class, obstacle };
}

/** Reports whether a failure ends the command with an exit status of its own, because no other account may take over. */
function isRefusal(verdict: Retry, plan: Plan): boolean {
  return verdict.class === 'auth'
    ? endsWhenRefused(plan, verdict.stays)
    : verdict.class === 'quota' && staysInPlace(plan);
}

function ended(outcome: Outcome, { obstacle, exhausted }: Next & { kind: 'end' }, plan: Plan): Outcome {
  outcome.exhausted = exhausted;
  if (obstacle !== undefined) {
    outcome.failure += `; not repeated, because ${obstacle}`;
    return outcome;
  }
  outcome.kept = 'limit';
  if (isSelected(plan) && !outcome.refused) return outcome;
  if (outcome.failure && (outcome.refused || staysInPlace(plan))) outcome.failure += `; ${anotherPlace(plan)}`;
  else if (outcome.failure) outcome.failure += `; no account is left${unusedAccounts(plan)}`;
  return outcome;
}

function optionsFor(
  { plan, original, invocation, context, patterns, stdin, holdLast }: Run,
  account: string,
  { env, last, isAlone }: { env: NodeJS.ProcessEnv; last: boolean; isAlone: boolean },
): Parameters<typeof attempt>[0] {
  const { provider } = plan;
  // With one account of its own nothing is learned from a failure, and the upstream can have the caller's own descriptors. Of several,
  // one is selected where the terms allow no other: people want to know what its failure means.
  const isOnly = isAlone && !holdLast;
  const unread = isOnly && !(isSelected(plan) && provider.rules.length > 0);
  // a program for a terminal keeps its own
  const unreadStdout = isOnly && (unread || isatty(1));
  return {
    program: original,
    args: [...provider.arguments.map(arg => arg.replaceAll('{account}', account)), ...invocation.args],
    env,
    last: last && !holdLast,
    read: {
      stdout:
        !unreadStdout &&
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

/** Reports whether an account is only ever selected, by the provider's terms. */
function isSelected({ provider }: Pick<Plan, 'provider'>): boolean {
  return provider.accounts === 'one-per-person';
}

/** The part that a pool learns. A limit of this network address says nothing about the account on other machines. */
function leaseEndOf(verdict: Verdict, { plan, cost, context }: Run): LeaseEnd {
  if (verdict.kind === 'success') return { spent: cost };
  // a failed command may have been charged
  if (verdict.kind === 'final') return { spent: verdict.class === 'usage' ? 0 : cost };
  const isPaused =
    !isLimitOfAddress(verdict, plan.provider) && !(verdict.class === 'auth' && endsWhenRefused(plan, verdict.stays));
  if (!isPaused) return { spent: 0 };
  return { spent: 0, pause: { class: verdict.class, rest: withinReason(verdict, context.now()) } };
}

/**
 * Reports whether a command that must run once may have done its work although it failed. Without a known reason it may: the
 * answer to the request that created the job can be lost.
 */
function mayHaveRun({ output }: Attempt, { invocation, repeatable }: Run, failure?: Retry['class']): boolean {
  if (output.jobs.length > 0 || !repeatable) return true;
  return failure === undefined ? invocation.once : invocation.silentJob.includes(failure);
}

/** A person whose last account failed may have forgotten about a disabled one. */
function unusedAccounts(plan: Plan): string {
  const names = plan.accounts.filter(account => !account.enabled).map(account => `"${account.name}"`);
  return names.length > 0 ? ` (disabled: ${names.join(', ')})` : '';
}
