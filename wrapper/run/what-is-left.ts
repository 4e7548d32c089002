// Distinguishes a request that is larger than an account's remaining quota from a quota that is used up.
import type { Context, Credentials } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, fingerprint } from '../store/state.ts';
import type { Retry } from './choose/failures.ts';

/** A figure that old says nothing about a refusal of now, where the provider gave none. */
const RECENT_MS = 600_000;

interface Asking {
  plan: Plan;
  state: CliState;
  context: Pick<Context, 'load' | 'now'> & Context;
  credentials: Credentials;
}

/**
 * Units that an account has left although it was refused for its quota: as the refusal says, or else the provider's usage endpoint.
 * @param own the account's credentials, resolved
 * @returns `undefined` where nothing is left, or that is not known
 */
export async function leftDespite(
  verdict: Retry,
  account: { name: string; own: Record<string, string> },
  { plan, state, context, credentials }: Asking,
): Promise<number | undefined> {
  if (verdict.class !== 'quota') return undefined;
  if (verdict.left !== undefined) return verdict.left > 0 ? verdict.left : undefined;
  const { usage, status_command } = plan.provider;
  if (verdict.rest.until !== 'period' || !(usage ?? status_command)) return undefined;
  const asked = { ...state };
  await (await context.load()).refreshUsage(plan, asked, context, { credentials }).catch(() => {});
  const figures = asked.remaining[account.name];
  const age = context.now() - (figures?.at ?? 0);
  if (!figures || age < 0 || age > RECENT_MS || figures.credential !== fingerprint(asked.salt, account.own))
    return undefined;
  Object.assign(state, { remaining: asked.remaining, history: asked.history, salt: asked.salt });
  return figures.remaining !== null && figures.remaining > 0 ? figures.remaining : undefined;
}

/** The refusal for a person. */
export function describeTooLarge(cli: string, account: string, left: number): string {
  return `${cli}: account "${account}" has ${left} left, and this wants more (quota, not paused)`;
}
