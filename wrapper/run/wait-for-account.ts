// Lets a request wait for an account, where `capacity.wait` allows that, until its program leaves.
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { formatDuration, parseDuration } from '../system/duration.ts';
import { say } from '../system/errors.ts';
import type { Refusal } from './turn.ts';

interface Waiting {
  /** Start of the request, in milliseconds since the epoch. */
  since: number;
  /** Emits `close` when the program leaves. */
  program: EventEmitter & { destroyed: boolean };
}

/**
 * Waits until the first account may be of use again.
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
