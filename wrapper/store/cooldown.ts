// Says when an account may be tried again. Pure.

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

/** Whether an account is cooling down now. */
export function isCoolingDown(cooldown: Cooldown | undefined, now: number): boolean {
  return cooldown !== undefined && (cooldown.until === null || cooldown.until > now);
}

/** Whether a run claimed the account within the last minute. */
export function isBeingProbed({ probedAt }: Pick<Cooldown, 'probedAt'>, now: number): boolean {
  return probedAt !== undefined && now >= probedAt && now - probedAt < PROBE_MS;
}
