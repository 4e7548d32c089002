// Tries one account after another: makes a request, or runs the upstream of a wrapped command, until an attempt counts.
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { Context, Credentials, Invocation } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { say } from '../system/errors.ts';
import { formatDuration, parseDuration } from '../system/notation.ts';
import type { Ended } from './book.ts';
import { anotherPlace, type Candidate, endsWhenRefused, staysInPlace } from './candidates.ts';
import { describeSelected, isLimitOfAddress, obstacleTo, type Retry } from './choose.ts';
import { cannotStart } from './original.ts';
import type { Verdict } from './rules/classify.ts';
import type { Patterns } from './rules/patterns.ts';
import type { Refusal, Turn, Using } from './turn.ts';
import { type Attempt, attempt } from './upstream/attempt.ts';
import type { Stdin } from './upstream/channels.ts';

/** A wrapped command. */
export interface Command {
  plan: Plan;
  /** Absolute path of the command that was moved away. */
  original: string;
  invocation: Invocation;
  context: Context;
  /** Variables and options of the user that do not count for this command. */
  ownChoice?: string | undefined;
  /** Instead of descriptor 0. */
  stdin?: Stdin | undefined;
}

/** A wrapped command on its way. */
export interface Run extends Command {
  turn: Turn;
  credentials: Credentials;
  patterns: Patterns;
  stdin: Stdin;
  /** A second attempt is possible at all. */
  repeatable: boolean;
  /** The last attempt must not be shown before it is known how it ended. */
  holdLast: boolean;
  /** The account whose session is not continued, until a message has named the account that runs instead. */
  lostSession: string | undefined;
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
  /** The provider refused the account or its quota is used up, and another one would be another set of things. */
  refused?: boolean;
}

/** An attempt, its start, and figures for the audit log. */
interface Timed {
  result: Attempt;
  started: number;
  end: Omit<Ended, 'account' | 'class'>;
}

/**
 * Tries the candidates in turn.
 * @param patient the command can wait, or be kept, while other runs try accounts after their pause
 * @throws WrapError `original-missing`, `original-unusable`
 */
export async function runAttempts(candidates: readonly Candidate[], run: Run, patient = false): Promise<Outcome> {
  const { plan, turn } = run;
  const outcome: Outcome = { attempt: undefined, exhausted: false };
  const several = plan.accounts.filter(account => account.enabled).length > 1;
  const isAlone = candidates.length === 1 && !turn.parts.leases.isShared && !(several && staysInPlace(plan));
  turn.begin(candidates, patient);
  await withAccounts<Timed>(turn, {
    attempt: using => tryWith(using, isAlone, outcome, run),
    judge: (timed, using) => meaningOf(timed, using, outcome, run),
    obstacle: ({ result }, refusal, { name }) => obstacleAfter(result, name, refusal, { outcome, run }),
  });
  if (turn.end) return ended(outcome, turn.end, plan);
  return outcome.refused ? ended(outcome, { obstacle: undefined, exhausted: false }, plan) : outcome;
}

async function tryWith(using: Using, isAlone: boolean, outcome: Outcome, run: Run): Promise<Timed> {
  const { plan, turn, context } = run;
  outcome.attempt?.output.dispose();
  if (outcome.failure) say(`${outcome.failure}; trying "${using.name}"`);
  delete outcome.failure;
  if (run.lostSession) say(`${plan.cli}: ${run.lostSession}; running with "${using.name}"`);
  run.lostSession = undefined;
  const started = context.now();
  const last = turn.isLast || !run.repeatable;
  const result = await attempt(optionsFor(run, using.name, { env: using.environment(), last, isAlone }));
  if (result.startError) throw cannotStart(run.original, result.startError);
  outcome.attempt = result;
  const { exit, signal } = result;
  return { result, started, end: { exit, signal: signal ?? undefined, ms: context.now() - started } };
}

/** @returns the refusal of the account; `undefined` for an attempt that counts, which is settled */
async function meaningOf(
  { result, started, end }: Timed,
  using: Using,
  outcome: Outcome,
  run: Run,
): Promise<Refused | undefined> {
  const { plan, turn, context, patterns } = run;
  const verdict = await confirmed(patterns.verdictOf(result), using, run);
  const session = patterns.sessionOf(result.output.stderr);
  for (const id of session ? [...result.output.jobs, session] : result.output.jobs)
    turn.parts.journal.job(id, using.name);
  outcome.refused = isRefusal(verdict, run);
  if (verdict.kind === 'retry' && !(outcome.refused && verdict.class === 'auth')) return { verdict, end };
  const isFree = verdict.kind === 'retry' || (verdict.kind === 'final' && verdict.class === 'usage');
  // a failed command may have been charged
  await turn.settle({ spent: isFree ? 0 : turn.parts.cost });
  if (verdict.kind === 'success') {
    turn.answered(using.name, true, started, end);
    return undefined;
  }
  // nothing is paused after a refusal: the next command asks with the same account
  turn.answered(using.name, false, started, { ...end, class: verdict.class });
  if (outcome.refused) outcome.failure = `${plan.cli}: account "${using.name}" was refused (auth)`;
  else outcome.kept = verdict.class === 'usage' ? 'usage' : mayHaveRun(result, run) ? 'uncertain' : 'other';
  if (verdict.note) outcome.failure = (await context.load()).noteText(plan.cli, verdict.note, context.env);
  return undefined;
}

/** The verdict, or the provider's own if the text of a refusal says too little. */
async function confirmed(verdict: Verdict, using: Using, { plan, context }: Run): Promise<Verdict> {
  if (verdict.kind !== 'retry' || !verdict.check) return verdict;
  const { confirmRefusal } = await context.load();
  return await confirmRefusal(plan, verdict, using.environment(), context.now());
}

/** Notes a refusal in the outcome. @returns why the command is not run again */
function obstacleAfter(
  result: Attempt,
  account: string,
  { verdict, left, text }: Refusal,
  { outcome, run }: { outcome: Outcome; run: Run },
): string | undefined {
  const { plan, turn, context, invocation, stdin, repeatable } = run;
  const { paused } = turn.parts.state;
  outcome.refused = isRefusal(verdict, run);
  outcome.kept = mayHaveRun(result, run, verdict.class) ? 'uncertain' : 'limit';
  outcome.failure =
    isSelected(plan) && left === undefined ? describeSelected(plan.cli, account, verdict.class, paused[account]) : text;
  if (outcome.refused) return undefined;
  return obstacleTo(verdict.class, {
    interrupted: context.signals.received,
    job: result.output.jobs[0],
    isShown: result.output.committed,
    isRepeatable: repeatable,
    silentJob: invocation.silentJob,
    showingOptions: plan.provider.silent_jobs.flatMap(job => job.unless),
    isOfAddress: isLimitOfAddress(verdict, plan.provider),
    isInputKept: stdin.canRepeat(),
  });
}

/** Reports whether a failure ends the command with the wrapper's exit status, because no other account may take over. */
function isRefusal(verdict: Verdict, { plan, context }: Run): boolean {
  if (verdict.kind !== 'retry' || context.signals.received) return false;
  return verdict.class === 'auth'
    ? endsWhenRefused(plan, verdict.stays)
    : verdict.class === 'quota' && staysInPlace(plan);
}

function ended(outcome: Outcome, { obstacle, exhausted }: NonNullable<Turn['end']>, plan: Plan): Outcome {
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
  // If no other account can follow, a failure teaches nothing, so the upstream can have the caller's descriptors. But people
  // want to know what a failure means where the provider's terms allow only the selected one of their accounts.
  const isOnly = isAlone && !holdLast;
  const unread = isOnly && !(isSelected(plan) && provider.rules.length > 0);
  // a program for a terminal keeps that
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

/** A result that says that its account can't be used, and figures for the audit log. */
interface Refused {
  verdict: Retry;
  end: Omit<Ended, 'account' | 'class'>;
}

/** The last result of a request, and its refusal if it has one. */
export interface Tried<R> {
  using: Using;
  result: R;
  refusal?: Refusal;
}

interface Client<R> {
  /** Makes the request once. */
  attempt(using: Using): Promise<R>;
  /** Why the account can't be used, as its result says; `undefined` where the request ends with this result. */
  judge(result: R, using: Using): Promise<Refused | undefined> | Refused | undefined;
  /** Why no other account may make the request again. */
  obstacle(result: R, refusal: Refusal, using: Using): string | undefined;
  /** Waits for an account. @returns whether one is worth a try */
  wait?(refusal: Refusal): Promise<boolean>;
}

/**
 * Makes a request.
 * @returns its last result; `undefined` without an account
 */
export async function withAccounts<R>(turn: Turn, client: Client<R>): Promise<Tried<R> | undefined> {
  let using = await turn.take();
  for (;;) {
    if (!using) return undefined;
    const result = await client.attempt(using);
    const refused = await client.judge(result, using);
    if (!refused) return { using, result };
    const refusal = await turn.refused(using, refused.verdict, refused.end);
    const obstacle = client.obstacle(result, refusal, using);
    let following = await turn.take(obstacle);
    if (!following && obstacle === undefined && (await client.wait?.(refusal))) {
      turn.waited();
      following = await turn.take();
    }
    if (!following) return { using, result, refusal };
    using = following;
  }
}

export interface Waiting {
  /** Start of the request, in milliseconds since the epoch. */
  since: number;
  /** Emits `close` when the program leaves. */
  program: EventEmitter & { destroyed: boolean };
}

/**
 * Waits until the first account may be of use again, where `capacity.wait` allows that, or until the program leaves.
 * @returns whether it is worth another try; `false` also where it would take longer than the user allows
 */
export async function waitFor(
  { more, first }: Refusal,
  { plan, ledger }: { plan: Plan; ledger: { context: Pick<Context, 'now'> } },
  { since, program }: Waiting,
): Promise<boolean> {
  const { wait } = plan.capacity;
  const ms = (first?.seconds ?? 0) * 1_000;
  const now = ledger.context.now();
  if (!more || !first || wait === undefined || now + ms > since + parseDuration(wait) || program.destroyed)
    return false;
  say(`${plan.cli}: no account is available; waiting ${formatDuration(ms)} for the first one`);
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  program.once('close', leave);
  await sleep(ms, undefined, { signal: leaving.signal }).catch(() => {});
  program.off('close', leave);
  return !program.destroyed;
}
