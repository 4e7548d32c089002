// Updates the known quotas of accounts, reports them to the user, and waits for an account.
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Context, Credentials } from '../context.ts';
import { accountEnvironment, callerEnvironment, openCredentials } from '../run/accounts/ready.ts';
import type { Account } from '../store/config.ts';
import { loginProblem } from '../store/logins.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, fingerprint, recordRemaining, updateState } from '../store/state.ts';
import { formatDuration } from '../system/notation.ts';
import { isFresh, queryUsage, type UsageProblem } from './usage.ts';
import { queryWindows } from './windows.ts';

/**
 * Queries the quotas of the enabled accounts with outdated answers, in parallel, and stores the answers in `state` and, if
 * possible, in the state file.
 * @returns the problems by account. If the catalog has no way to query a quota, these are only unreadable credentials
 */
export async function refreshUsage(
  plan: Plan,
  state: CliState,
  context: Context,
  options: { accounts?: readonly Account[]; credentials?: Credentials } = {},
): Promise<Record<string, UsageProblem>> {
  const { provider } = plan;
  const { accounts = plan.accounts.filter(account => account.enabled), credentials = openCredentials(plan, context) } =
    options;
  const caller = callerEnvironment(context.env);
  const problems: Record<string, UsageProblem> = Object.create(null);
  const ready = await Promise.all(
    accounts.map(async account => {
      if (account.login !== undefined) {
        // a login has no key to ask its provider with
        const problem = loginProblem(provider, account, caller);
        if (problem !== undefined) problems[account.name] = { problem, unusable: true };
        return undefined;
      }
      const resolved = await credentials.of(account);
      if (resolved.ok) return { account, resolved };
      problems[account.name] = { problem: resolved.problem, unusable: true };
      return undefined;
    }),
  );
  const readable = ready.filter(each => each !== undefined);
  const now = context.now();
  const stale = readable.filter(
    ({ account, resolved }) =>
      !isFresh(state.remaining[account.name], provider, fingerprint(state.salt, resolved.env), now),
  );
  const asked = stale.length > 0 && provider.usage?.moment ? readable : stale;
  const answers = await Promise.all(
    asked.map(async ({ account, resolved }) => {
      const env = accountEnvironment(plan, account, resolved.env, { caller, paths: context.paths });
      const answer = await queryUsage(provider, env, now);
      if (!answer?.ok) {
        if (answer) problems[account.name] = answer;
        return undefined;
      }
      return { name: account.name, remaining: answer.remaining, credentials: resolved.env };
    }),
  );
  const news = answers.filter(answer => answer !== undefined);
  if (news.length === 0) return problems;
  const record = (changed: CliState) => {
    for (const { name, remaining, credentials } of news) {
      recordRemaining(changed, name, { ...remaining, credential: fingerprint(changed.salt, credentials) });
    }
  };
  try {
    const { remaining, history, salt } = updateState(context.paths, plan.cli, record);
    Object.assign(state, { remaining, history, salt });
  } catch {
    // A full or read-only disk does not stop a command, and this run uses the answers.
    record(state);
  }
  return problems;
}

/** Time for which a CLI's windows are reused. */
const WINDOWS_MS = 60_000;

/**
 * Asks the CLI for the windows of its logins, unless it was asked within the last minute, and stores them in `state` and, if
 * possible, in the state file.
 * @param program absolute path of the CLI; `undefined` if it is not installed
 * @returns why a login's windows are unknown, by account
 */
export async function refreshWindows(
  plan: Plan,
  state: CliState,
  context: Context,
  program: string | undefined,
): Promise<Record<string, string>> {
  const { provider, cli } = plan;
  const problems: Record<string, string> = Object.create(null);
  const now = context.now();
  const caller = callerEnvironment(context.env);
  const logins = plan.accounts.filter(
    account => account.enabled && account.login !== undefined && !loginProblem(provider, account, caller),
  );
  const asked = provider.login?.windows;
  const isRecent = ({ name }: Account) => Math.abs(now - (state.windows[name]?.at ?? 0)) < WINDOWS_MS;
  const answers = await Promise.all(
    logins.map(async account => {
      if (!asked) problems[account.name] = '';
      else if (program === undefined) problems[account.name] = `there is no command ${provider.bin} on PATH`;
      else if (!isRecent(account)) {
        const env = accountEnvironment(plan, account, {}, { caller, paths: context.paths });
        const answer = await queryWindows(asked, program, env, now);
        if (answer.ok) return { name: account.name, list: answer.windows };
        problems[account.name] = answer.problem;
      }
      return undefined;
    }),
  );
  const record = (changed: CliState) => {
    // an older answer is not shown as the present one
    for (const name of Object.keys(problems)) delete changed.windows[name];
    for (const answer of answers) if (answer) changed.windows[answer.name] = { at: now, list: answer.list };
  };
  if (answers.every(answer => !answer) && !Object.keys(problems).some(name => state.windows[name])) return problems;
  try {
    state.windows = updateState(context.paths, cli, record).windows;
  } catch {
    record(state);
  }
  return problems;
}

/** Starts the user's warning command without waiting for it. */
export function runWarning(plan: Plan, remaining: number, context: Pick<Context, 'env'>): void {
  const env = {
    ...callerEnvironment(context.env),
    CULVERT_WRAP_CLI: plan.cli,
    CULVERT_WRAP_REMAINING: String(remaining),
  };
  const child = spawn('sh', ['-c', plan.capacity.warn_command ?? ':'], { env, stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

/**
 * Notifies the user when an account has passed a threshold of `notify_at` since its last use.
 * @param state the state after the run
 */
export function reportCapacity(plan: Plan, state: CliState, context: Context): void {
  const thresholds = [...plan.capacity.notify_at].sort((a, b) => a - b);
  if (thresholds.length === 0) return;
  const passed: Record<string, number> = {};
  for (const { name, enabled } of plan.accounts) {
    const figures = state.remaining[name];
    if (!enabled || typeof figures?.remaining !== 'number' || !figures.limit) continue;
    const percent = 100 - (100 * figures.remaining) / figures.limit;
    passed[name] = thresholds.filter(threshold => percent >= threshold).at(-1) ?? 0;
  }
  const changed = Object.entries(passed).filter(([name, threshold]) => threshold !== (state.notified[name] ?? 0));
  if (changed.length === 0) return;
  updateState(context.paths, plan.cli, stored => {
    for (const [name, threshold] of changed) stored.notified[name] = threshold;
  });
  for (const [name, threshold] of changed) {
    if (threshold > (state.notified[name] ?? 0)) notify(`${plan.cli}: ${threshold} % of "${name}" used`, plan, context);
  }
}

/** Shows a notification with notify-send(1) of libnotify, which every desktop has. Without it, nothing happens. */
function notify(text: string, plan: Plan, context: Context): void {
  const body = plan.accounts.length > 1 ? `See: culvert-wrap status ${plan.cli}` : '';
  const child = spawn('notify-send', ['--app-name=Culvert', '--', text, body], {
    env: callerEnvironment(context.env),
    stdio: 'ignore',
    detached: true,
  });
  child.on('error', () => {});
  child.unref();
}

const STEP_MS = 1_000;

/**
 * Waits until a time in milliseconds since the epoch. At a terminal, it shows the remaining time on stderr.
 * @param isReady ends the wait if it returns true; called every second
 */
export async function sleepUntil(at: number, context: Pick<Context, 'now'>, isReady = () => false): Promise<void> {
  const visible = isatty(2);
  const show = (text: string) => visible && writeSync(2, `\r\x1b[K${text}`);
  for (let left = at - context.now(); left > 0 && !isReady(); left = at - context.now()) {
    show(`waiting ${formatDuration(left)} …`);
    // In steps, because a timer does not run while the machine is suspended.
    await new Promise(resolve => setTimeout(resolve, Math.min(left, STEP_MS)));
  }
  show('');
}
