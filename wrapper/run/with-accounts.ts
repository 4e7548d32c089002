// Makes a request with one account after the other, until an answer says nothing against its account or no other account may help.
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { formatDuration, parseDuration } from '../system/duration.ts';
import { say } from '../system/errors.ts';
import type { Retry } from './choose/choose.ts';
import type { Ended } from './journal.ts';
import type { Refusal, Turn, Using } from './turn.ts';

/** A result that says that its account can't be used, and figures for the audit log. */
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
