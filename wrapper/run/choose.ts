// Computes the accounts to try next, the pause after a failure, and whether a request may be repeated, as pure functions.
import type { Provider } from '../catalog/provider.ts';
import type { Account } from '../store/config.ts';
import type { NamedPause, Pause } from '../store/pause.ts';
import { type CliState, fingerprint } from '../store/state.ts';
import { formatDuration } from '../system/notation.ts';
import { type Candidate, type Choice, shareQuota, whyFirst } from './candidates.ts';
import type { Verdict } from './rules/classify.ts';
import { waitUntil } from './rules/moments.ts';

/** An account that met a limit or was refused. */
export interface Failure {
  account: string;
  class: 'quota' | 'rate' | 'auth';
  /** Reason why no other account may repeat the request; see `obstacleTo`. */
  obstacle?: string | undefined;
}

/** State of a request that moves from account to account. */
export interface Choosing {
  /** Accounts that have not been tried yet, the best first. */
  left: readonly Account[];
  failures: readonly Failure[];
  /** True if an omitted account becomes available automatically, and the request can wait for it. */
  awaits: boolean;
  /** True if accounts with one identity draw on one quota. */
  sharesQuota: boolean;
}

export type Next =
  | {
      kind: 'accounts';
      choosing: Choosing;
      /** Accounts that may be tried now, the best first. */
      accounts: readonly Account[];
      spared: readonly Spared[];
    }
  | {
      kind: 'end';
      spared: readonly Spared[];
      /** Reason not to repeat the failed command, if any. */
      obstacle: string | undefined;
      /** True if a limit was met or an account is awaited, so that the request may succeed later. */
      exhausted: boolean;
    };

/** An account that is not tried because another account met the limit of their shared quota. */
interface Spared {
  account: string;
  sameAs: string;
}

interface Options {
  /** True if the request can wait or be kept, so that paused accounts are left out. */
  patient: boolean;
  /** True if the user named the first account, which is then tried whatever its state. */
  pinned: boolean;
  sharesQuota: boolean;
}

/** Returns the initial state for candidates in their order. */
export function begin(candidates: readonly Candidate[], { patient, pinned, sharesQuota }: Options): Choosing {
  const ready = candidates.filter(({ paused }, index) => !patient || !paused || (pinned && index === 0));
  return {
    left: ready.map(({ account }) => account),
    failures: [],
    awaits: ready.length < candidates.length,
    sharesQuota,
  };
}

/**
 * Returns the first step, or the next step after a failure.
 * @param state latest figures of the accounts' quotas
 */
export function next(choosing: Choosing, state: Pick<CliState, 'remaining'>, failure?: Failure): Next {
  const failures = failure ? [...choosing.failures, failure] : choosing.failures;
  if (failure?.obstacle !== undefined) {
    return { kind: 'end', spared: [], obstacle: failure.obstacle, exhausted: false };
  }
  const spared = choosing.left.map(account => sparedFor(account, choosing.sharesQuota ? failures : [], state));
  const accounts = choosing.left.filter((_, index) => !spared[index]);
  const first = accounts.length > 0 ? choosing.left.indexOf(accounts[0]!) : choosing.left.length;
  const reported = spared.slice(0, first).filter(each => each !== undefined);
  if (accounts.length === 0) {
    const exhausted = choosing.awaits || failures.some(each => each.class !== 'auth');
    return { kind: 'end', spared: reported, obstacle: undefined, exhausted };
  }
  return {
    kind: 'accounts',
    choosing: { ...choosing, left: choosing.left.slice(first), failures },
    accounts,
    spared: reported,
  };
}

function sparedFor(
  { name }: Account,
  failures: readonly Failure[],
  state: Pick<CliState, 'remaining'>,
): Spared | undefined {
  const same = failures.find(failure => failure.class !== 'auth' && shareQuota(failure.account, name, state));
  return same && { account: name, sameAs: same.account };
}

/**
 * Returns the state after an account was taken, or no account could be leased.
 * @param accounts the accounts that `next` returned
 * @param taken the account that is tried, the accounts that may follow, and whether more may come later
 */
export function afterTaking(
  choosing: Choosing,
  accounts: readonly Account[],
  taken: { account: Account | undefined; rest: readonly Account[]; awaits: boolean },
): Choosing {
  const spared = choosing.left.filter(account => !accounts.includes(account));
  const left = taken.account ? [...taken.rest, ...spared] : [];
  return { ...choosing, left, awaits: choosing.awaits || taken.awaits };
}

/** Returns the state with a taken account put first again, for another try. */
export function afterReturning(choosing: Choosing, account: Account): Choosing {
  return { ...choosing, left: [account, ...choosing.left] };
}

export type Retry = Verdict & { kind: 'retry' };

const QUOTA_PAUSE_MS = 3_600_000;
const RATE_PAUSE_MS = 60_000;
/** Pause before a refused key is tried again, because a network or an outage may have caused the refusal. */
const AUTH_PAUSE_MS = 3_600_000;
/** Longest pauses. A longer pause is a mistake of the program that stated it. */
const MAX_PAUSE_MS = { rate: 3_600_000, quota: 366 * 86_400_000, auth: 366 * 86_400_000 } as const;
const CLASS_TEXT = { quota: 'has no quota left', rate: 'is rate limited', auth: 'was refused' } as const;

/**
 * Returns the pause of an account after a failure.
 * @param resets reset time of its quota, as the provider stated it
 * @param now milliseconds since the epoch
 * @param earlier previous pause of the same credential
 */
export function pauseFor(failure: Retry, resets: string | null | undefined, now: number, earlier?: Pause): Pause {
  const { class: kind } = failure;
  const rest = withinReason(failure, now);
  // the credential is tried again an hour after its first refusal
  const isFirst = kind === 'auth' && rest.until === 'credential' && !isRefusedAgain(earlier, now);
  const until = isFirst ? now + AUTH_PAUSE_MS : endOf(rest, resets, now);
  return { class: kind, until, since: now, ...(isAsStated(failure, now) && { stated: true }) };
}

/**
 * Limits a pause: a rate limit lasts for the time that the provider states, else for a minute, and never for more than an hour.
 * Ignores a time in the past.
 */
export function withinReason({ class: kind, rest }: Retry, now: number): NamedPause {
  const longest = MAX_PAUSE_MS[kind];
  if (rest.until === 'elapsed') return { ...rest, ms: Math.min(rest.ms, longest) };
  if (rest.until === 'time' && rest.at > now) {
    return kind === 'rate'
      ? { until: 'elapsed', ms: Math.min(rest.at - now, longest) }
      : { ...rest, at: Math.min(rest.at, now + longest) };
  }
  if (kind === 'rate') return { until: 'elapsed', ms: RATE_PAUSE_MS };
  return rest.until === 'time' ? { until: 'period' } : rest;
}

/** Reports whether the pause is as long as the provider stated: its end is in the future, and it was not shortened. */
function isAsStated({ class: kind, rest, stated }: Retry, now: number): boolean {
  if (!stated || (rest.until !== 'elapsed' && rest.until !== 'time')) return false;
  const wait = waitUntil(rest, now);
  return wait !== undefined && wait <= MAX_PAUSE_MS[kind];
}

/** Returns a pause's end, in milliseconds since the epoch, or `null` if it lasts until the credential changes. */
function endOf(rest: NamedPause, resets: string | null | undefined, now: number): number | null {
  if (rest.until === 'credential') return null;
  if (rest.until === 'elapsed') return now + rest.ms;
  if (rest.until === 'time') return rest.at;
  const end = resets ? Date.parse(resets) : Number.NaN;
  return end > now ? Math.min(end, now + MAX_PAUSE_MS.quota) : now + QUOTA_PAUSE_MS;
}

/** Reports whether a credential was refused before, the pause is over, and the credential has not worked since. */
function isRefusedAgain(earlier: Pause | undefined, now: number): boolean {
  return earlier?.class === 'auth' && earlier.since <= now && (earlier.until ?? 0) <= now;
}

/** Returns the stored pause of an account, if it is for this credential. */
export function earlierPause(
  { paused, salt }: Pick<CliState, 'paused' | 'salt'>,
  account: string,
  credentials: Record<string, string>,
): Pause | undefined {
  const earlier = paused[account];
  return earlier?.credential === fingerprint(salt, credentials) ? earlier : undefined;
}

/** Returns the shortest remaining pause of these accounts, in seconds, and whether the provider stated it. */
export function firstToReturn(
  accounts: readonly Account[],
  { paused }: Pick<CliState, 'paused'>,
  now: number,
): { seconds: number; class: Failure['class']; stated: boolean } | undefined {
  const pauses = accounts.flatMap(({ name }) => {
    const { until = 0, class: kind, stated = false } = paused[name] ?? {};
    const seconds = Math.ceil(((until ?? 0) - now) / 1_000);
    return seconds > 0 ? [{ seconds, class: kind!, stated }] : [];
  });
  return pauses.sort((a, b) => a.seconds - b.seconds)[0];
}

/** Reports whether another account would meet the same limit. */
export function isLimitOfAddress(failure: Retry, provider: Pick<Provider, 'scope'>): boolean {
  return failure.class !== 'auth' && (failure.scope ?? provider.scope) === 'ip';
}

/** Returns the message about a failure and its pause. */
export function describeFailure(cli: string, account: string, pause: Pause): string {
  const rest =
    pause.until === null
      ? 'paused until its credential changes'
      : `paused for ${formatDuration(pause.until - pause.since)}`;
  return `${cli}: account "${account}" ${CLASS_TEXT[pause.class]} (${pause.class}, ${rest})`;
}

/** Returns the message about a request that needs more than its account has left. */
export function describeTooLarge(cli: string, account: string, left: number): string {
  return `${cli}: account "${account}" has ${left} left, and this wants more (quota, not paused)`;
}

/** Returns the message about a failure if the provider's terms allow no other account. */
export function describeSelected(cli: string, account: string, kind: Retry['class'], pause: Pause | undefined): string {
  // a refused credential gets no pause here; a stored pause may come from an earlier limit; the end of a quota may be a guess
  const isKnown = pause?.class === kind && (kind === 'rate' || (kind === 'quota' && pause.stated === true));
  const until = isKnown ? pause.until : null;
  const end = until === null ? '' : ` until ${new Date(until).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `${cli}: account "${account}" ${CLASS_TEXT[kind]}${end} (${kind}); by the provider's terms no other account is used`;
}

/**
 * Returns the line that names the account of a command, if the tool's accounts are logins; the command itself does not show it.
 * @param choice why the account was chosen
 */
export function describeServed(cli: string, { name, login }: Account, choice: Choice): string {
  const where = login === undefined ? '' : `, login in ${login}`;
  return `${cli}: account "${name}" serves this (${whyFirst(choice)}${where})`;
}

/** Known facts about a failed request. */
export interface Traces {
  /** Signal that interrupted the request, such as `SIGTERM`. */
  interrupted?: string | null | undefined;
  /** Id of the job that the request created. */
  job?: string | undefined;
  /** True if part of the answer has been passed on. */
  isShown: boolean;
  /** True if the request may be made twice. */
  isRepeatable: boolean;
  /** Failures after which a job may exist without a printed id. */
  silentJob: readonly Failure['class'][];
  /** Options of the tool that print the id of the job. */
  showingOptions: readonly string[];
  /** True if the limit applies to this network address. */
  isOfAddress: boolean;
  /** True if the request's input was kept. */
  isInputKept: boolean;
}

/** Returns why the request must not be repeated, or `undefined` if it may be. */
export function obstacleTo(failure: Failure['class'], traces: Traces): string | undefined {
  const { interrupted, job, showingOptions } = traces;
  if (interrupted) return `${interrupted} arrived`;
  if (job !== undefined) return `the job ${job} already exists`;
  if (traces.isShown) return 'part of its output has been passed on';
  if (!traces.isRepeatable) return 'the command must run once only';
  if (traces.silentJob.includes(failure)) {
    const showing = showingOptions.length > 0 ? ` (${showingOptions.join(' or ')} shows it)` : '';
    return `it may have created a job without printing its id${showing}`;
  }
  if (traces.isOfAddress) return 'the limit is one of this network address, not of the account';
  return traces.isInputKept ? undefined : 'its standard input could not be kept';
}
