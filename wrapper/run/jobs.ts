// Finds out whose job a request is about, and tells the other machines of a pool.
import { setTimeout } from 'node:timers/promises';
import type { Context, Credentials, JobOptions } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, REQUEST, REQUEST_MS } from '../store/state.ts';
import { reason, say } from '../system/errors.ts';

/** A job that is used is stored again after this time, so that it is kept as long as it is used. */
export const RENEW_MS = 86_400_000;
/**
 * Names of requests that are recognized by their body begin with this. To ask the pool for each body would delay each request, so it
 * is asked only after one took too long.
 */
export const BODY = `${REQUEST}body:`;

/** An answer in hand does not wait longer for a store that is gone. */
const ANSWER_MS = 250;

/** Names of jobs without those of requests that are over. */
export function idsOf(ids: readonly string[], { jobs }: Pick<CliState, 'jobs'>, now: number): string[] {
  const at = (id: string) => (Object.hasOwn(jobs, id) ? jobs[id]!.at : now);
  return ids.filter(id => !id.startsWith(REQUEST) || now - at(id) < REQUEST_MS);
}

/** Asks the pool for the job that a request names, unless this machine has it, and puts it into `state`. */
export async function jobInPool(
  ids: readonly string[],
  { plan, state, context, credentials }: { plan: Plan; state: CliState; context: Context; credentials: Credentials },
): Promise<{ id: string; account: string } | undefined> {
  // words of a path have no digit
  const asked = ids.filter(id => /\d/.test(id) && !id.startsWith(BODY));
  if (!plan.pool || asked.length === 0 || ids.some(id => Object.hasOwn(state.jobs, id))) return undefined;
  try {
    const job = await (await context.loadPool()).findJob(asked, { plan, context, credentials });
    if (job) state.jobs = { ...state.jobs, [job.id]: { account: job.account, at: context.now() } };
    return job;
  } catch (error) {
    say(`${plan.cli}: whose job this is could not be asked: ${reason(error)}`);
    return undefined;
  }
}

/** The account to which a machine of the pool sent this body first, as far as known. */
export async function firstInPool(id: string, options: JobOptions): Promise<string | undefined> {
  const { plan, context } = options;
  if (!plan.pool) return undefined;
  try {
    const { findJob: find } = await context.loadPool();
    return (await Promise.race([find([id], options), soon()]))?.account;
  } catch (error) {
    say(`${plan.cli}: whether another machine has sent this could not be asked: ${reason(error)}`);
    return undefined;
  }
}

/** Tells the other machines of a pool which account has a job, or that none has it. */
export async function keepJob(id: string, account: string | undefined, options: JobOptions): Promise<void> {
  const { plan, context } = options;
  const owner = plan.accounts.find(({ name }) => name === account);
  if (!plan.pool || (account !== undefined && !owner)) return;
  const { keepJob: keep } = await context.loadPool();
  const kept = keep(id, owner, options).catch(error => {
    say(`${plan.cli}: other machines do not learn whose job this is: ${reason(error)}`);
  });
  await Promise.race([kept, soon()]);
}

async function soon(): Promise<undefined> {
  await setTimeout(ANSWER_MS, undefined, { ref: false });
}
