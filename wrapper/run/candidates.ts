// Orders the accounts that a command may use by cost and remaining quota, as pure functions that `explain` and a run share.
import type { Provider } from '../catalog/provider.ts';
import type { Account, Capacity } from '../store/config.ts';
import { isBeingProbed, isPaused, PROBE_MS } from '../store/pause.ts';
import type { Plan } from '../store/plan.ts';
import { type CliState, chosenDefault, isOld } from '../store/state.ts';
import { isCommandIn } from './rules/classify.ts';

export type Choice = { by: 'environment' | 'directory' | 'job'; name: string } | { by: 'default' };

/**
 * Reports whether only the chosen account may be tried: a job exists only in the account that created it, some terms allow
 * selecting an account but no automatic failover, and another account may hold different data.
 */
export function isBound(choice: Choice, { provider, failover }: BoundBy): boolean {
  return choice.by === 'job' || provider.accounts === 'one-per-person' || !failover;
}

/** Reports whether another account holds different data: a limit or a refused credential then ends the command. */
export function staysInPlace({ provider, failover }: BoundBy): boolean {
  return !failover && provider.accounts !== 'one-per-person';
}

/**
 * Reports whether a refused credential ends the command: another account holds different data or belongs to another person, or the
 * refusal may have another cause than the credential.
 * @param stays see the catalog's rules
 */
export function endsWhenRefused(plan: BoundBy & { accounts: readonly Account[] }, stays = false): boolean {
  if (stays || staysInPlace(plan)) return true;
  return plan.provider.accounts === 'one-per-person' && plan.accounts.filter(({ enabled }) => enabled).length > 1;
}

/** Describes why no other account is tried, and names the command that selects an account. */
export function anotherPlace({ accounts, provider }: AnotherPlace): string {
  const names = accounts.filter(({ enabled }) => enabled).map(({ name }) => name);
  const why =
    provider.accounts === 'one-per-person'
      ? "by the provider's terms no other account is tried"
      : 'another account holds other projects, so none is tried';
  return `${why}; \`${provider.bin} ${provider.auth_command} use NAME\` selects one (${names.join(', ')})`;
}

interface AnotherPlace {
  accounts: readonly Account[];
  provider: Pick<Provider, 'accounts' | 'bin' | 'auth_command'>;
}

interface BoundBy {
  provider: Pick<Provider, 'accounts'>;
  failover: boolean;
}

export interface Candidate {
  account: Account;
  /** Reason for the account's position, in words. */
  why: string;
  paused: boolean;
  /** True while another run tries the account after its pause. */
  beingProbed: boolean;
  /** True if the known remaining quota does not cover the cost plus the reserve. */
  spent: boolean;
  /** True after a fall below `switch_below`; see `isLow`. */
  low: boolean;
  /** Time of the next possible try, in milliseconds since the epoch; `null` until the credential changes. */
  availableAt: number | null;
}

export interface OrderOptions {
  /** Milliseconds since the epoch. */
  now: number;
  /** Expected use of the command, in the provider's unit. */
  cost?: number;
  capacity?: Partial<Capacity>;
  /** True if accounts with equal identity share one quota. */
  sharedQuota?: boolean;
  /** True to return only the named or default account, whatever its state. */
  onlyChosen?: boolean;
}

/**
 * Returns the enabled accounts in order of use: by strategy, then low accounts, then spent and paused accounts by the time they
 * become available. An account that the user named always comes first. Accounts with a refused credential are left out; if no other
 * account exists, only the first is tried, so that the user sees the provider's answer.
 */
export function orderCandidates(
  accounts: readonly Account[],
  state: CliState,
  choice: Choice,
  options: OrderOptions,
): Candidate[] {
  const enabled = accounts.filter(account => account.enabled);
  const { capacity = {}, onlyChosen = false } = options;
  const named = choice.by !== 'default';
  const roundRobin = capacity.strategy === 'round-robin' && !named && !onlyChosen;
  const first = named ? choice.name : roundRobin ? nextAfter(enabled, state.lastUsed) : chosenDefault(accounts, state);
  const start = Math.max(
    0,
    enabled.findIndex(account => account.name === first),
  );
  const ring = [...enabled.slice(start), ...enabled.slice(0, start)].map((account, index) =>
    describe(account, index === 0 && account.name === first ? whyFirst(choice, roundRobin) : 'next in the list', {
      state,
      options,
    }),
  );
  if (onlyChosen) return ring.slice(0, 1);
  const pinned = named ? ring.slice(0, 1) : [];
  const others = ring.slice(pinned.length);
  const ready = byStrategy(
    others.filter(candidate => !isLate(candidate)),
    state,
    capacity.strategy,
  );
  const order = [
    ...pinned,
    ...ready.filter(candidate => !candidate.low),
    ...ready.filter(candidate => candidate.low),
    ...others.filter(isLate).sort((a, b) => lateness(a) - lateness(b)),
  ];
  const isRefused = ({ account: { name } }: Candidate) =>
    state.paused[name]?.class === 'auth' && isPaused(state.paused[name], options.now);
  const usable = order.filter(candidate => !isRefused(candidate) || pinned.includes(candidate));
  return usable.length > 0 ? usable : order.slice(0, 1);
}

/**
 * Orders the accounts for a request or a server. The local remaining quota is an estimate; a pool knows the quota better.
 * @param careful uses the local remaining quota even with a pool
 * @param isRequest true for one of many requests: accounts that seem spent are tried, unless there is a reserve
 * @param patient leaves out accounts that are paused or spent
 * @param tried names of accounts to leave out
 */
export function candidatesForRequest(
  plan: Pick<Plan, 'accounts' | 'capacity' | 'provider' | 'pool' | 'failover'>,
  state: CliState,
  choice: Choice,
  given: Record<'now' | 'cost', number> & Record<'careful' | 'isRequest' | 'patient', boolean> & { tried: string[] },
): Candidate[] {
  const { now, cost, careful, isRequest, patient, tried } = given;
  const { capacity, provider, accounts, pool } = plan;
  const figures = { ...state, ...(pool && !careful && { remaining: {} }), ...(pool && { paused: {} }) };
  const sharedQuota = provider.scope !== 'key';
  const order = { now, cost, capacity, sharedQuota, onlyChosen: isBound(choice, plan) };
  const ordered = orderCandidates(accounts, figures, choice, order);
  const asMuch = careful && choice.by === 'default' && ordered.every(isLate) ? byMost(ordered, figures) : ordered;
  const leaves = ({ paused, spent }: Candidate) => paused || (spent && (!isRequest || capacity.reserve > 0));
  return asMuch.filter(candidate => !tried.includes(candidate.account.name) && !(patient && leaves(candidate)));
}

/** Reports whether an account comes after the others, because it is paused or has too little left. */
function isLate({ spent, paused }: Candidate): boolean {
  return spent || paused;
}

/** Sorts candidates by remaining quota: if no account has enough for a job, the fullest account can do the most of it. */
function byMost(candidates: readonly Candidate[], { remaining }: Pick<CliState, 'remaining'>): Candidate[] {
  const left = ({ account, paused }: Candidate) =>
    paused ? -1 : (remaining[account.name]?.remaining ?? Number.POSITIVE_INFINITY);
  return candidates.toSorted((a, b) => left(b) - left(a) || 0);
}

/** Returns the earliest future time at which a candidate is available, or `undefined` if there is no such time. */
export function earliestAvailable(candidates: readonly Candidate[], now: number): number | undefined {
  const times = candidates.flatMap(({ availableAt }) =>
    availableAt !== null && availableAt > now ? [availableAt] : [],
  );
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** Reports whether two accounts are known to draw on one quota. */
export function shareQuota(a: string, b: string, state: Pick<CliState, 'remaining'>): boolean {
  const [one, other] = [state.remaining[a], state.remaining[b]];
  const isSame = (key: 'identity' | 'moment') => one?.[key] !== undefined && one[key] === other?.[key];
  return a !== b && (isSame('identity') || isSame('moment'));
}

function describe(
  account: Account,
  why: string,
  { state, options }: { state: CliState; options: OrderOptions },
): Candidate {
  const { name } = account;
  const { now, cost = 0, capacity = {} } = options;
  const own = state.paused[name];
  const shared = options.sharedQuota
    ? Object.keys(state.paused).filter(other => shareQuota(name, other, state) && state.paused[other]!.class !== 'auth')
    : [];
  const pauses = [own, ...shared.map(other => state.paused[other])].filter(each => isPaused(each, now));
  const beingProbed = own !== undefined && isBeingProbed(own, now);
  const paused = pauses.length > 0 || beingProbed;
  const figures = state.remaining[name];
  const resets = figures?.resets ? Date.parse(figures.resets) : Number.NaN;
  const remaining = figures && isOld(figures, now) ? undefined : figures?.remaining;
  const spent = typeof remaining === 'number' && (remaining <= 0 || remaining - cost < (capacity.reserve ?? 0));
  const times = pauses.map(each => (each!.until === null ? Number.POSITIVE_INFINITY : each!.until));
  const latest = Math.max(
    now,
    ...times,
    ...(beingProbed ? [own!.probedAt! + PROBE_MS] : []),
    ...(spent && resets > now ? [resets] : []),
  );
  return {
    account,
    why,
    paused,
    beingProbed,
    spent,
    low: isLow(name, state, capacity),
    availableAt: Number.isFinite(latest) ? latest : null,
  };
}

/** Reports whether an account is below `switch_below`, or was and has not returned to `return_above`. */
export function isLow(
  name: string,
  state: Pick<CliState, 'remaining' | 'low'>,
  { switch_below: below, return_above: above }: Partial<Capacity>,
): boolean {
  const remaining = state.remaining[name]?.remaining;
  if (below === undefined || typeof remaining !== 'number') return false;
  return remaining < below || (state.low.includes(name) && remaining < (above ?? below * 2));
}

/** Returns why an account comes first. */
export function whyFirst(choice: Choice, roundRobin = false): string {
  if (roundRobin) return 'next in turn';
  return {
    environment: 'named by CULVERT_WRAP_ACCOUNT',
    directory: 'chosen for this directory',
    job: 'created the job',
    default: 'default',
  }[choice.by];
}

function nextAfter(enabled: readonly Account[], name: string | undefined): string | undefined {
  const index = enabled.findIndex(account => account.name === name);
  return enabled[(index + 1) % enabled.length]?.name;
}

function byStrategy(ready: Candidate[], state: CliState, strategy: Capacity['strategy'] | undefined): Candidate[] {
  const left = ({ account }: Candidate) => state.remaining[account.name]?.remaining ?? undefined;
  const resets = ({ account }: Candidate) => {
    const time = Date.parse(state.remaining[account.name]?.resets ?? '');
    return Number.isNaN(time) ? undefined : time;
  };
  const ascending = (value: (candidate: Candidate) => number | undefined) => (a: Candidate, b: Candidate) =>
    compare(value(a), value(b));
  switch (strategy) {
    case 'most-remaining':
      return named(
        ready.sort((a, b) => compare(negated(left(a)), negated(left(b)))),
        'has most left',
      );
    case 'drain-first':
      return named(ready.sort(ascending(left)), 'has least left');
    case 'soonest-reset':
      return named(
        ready.sort((a, b) => compare(resets(a), resets(b)) || compare(left(a), left(b))),
        'resets first',
      );
    default:
      return ready;
  }
}

function named(ready: Candidate[], why: string): Candidate[] {
  return ready.map((candidate, index) => (index === 0 ? { ...candidate, why } : candidate));
}

function negated(value: number | undefined): number | undefined {
  return value === undefined ? undefined : -value;
}

/** Compares numbers in ascending order, with unknown values last. */
function compare(a: number | undefined, b: number | undefined): number {
  // the difference of two unknown values is not a number
  return (a ?? Number.POSITIVE_INFINITY) - (b ?? Number.POSITIVE_INFINITY) || 0;
}

/** Returns a sort key: spent accounts come first, then paused accounts by the end of their pause. */
function lateness({ paused, availableAt }: Candidate): number {
  return paused ? (availableAt ?? Number.POSITIVE_INFINITY) : 0;
}

/** Returns a command's expected cost: the user's figure, else the catalog's, else 1. The longest matching name counts. */
export function costOf(command: string, provider: Pick<Provider, 'costs'>, capacity: Pick<Capacity, 'costs'>): number {
  const costs = { ...provider.costs, ...capacity.costs };
  const name = Object.keys(costs)
    .filter(key => isCommandIn(command, [key]))
    .sort((a, b) => b.length - a.length)[0];
  return name === undefined ? 1 : costs[name]!;
}

/** Reports whether the settings require the remaining quota. */
export function needsUsage({ capacity }: { capacity: Capacity }): boolean {
  return (
    capacity.policy !== 'execute' ||
    capacity.reserve > 0 ||
    capacity.warn_below !== undefined ||
    capacity.switch_below !== undefined ||
    capacity.notify_at.length > 0 ||
    (capacity.strategy !== 'in-order' && capacity.strategy !== 'round-robin')
  );
}

/** Reports whether any account is neither paused nor spent. */
export function isAvailable(candidates: readonly Candidate[]): boolean {
  return candidates.some(({ paused, spent }) => !paused && !spent);
}

/**
 * Returns the total remaining quota of the accounts, or `undefined` if a figure is missing. A quota that several accounts
 * share counts once.
 */
export function totalRemaining(names: readonly string[], state: Pick<CliState, 'remaining'>): number | undefined {
  let total = 0;
  for (const [index, name] of names.entries()) {
    const remaining = state.remaining[name]?.remaining;
    if (typeof remaining !== 'number') return undefined;
    if (!names.slice(0, index).some(other => shareQuota(other, name, state))) total += remaining;
  }
  return total;
}

/** Reports whether a warning is due: the total is below the threshold, and the last warning is over an hour old. */
export function isWarningDue(
  total: number | undefined,
  capacity: Capacity,
  state: Pick<CliState, 'warnedAt'>,
  now: number,
): boolean {
  if (total === undefined || capacity.warn_below === undefined || total >= capacity.warn_below) return false;
  return state.warnedAt === undefined || state.warnedAt > now || now - state.warnedAt > 3_600_000;
}
