// Lets only one of this machine's runs try an account after its pause, without asking other machines.
import type { Context, Leased, LeaseEnd, LeaseOptions, Leases } from '../../context.ts';
import type { Account } from '../../store/config.ts';
import { isBeingProbed, isPaused } from '../../store/pause.ts';
import type { Plan } from '../../store/plan.ts';
import { type CliState, updateState } from '../../store/state.ts';

const QUOTAS_KNOWN_MS = 3_600_000;
const ASK_MS = 2_000;

/** The leases of a machine that is in no pool. */
export class LocalLeases implements Leases {
  readonly refusal = '';
  readonly degraded = false;
  readonly isShared = false;
  readonly #options: LeaseOptions;
  #leased: Leased = { account: undefined, rest: [], awaits: false };
  #hasAsked = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  async next(accounts: readonly Account[], patient: boolean): Promise<Leased> {
    const { pinned } = this.#options;
    const index = accounts.findIndex(({ name }) => name === pinned || claimProbe(name, this.#options));
    const probedByOthers = index < 0 ? accounts : accounts.slice(0, index);
    // Patient runs leave accounts that other runs are probing; other runs try them last.
    const usable = [...(index < 0 ? [] : accounts.slice(index)), ...(patient ? [] : probedByOthers)];
    this.#leased = { account: usable[0], rest: usable.slice(1), awaits: patient && probedByOthers.length > 0 };
    return this.#leased;
  }

  async matches(): Promise<boolean> {
    return true;
  }

  /** Asks the provider about the quotas before the next account is tried, because several keys may draw on one quota. */
  async settle({ pause }: LeaseEnd): Promise<void> {
    if (!pause || pause.class === 'auth' || this.#leased.rest.length === 0 || this.#hasAsked) return;
    this.#hasAsked = true;
    await this.#learnQuotas();
  }

  async finish(): Promise<void> {}

  /**
   * Asks what the accounts have left and which of them share a quota, unless the answers are less than an hour old. The answer also
   * says when a used-up quota resets. A run waits for it for `ASK_MS` at most.
   */
  async #learnQuotas(): Promise<void> {
    const { plan, state, context, credentials } = this.#options;
    const { scope, usage } = plan.provider;
    if (scope === 'key' || scope === 'ip' || !(usage?.identity ?? usage?.moment)) return;
    const now = context.now();
    const isKnown = (at = 0) => at > now - QUOTAS_KNOWN_MS && at <= now;
    const { account, rest } = this.#leased;
    if ([account!, ...rest].every(({ name }) => isKnown(state.remaining[name]?.at))) return;
    const { refreshUsage } = await context.load();
    await Promise.race([
      refreshUsage(plan, state, context, { credentials }).catch(() => {}),
      new Promise(resolve => setTimeout(resolve, ASK_MS).unref()),
    ]);
  }
}

/**
 * Claims the first try after a pause. If another run was faster, copies its pause into `state`.
 * @returns true if this run may try the account, or the account has no pause
 */
export function claimProbe(
  name: string,
  { plan, state, context }: { plan: Pick<Plan, 'cli'>; state: CliState; context: Pick<Context, 'paths' | 'now'> },
): boolean {
  const pause = state.paused[name];
  if (!pause || isPaused(pause, context.now())) return true;
  try {
    let mine = true;
    updateState(context.paths, plan.cli, stored => {
      const current = stored.paused[name];
      if (!current) return;
      // Read the clock under the lock: a claim that another run made during the wait must not look like a future claim.
      const now = context.now();
      mine = !isPaused(current, now) && !isBeingProbed(current, now);
      if (mine) current.probedAt = now;
      else state.paused[name] = current;
    });
    return mine;
  } catch {
    // The state can't be written: several runs may try the account at the same time.
    return true;
  }
}
