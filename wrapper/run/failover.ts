// Runs a wrapped command with the accounts of its plan: tries them, waits for one, or queues the command.
import { writeFileSync } from 'node:fs';
import type { Context, End } from '../context.ts';
import { hasLogins } from '../store/logins.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, readState, setAside, updateState } from '../store/state.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { formatDuration, isOn, parseDuration } from '../system/notation.ts';
import { openCredentials } from './accounts/ready.ts';
import { type Command, type Outcome, type Run, runAttempts } from './attempts.ts';
import {
  anotherPlace,
  type Candidate,
  earliestAvailable,
  isAvailable,
  isBound,
  isWarningDue,
  needsUsage,
  orderCandidates,
  staysInPlace,
  totalRemaining,
} from './candidates.ts';
import { reportReplacedShims } from './original.ts';
import { compilePatterns } from './rules/patterns.ts';
import { Turn } from './turn.ts';
import { openStdin } from './upstream/channels.ts';

/**
 * Runs a command with the accounts of the plan.
 * @returns the end of the attempt that counted, once its output has been written
 * @throws WrapError `unknown-account`, `no-default`, `nothing-left`, `original-missing`
 */
export async function failover(command: Command): Promise<End> {
  const { plan, invocation, context, ownChoice } = command;
  const credentials = openCredentials(plan, context);
  const book = { state: () => stateOf(plan, context), credentials: () => credentials };
  const turn = await Turn.open(plan, context, { kind: 'command', invocation, ownChoice, book });
  const { lostSession, journal } = turn.parts;
  const repeatable = !invocation.once || plan.provider.job_id !== undefined;
  const several = plan.accounts.filter(account => account.enabled).length > 1;
  const run: Run = {
    ...command,
    turn,
    lostSession,
    credentials,
    patterns: compilePatterns(plan, invocation),
    stdin: command.stdin ?? openStdin(repeatable && (several || postpones(plan)), invocation.readsStdin),
    repeatable,
    holdLast: postpones(plan) && repeatable,
    isNamed: !namesAccount(plan, context),
  };
  try {
    return await (plan.pool ? runPooled(run) : runUntilDecided(run));
  } catch (error) {
    if (error instanceof WrapError && error.code.startsWith('pool-'))
      journal.add({ account: null, outcome: 'refused', why: error.code });
    throw error;
  } finally {
    await turn.finish();
    reportReplacedShims(context);
    if (needsUsage(plan)) await warnWhenLow(plan, context);
  }
}

/** Reports whether a line names the account of a command: with logins, unless the user wants none. */
export function namesAccount({ accounts }: Plan, { env }: Context): boolean {
  return hasLogins(accounts) && !isOn(env.CULVERT_WRAP_QUIET);
}

/** Reads the stored state, and sets a damaged file aside. */
function stateOf({ cli, accounts }: Plan, { paths }: Context): CliState {
  return readState(paths, cli, file => {
    setAside(paths, cli);
    const isKept = accounts.some(account => account.default !== undefined);
    const what = `${isKept ? '' : 'the default, '}pauses and the accounts of some earlier jobs`;
    say(`${cli}: ${file} was damaged, so ${what} are forgotten`);
  });
}

/** Tries the accounts, and tries again after waiting for an account, if the user allows waiting. */
async function runUntilDecided(run: Run): Promise<End> {
  const { plan, context } = run;
  const { capacity } = plan;
  const deadline = context.now() + (capacity.wait ? parseDuration(capacity.wait) : 0);
  let mayWait = true;
  for (;;) {
    const candidates = candidatesFor(run);
    if (!isAvailable(candidates)) {
      if (await waitForAccount(run, deadline)) continue;
      if (capacity.policy !== 'execute') return postponed(capacity.policy, run);
    }
    const patient = capacity.policy !== 'execute' || (mayWait && context.now() < deadline);
    const outcome = await runAttempts(candidates, run, patient);
    if (!outcome.exhausted) return finish(outcome, run);
    if (await waitForAccount(run, deadline)) {
      outcome.attempt?.output.dispose();
      continue;
    }
    if (!outcome.attempt) {
      // Other runs are trying every account right now, and there is no time to wait for them.
      if (capacity.policy !== 'execute') return postponed(capacity.policy, run);
      mayWait = false;
      continue;
    }
    if (capacity.policy !== 'queue' || !run.holdLast) return finish(outcome, run);
    if (outcome.failure) say(outcome.failure);
    outcome.attempt.output.dispose();
    return postponed('queue', run);
  }
}

/** Tries the accounts that the pool leases. The pool knows pauses and remaining units, and waits if the user allows it. */
async function runPooled(run: Run): Promise<End> {
  const { plan, context, turn } = run;
  const { journal, leases, choice, state } = turn.parts;
  const onlyChosen = isBound(choice, plan);
  const unknown = { ...state, paused: {}, remaining: {} };
  const candidates = orderCandidates(plan.accounts, unknown, choice, { now: context.now(), onlyChosen });
  const outcome = await runAttempts(candidates, run);
  const { policy } = plan.capacity;
  const postponing = policy === 'queue' ? run.holdLast || !outcome.attempt : policy === 'shed' && !outcome.attempt;
  if (postponing && (outcome.exhausted || !outcome.attempt) && leases.refusal !== '') {
    say(outcome.failure ?? `${plan.cli}: ${leases.refusal}`);
    outcome.attempt?.output.dispose();
    return postponed(policy === 'queue' ? 'queue' : 'shed', run);
  }
  if (!outcome.attempt && leases.refusal !== '') {
    journal.add({ account: null, outcome: 'refused', why: 'nothing-left' });
    turn.skipped.push(leases.refusal);
  }
  return finish(outcome, run);
}

function candidatesFor({ plan, context, turn }: Run): Candidate[] {
  const { capacity, provider } = plan;
  const { state, choice, cost } = turn.parts;
  const sharedQuota = provider.scope !== 'key';
  const onlyChosen = isBound(choice, plan);
  const options = { now: context.now(), cost, capacity, sharedQuota, onlyChosen };
  const selected = orderCandidates(plan.accounts, state, choice, options);
  // The reserve stays untouched when another account fails, except the reserve of a named account.
  return capacity.policy === 'execute' || selected.every(({ spent }) => spent)
    ? selected
    : selected.filter(({ spent, account }) => !spent || (choice.by !== 'default' && account.name === choice.name));
}

async function postponed(decision: 'queue' | 'shed', { plan, invocation, context, turn, stdin }: Run): Promise<End> {
  const { postpone } = await context.load();
  const input = decision === 'queue' && invocation.readsStdin ? await stdin.all() : undefined;
  return postpone(decision, { plan, invocation, context, stdin: input }, turn.parts.journal.add);
}

/** Shows the output of the attempt that counts. */
function finish({ attempt, failure, kept, refused }: Outcome, { plan, context, turn }: Run): End {
  const { CULVERT_WRAP_REPORT: report } = context.env;
  if (report && kept) writeFileSync(report, kept, { mode: 0o600 });
  if (!attempt) {
    const isPlace = staysInPlace(plan);
    const { choice } = turn.parts;
    const what =
      choice.by === 'default'
        ? `${isPlace ? 'the' : 'no'} account ${isPlace ? "can't" : 'can'} be used`
        : `the account "${choice.name}", which is named, can't be used`;
    throw new WrapError('nothing-left', EXIT.unavailable, `${plan.cli}: ${what} (${turn.skipped.join('; ')})`, {
      hint: isPlace ? anotherPlace(plan) : `see \`${plan.provider.bin} ${plan.provider.auth_command} list\``,
    });
  }
  attempt.output.release(() => context.signals.stop());
  if (context.staysAlive) attempt.output.dispose();
  if (failure) say(failure);
  if (refused && attempt.signal === null) return { exit: EXIT.unavailable, signal: null };
  return { exit: attempt.exit, signal: attempt.signal };
}

/** Reports whether a command may be queued or repeated later; then even the last attempt's output must be held. */
function postpones({ capacity }: Plan): boolean {
  return capacity.policy === 'queue' || capacity.wait !== undefined;
}

/** Waits until a candidate may be available. Returns whether the run should check the candidates again. */
async function waitForAccount(run: Run, deadline: number): Promise<boolean> {
  const { context, plan } = run;
  const { journal, state } = run.turn.parts;
  const now = context.now();
  const candidates = candidatesFor(run);
  const availableAt = earliestAvailable(candidates, now);
  const probed = candidates.some(({ beingProbed }) => beingProbed);
  if (availableAt === undefined || now >= deadline || (availableAt > deadline && !probed) || context.signals.received)
    return false;
  journal.store();
  const what = probed ? 'for another run that tries one' : `${formatDuration(availableAt - now)} for the first one`;
  say(`${plan.cli}: no account is available; waiting ${what}`);
  // The user may end a pause during the wait, and another run's try may succeed.
  const isReady = () => {
    Object.assign(state, readState(context.paths, plan.cli));
    return isAvailable(candidatesFor(run));
  };
  await (await context.load()).sleepUntil(Math.min(availableAt, deadline), context, isReady);
  isReady();
  run.credentials.forget();
  return !context.signals.received;
}

async function warnWhenLow(plan: Plan, context: Context): Promise<void> {
  const state = readState(context.paths, plan.cli);
  const enabled = plan.accounts.filter(account => account.enabled).map(account => account.name);
  const total = totalRemaining(enabled, state);
  const { reportCapacity } = await context.load();
  reportCapacity(plan, state, context);
  if (!isWarningDue(total, plan.capacity, state, context.now())) return;
  say(`${plan.cli}: ${total} left over all accounts, below ${plan.capacity.warn_below}`);
  updateState(context.paths, plan.cli, changed => {
    changed.warnedAt = context.now();
  });
  if (plan.capacity.warn_command) (await context.load()).runWarning(plan, total ?? 0, context);
}
