// Says what a failure means: how long its account cools down, and why the request is not made again. Pure.
import type { Provider } from '../../catalog/provider.ts';
import type { Cooldown, NamedCooldown } from '../../store/cooldown.ts';
import { formatDuration } from '../../system/duration.ts';
import type { Verdict } from '../rules/classify.ts';
import type { Failure } from './choose.ts';

export type Retry = Verdict & { kind: 'retry' };

const QUOTA_COOLDOWN_MS = 3_600_000;
const CLASS_TEXT = { quota: 'has no quota left', rate: 'is rate limited', auth: 'was refused' } as const;

/**
 * The cooldown of an account after a failure.
 * @param resets when its quota starts again, as the provider stated it
 * @param now milliseconds since the epoch
 */
export function cooldownFor(failure: Retry, resets: string | null | undefined, now: number): Cooldown {
  return { class: failure.class, until: endOf(failure.rest, resets, now), since: now };
}

/** In milliseconds since the epoch, or `null` until the credential changes. */
function endOf(rest: NamedCooldown, resets: string | null | undefined, now: number): number | null {
  if (rest.until === 'credential') return null;
  if (rest.until === 'elapsed') return now + rest.ms;
  if (rest.until === 'time' && rest.at > now) return rest.at;
  const end = resets ? Date.parse(resets) : Number.NaN;
  return end > now ? end : now + QUOTA_COOLDOWN_MS;
}

/** Reports whether another account would meet the same limit. */
export function isLimitOfAddress(failure: Retry, provider: Pick<Provider, 'scope'>): boolean {
  return failure.class !== 'auth' && (failure.scope ?? provider.scope) === 'ip';
}

/** A failure with its cooldown, for a person. */
export function describeFailure(cli: string, account: string, cooldown: Cooldown): string {
  const rest =
    cooldown.until === null
      ? 'paused until its credential changes'
      : `paused for ${formatDuration(cooldown.until - cooldown.since)}`;
  return `${cli}: account "${account}" ${CLASS_TEXT[cooldown.class]} (${cooldown.class}, ${rest})`;
}

/** Known facts about a failed request. */
export interface Traces {
  /** Signal that ended it from outside: `SIGTERM`. */
  interrupted?: string | null | undefined;
  /** The job that it created. */
  job?: string | undefined;
  /** Part of its answer has been passed on. */
  isShown: boolean;
  /** It may be made twice. */
  isRepeatable: boolean;
  /** Failures after which a job may exist whose id was not printed. */
  silentJob: readonly Failure['class'][];
  /** Options of the tool that print the id of such a job. */
  showingOptions: readonly string[];
  /** The limit is one of this network address. */
  isOfAddress: boolean;
  /** Its input was kept. */
  isInputKept: boolean;
}

/** Why the request is not repeated, or `undefined` where it can be. */
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
