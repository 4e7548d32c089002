// Makes an account ready for an attempt: resolves its credentials and runs its prepare command.
import type { Context, Credentials } from '../../context.ts';
import type { Account } from '../../store/config.ts';
import type { Plan } from '../../store/plan.ts';
import { type CliState, fingerprint } from '../../store/state.ts';
import { accountEnvironment, callerEnvironment } from './environment.ts';
import { prepare } from './prepare.ts';

export type Ready =
  | { ok: true; environment(): NodeJS.ProcessEnv; credentials: Record<string, string>; digest?: string }
  | { ok: false; problem: string };

interface Needs {
  plan: Plan;
  state: CliState;
  context: Context;
  credentials: Credentials;
}

/** The credentials of an account, and the environment for a program that uses it, or why it can't be used. */
export async function makeReady(account: Account, { plan, state, context, credentials }: Needs): Promise<Ready> {
  const { provider } = plan;
  const resolved = await credentials.of(account);
  if (!resolved.ok) return resolved;
  const missing = provider.inject.filter(name => !resolved.env[name]);
  if (missing.length > 0) return { ok: false, problem: `it provides no ${missing.join(', ')}` };
  const switched = Object.keys(resolved.env).length + provider.home.length + provider.arguments.length > 0;
  if (!switched && !provider.prepare_command) return { ok: false, problem: 'it provides no credential' };
  const { env: own } = resolved;
  const { env, paths, cwd } = context;
  // many requests need no environment
  const environment = () => accountEnvironment(plan, account, own, { caller: callerEnvironment(env), paths, cwd });
  const prepared = await prepare(provider, { name: account.name, env: own }, environment, state);
  if (!prepared.ok) return prepared;
  return { ok: true, environment, credentials: own, ...(prepared.digest && { digest: prepared.digest }) };
}

/** Ends, in `state`, the cooldown of accounts whose refused credential has been changed since. */
export async function clearChangedCredentials(
  { accounts }: Pick<Plan, 'accounts'>,
  state: CliState,
  credentials: Credentials,
): Promise<void> {
  for (const account of accounts) {
    const cooldown = state.resting[account.name];
    if (!account.enabled || !cooldown || cooldown.until !== null) continue;
    const resolved = await credentials.of(account);
    if (resolved.ok && fingerprint(state.salt, resolved.env) !== cooldown.credential)
      delete state.resting[account.name];
  }
}
