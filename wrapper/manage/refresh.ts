// Updates the accounts' known capacity, and starts the warning command.
import { spawn } from 'node:child_process';
import type { Context, Credentials } from '../context.ts';
import { openCredentials } from '../run/accounts/credentials.ts';
import { accountEnvironment, callerEnvironment } from '../run/accounts/environment.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, fingerprint, recordRemaining, updateState } from '../store/state.ts';
import { isFresh, queryUsage, type UsageProblem } from './usage.ts';

/**
 * Asks for every enabled account whose numbers are older than the provider allows, all together, and puts the answers
 * into `state`, and into the state file where that can be written.
 * @returns by account, why it could not be asked. Where the catalog knows no way to ask, only those appear whose
 *   credential can't be read
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
    // A full or read-only disk does not stop a command: the figures hold for this run.
    record(state);
  }
  return problems;
}

/** Starts the user's warning command and does not wait for it. */
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
