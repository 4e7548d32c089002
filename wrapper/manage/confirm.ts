// Tests credentials with their provider, and finds out the meaning of ambiguous refusals.
import type { Provider } from '../catalog/provider.ts';
import type { Context } from '../context.ts';
import { accountEnvironment, callerEnvironment } from '../run/accounts/ready.ts';
import type { Retry } from '../run/choose.ts';
import { FOREIGN_NOTE, isForeign, parseJson, type Verdict } from '../run/rules/classify.ts';
import { verdictOf } from '../run/rules/http-errors.ts';
import type { Account } from '../store/config.ts';
import type { Plan } from '../store/plan.ts';
import { askEndpoint, type CheckAnswer, checkCredential, queryUsage, readUsage, type UsageAnswer } from './usage.ts';

/**
 * Finds out the meaning of a refusal from the provider's usage endpoint or `check`. Unless the answer says that the key is
 * refused or used up, no account is paused.
 * @param env the account's environment, credentials included
 * @param now milliseconds since the epoch
 */
export async function confirmRefusal(
  { provider }: Pick<Plan, 'provider'>,
  refusal: Retry,
  env: NodeJS.ProcessEnv,
  now: number,
): Promise<Verdict> {
  const answer = await askEndpoint(provider, env).catch(() => undefined);
  if (!answer) return unknown('the provider could not be asked what it means');
  const { status, body } = answer;
  if (isForeign(answer, provider.http ?? { key_scheme: 'Bearer' }))
    return { kind: 'final', class: 'other', note: FOREIGN_NOTE };
  if (status >= 200 && status < 300) {
    const figures = provider.usage && readUsage(parseJson(body), provider.usage, now);
    if (figures?.remaining === 0)
      return { kind: 'retry', class: 'quota', rest: { until: 'period' }, text: refusal.text };
    return unknown('the key works, so this was refused for another reason');
  }
  const verdict = verdictOf({ ...answer, at: now }, provider.http ?? { retry: [], key_scheme: 'Bearer' }, false);
  return (
    verdict ?? unknown(`the provider answers with HTTP status ${status}, which does not say that the key is refused`)
  );
}

function unknown(why: string): Verdict {
  return { kind: 'final', class: 'other', note: `${why}; no other account is tried` };
}

/** Result of a probe. `ok` is `undefined` if the catalog has no way to test a credential. */
export type ProbeAnswer = UsageAnswer | (CheckAnswer & { remaining?: undefined }) | { ok: undefined };

/** Tests an account's credential. @param credentials the account's resolved credentials */
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
