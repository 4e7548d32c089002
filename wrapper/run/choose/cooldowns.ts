// Says how long an account cools down after a failure. Pure.
import type { Provider } from '../../catalog/provider.ts';
import type { Cooldown, NamedCooldown } from '../../store/cooldown.ts';
import { formatDuration } from '../../system/duration.ts';
import type { Verdict } from '../rules/classify.ts';

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
