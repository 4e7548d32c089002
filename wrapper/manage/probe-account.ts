// Asks a provider whether a credential works, by its usage endpoint or another address of the catalog.
import type { Provider } from '../catalog/provider.ts';
import type { Context } from '../context.ts';
import { accountEnvironment, callerEnvironment } from '../run/accounts/environment.ts';
import type { Account } from '../store/config.ts';
import { type CheckAnswer, checkCredential, queryUsage, type UsageAnswer } from './usage.ts';

/** `ok: undefined`: the catalog knows no way to ask. */
export type ProbeAnswer = UsageAnswer | (CheckAnswer & { remaining?: undefined }) | { ok: undefined };

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
  return (
    (await queryUsage(provider, env, context.now())) ?? (await checkCredential(provider, env)) ?? { ok: undefined }
  );
}
