// Repeats a request, or the upstream of a wrapped command, with one account after another until an attempt counts.
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { Context, Credentials, Invocation } from '../context.ts';
import { loginArguments } from '../store/logins.ts';
import type { Plan } from '../store/plan.ts';
import { say } from '../system/errors.ts';
import { formatDuration, parseDuration } from '../system/notation.ts';
import type { Ended } from './book.ts';
import { anotherPlace, type Candidate, endsWhenRefused, staysInPlace } from './candidates.ts';
import { describeSelected, describeServed, isLimitOfAddress, obstacleTo, type Retry } from './choose.ts';
import { cannotStart } from './original.ts';
import type { Verdict } from './rules/classify.ts';
import type { Patterns } from './rules/patterns.ts';
import type { Refusal, Turn, Using } from './turn.ts';
import { type Attempt, attempt } from './upstream/attempt.ts';
import type { Stdin } from './upstream/channels.ts';

/** A wrapped command. */
export interface Command {
  plan: Plan;
  /** Absolute path of the original command, which the shim replaces. */
  original: string;
  invocation: Invocation;
  context: Context;
  /** The user's variables and options that do not count for this command. */
  ownChoice?: string | undefined;
  /** Input that replaces descriptor 0. */
  stdin?: Stdin | undefined;
}

/** A wrapped command that is being run. */
export interface Run extends Command {
  turn: Turn;
  credentials: Credentials;
  patterns: Patterns;
  stdin: Stdin;
  /** True if the command may be run more than once. */
  repeatable: boolean;
  /** True if the last attempt's output must be held until its result is known. */
  holdLast: boolean;
  /** Clause about the session that is not continued, until a message has reported it. */
  lostSession: string | undefined;
  /** Set once a line has named the account, or none is due. */
  isNamed: boolean;
}

/** Result of the attempts. */
export interface Outcome {
  /** The attempt that counts, before its output is shown; `undefined` if no account could be used. */
  attempt: Attempt | undefined;
  /** True if every account met a limit or is awaited, and nothing has been shown or created. */
  exhausted: boolean;
  /** Sentence to print after the output: the account that failed, and why no other account was tried. */
  failure?: string;
  /** Reason for keeping a failed command in the queue; see `manage/queue.ts`. */
  kept?: 'limit' | 'other' | 'usage' | 'uncertain';
  /** True if the provider refused the account or its quota is used up, and no other account may take over. */
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
 * @param patient true if the command can wait, or be kept, while other runs try accounts after their pause
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
  nameOnce(using.name, run);
  const started = context.now();
  const last = turn.isLast || !run.repeatable;
  const result = await attempt(optionsFor(run, using.name, { env: using.environment(), last, isAlone }));
  if (result.startError) throw cannotStart(run.original, result.startError);
  outcome.attempt = result;
  const { exit, signal } = result;
  return { result, started, end: { exit, signal: signal ?? undefined, ms: context.now() - started } };
}

/** Names the account of a command before its first attempt. */
function nameOnce(name: string, run: Run): void {
  const { plan, turn, isNamed } = run;
  const account = plan.accounts.find(each => each.name === name);
  if (isNamed || !account) return;
  run.isNamed = true;
  say(describeServed(plan.cli, account, turn.parts.choice));
}

/** Judges an attempt. @returns the account's refusal; `undefined` for an attempt that counts, after settling it */
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
  // no pause after a refusal: the next command tries the same account
  turn.answered(using.name, false, started, { ...end, class: verdict.class });
  if (outcome.refused) outcome.failure = `${plan.cli}: account "${using.name}" was refused (auth)`;
  else outcome.kept = verdict.class === 'usage' ? 'usage' : mayHaveRun(result, run) ? 'uncertain' : 'other';
  if (verdict.note) outcome.failure = (await context.load()).noteText(plan.cli, verdict.note, context.env);
  return undefined;
}

/** Returns the verdict, or asks the provider if the text of a refusal is not conclusive. */
async function confirmed(verdict: Verdict, using: Using, { plan, context }: Run): Promise<Verdict> {
  if (verdict.kind !== 'retry' || !verdict.check) return verdict;
  const { confirmRefusal } = await context.load();
  return await confirmRefusal(plan, verdict, using.environment(), context.now());
}

/** Notes a refusal in the outcome. @returns the reason not to run the command again, if any */
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
  const isLogin = plan.accounts.some(({ name, login }) => name === account && login !== undefined);
  if (isLogin && plan.provider.login?.windows)
    outcome.failure += `; \`culvert-wrap status ${plan.cli}\` shows its limits`;
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
  // If no other account can follow, failures need no interpretation, so the upstream can use the caller's descriptors. But if
  // the provider's terms allow only the selected account, people want to know what a failure means.
  const isOnly = isAlone && !holdLast;
  const unread = isOnly && !(isSelected(plan) && provider.rules.length > 0);
  // a program that writes to a terminal keeps the terminal
  const unreadStdout = isOnly && (unread || isatty(1));
  return {
    program: original,
    args: [
      ...provider.arguments.map(arg => arg.replaceAll('{account}', account)),
      ...plan.accounts
        .filter(({ name }) => name === account)
        .flatMap(each => loginArguments(provider, each, invocation.command)),
      ...invocation.args,
    ],
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
    stdin,
    signals: context.signals,
  };
}

/** Reports whether the provider's terms only allow selecting an account, and no failover. */
function isSelected({ provider }: Pick<Plan, 'provider'>): boolean {
  return provider.accounts === 'one-per-person';
}

/**
 * Reports whether a failed command that must run only once may have done its work. It may if the reason is unknown, because the
 * answer to the request that created the job can be lost.
 */
function mayHaveRun({ output }: Attempt, { invocation, repeatable }: Run, failure?: Retry['class']): boolean {
  if (output.jobs.length > 0 || !repeatable) return true;
  return failure === undefined ? invocation.once : invocation.silentJob.includes(failure);
}

/** Lists the disabled accounts for the message that no account is left, because the user may have forgotten them. */
function unusedAccounts(plan: Plan): string {
  const names = plan.accounts.filter(account => !account.enabled).map(account => `"${account.name}"`);
  return names.length > 0 ? ` (disabled: ${names.join(', ')})` : '';
}

/** The verdict that an account can't be used, and figures for the audit log. */
export interface Refused {
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
  /** Returns why the account can't be used, or `undefined` if this result is final. */
  judge(result: R, using: Using): Promise<Refused | undefined> | Refused | undefined;
  /** Returns why no other account may repeat the request, or `undefined`. */
  obstacle?(result: R, refusal: Refusal, using: Using): string | undefined;
  /** Waits for an account. @returns true if another try is worthwhile */
  wait?(refusal: Refusal): Promise<boolean>;
  /** True to go on with the last account if no other is left. */
  keepsLast?: boolean;
}

/**
 * Makes a request with one account after another.
 * @param first the account that was taken for the first attempt
 * @returns the last result; `undefined` without an account
 */
export async function withAccounts<R>(turn: Turn, client: Client<R>, first?: Using): Promise<Tried<R> | undefined> {
  let using = first ?? (await turn.take());
  for (;;) {
    if (!using) return undefined;
    const result = await client.attempt(using);
    const refused = await client.judge(result, using);
    if (!refused) return { using, result };
    const refusal = await turn.refused(using, refused.verdict, refused.end);
    const obstacle = client.obstacle?.(result, refusal, using);
    let following = await turn.take(obstacle);
    if (!following && obstacle === undefined && (await client.wait?.(refusal))) {
      turn.waited();
      following = await turn.take();
    }
    if (client.keepsLast) following ??= using;
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
 * Waits until the first account may be usable again, if `capacity.wait` allows it, or until the program leaves.
 * @returns true if another try is worthwhile; false if the program left, or the wait would be longer than the user allows
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
