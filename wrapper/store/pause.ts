// Says when an account may be tried again. Pure.

/**
 * Length of a pause, `rest` in a rule of the catalog. `period`: until the quota starts again; `credential`: until the credential changes;
 * `time`: until a moment in milliseconds since the epoch.
 */
export type NamedPause =
  | { until: 'period' }
  | { until: 'credential' }
  | { until: 'elapsed'; ms: number }
  | { until: 'time'; at: number };

/** Meaning of the end of an attempt. */
export type Verdict =
  | { kind: 'success' }
  | {
      kind: 'retry';
      class: 'quota' | 'rate' | 'auth';
      rest: NamedPause;
      /** The text that says so. */
      text: string;
      /** Whose limit it is, when that differs from the provider's `scope`. */
      scope?: 'key' | 'project' | 'team' | 'ip' | undefined;
      /** The provider named the time in `rest`. */
      stated?: true;
      /** Units that the account has left, as the provider says. */
      left?: number;
      /** The text says too little, so the provider is asked. */
      check?: true;
      /** No other account is to be tried. */
      stays?: true;
      /** Meaning for a person, as the catalog writes it. */
      note?: string;
    }
  | {
      kind: 'final';
      class: 'usage' | 'other';
      /** Meaning for a person, as the catalog writes it. */
      note?: string;
    };

/** Why an account is not tried for a while. */
export interface Pause {
  class: 'quota' | 'rate' | 'auth';
  /** Milliseconds since the epoch; `null` until its credential changes. */
  until: number | null;
  since: number;
  /** Fingerprint of the credential that was refused. */
  credential?: string;
  /** The provider named the end. */
  stated?: true;
  /** When a run began to try the account again after `until`. */
  probedAt?: number;
}

/** A run that tries an account after its pause gets this long, in milliseconds, before another run may. */
export const PROBE_MS = 60_000;

/** Reports whether an account is paused now. A pause that begins in the future was written while the clock was wrong. */
export function isPaused(pause: Pause | undefined, now: number): boolean {
  if (pause === undefined || pause.since > now) return false;
  return pause.until === null || pause.until > now;
}

/** Reports whether a run claimed the account within the last minute. */
export function isBeingProbed({ probedAt }: Pick<Pause, 'probedAt'>, now: number): boolean {
  return probedAt !== undefined && now >= probedAt && now - probedAt < PROBE_MS;
}
