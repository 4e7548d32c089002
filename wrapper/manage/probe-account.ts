// Asks a provider whether a credential works, by its usage endpoint.
import type { Provider } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { accountEnvironment, callerEnvironment } from '../run/accounts/environment.ts';
import type { Account } from '../store/config.ts';
import { queryUsage, type UsageAnswer } from './usage.ts';

/** `ok: undefined`: the catalog knows no way to ask. */
export type ProbeAnswer = UsageAnswer | { ok: undefined };

/** @param credentials the account's, resolved */
export async function probeAccount(
  provider: Provider,
  account: Account,
  credentials: Record<string, string>,
  context: Pick<Context, 'env' | 'paths' | 'now'>,
): Promise<ProbeAnswer> {
  const caller = callerEnvironment(context.env);
  const plan = { cli: account.cli, provider, accounts: [account] };
  const env = accountEnvironment(plan, account, credentials, { caller, paths: context.paths });
  return (await queryUsage(provider, env, context.now())) ?? { ok: undefined };
}
