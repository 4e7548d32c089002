// Says when an account may be tried again. Pure.

/**
 * Length of a cooldown. `period`: until the quota starts again; `credential`: until the credential changes;
 * `time`: until a moment in milliseconds since the epoch.
 */
export type NamedCooldown =
  | { until: 'period' }
  | { until: 'credential' }
  | { until: 'elapsed'; ms: number }
  | { until: 'time'; at: number };

/** Why an account is not tried for a while. */
export interface Cooldown {
  class: 'quota' | 'rate' | 'auth';
  /** Milliseconds since the epoch; `null` until its credential changes. */
  until: number | null;
  since: number;
  /** Fingerprint of the credential that was refused. */
  credential?: string;
  /** When a run began to try the account again after `until`. */
  probedAt?: number;
}

/** A run that tries an account after its cooldown gets this long, in milliseconds, before another run may. */
export const PROBE_MS = 60_000;

/** Reports whether an account is cooling down now. */
export function isCoolingDown(cooldown: Cooldown | undefined, now: number): boolean {
  return cooldown !== undefined && (cooldown.until === null || cooldown.until > now);
}

/** Reports whether a run claimed the account within the last minute. */
export function isBeingProbed({ probedAt }: Pick<Cooldown, 'probedAt'>, now: number): boolean {
  return probedAt !== undefined && now >= probedAt && now - probedAt < PROBE_MS;
}
