// Lets this machine's runs take turns in trying an account after its cooldown; other machines are not asked.
import type { Leased, LeaseEnd, LeaseOptions, Leases } from '../context.ts';
import type { Account } from '../store/config.ts';
import { claimProbe } from './accounts/probe.ts';

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
    // Patient runs leave them to the others; the rest tries them after all other accounts.
    const usable = [...(index < 0 ? [] : accounts.slice(index)), ...(patient ? [] : probedByOthers)];
    this.#leased = { account: usable[0], rest: usable.slice(1), awaits: patient && probedByOthers.length > 0 };
    return this.#leased;
  }

  async matches(): Promise<boolean> {
    return true;
  }

  /** Several keys may draw on one quota, so that is asked before the next one is tried. */
  async settle({ cooldown }: LeaseEnd): Promise<void> {
    if (!cooldown || cooldown.class === 'auth' || this.#leased.rest.length === 0 || this.#hasAsked) return;
    this.#hasAsked = true;
    await this.#learnQuotas();
  }

  async finish(): Promise<void> {}

  /**
   * Asks what the accounts have left and which of them are one quota, unless it was within the hour. The answer also says when a
   * used-up quota starts again. Nobody waits long for it.
   */
  async #learnQuotas(): Promise<void> {
    const { plan, state, context, credentials } = this.#options;
    const { scope, usage } = plan.provider;
    if (scope === 'key' || scope === 'ip' || !(usage?.identity ?? usage?.moment)) return;
    const oldest = context.now() - QUOTAS_KNOWN_MS;
    const { account, rest } = this.#leased;
    if ([account!, ...rest].every(({ name }) => (state.remaining[name]?.at ?? 0) > oldest)) return;
    const { refreshUsage } = await context.load();
    await Promise.race([
      refreshUsage(plan, state, context, { credentials }).catch(() => {}),
      new Promise(resolve => setTimeout(resolve, ASK_MS).unref()),
    ]);
  }
}
