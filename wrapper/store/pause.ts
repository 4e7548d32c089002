// Defines an account's pause and reports whether it lasts. Pure.

/**
 * Length of a pause, called `rest` in the catalog's rules. `period`: until the quota renews; `credential`: until the credential
 * changes; `elapsed`: for `ms` milliseconds; `time`: until `at`, in milliseconds since the epoch.
 */
export type NamedPause =
  | { until: 'period' }
  | { until: 'credential' }
  | { until: 'elapsed'; ms: number }
  | { until: 'time'; at: number };

/** Classification of an attempt's result. */
export type Verdict =
  | { kind: 'success' }
  | {
      kind: 'retry';
      class: 'quota' | 'rate' | 'auth';
      rest: NamedPause;
      /** Text that led to the verdict. */
      text: string;
      /** Scope of the limit, if it differs from the provider's `scope`. */
      scope?: 'key' | 'project' | 'team' | 'ip' | undefined;
      /** True if the provider named the time in `rest`. */
      stated?: true;
      /** Units that the account has left, according to the provider. */
      left?: number;
      /** True if the text is inconclusive and the provider is asked. */
      check?: true;
      /** True if no other account may be tried. */
      stays?: true;
      /** Explanation for the user, from the catalog. */
      note?: string;
    }
  | {
      kind: 'final';
      class: 'usage' | 'other';
      /** Explanation for the user, from the catalog. */
      note?: string;
    };

/** A period in which an account is not tried. */
export interface Pause {
  class: 'quota' | 'rate' | 'auth';
  /** Milliseconds since the epoch; `null`: until the credential changes. */
  until: number | null;
  since: number;
  /** Fingerprint of the credential that was refused. */
  credential?: string;
  /** True if the provider named the end. */
  stated?: true;
  /** Time when a run began to retry the account after `until`. */
  probedAt?: number;
}

/** Time, in milliseconds, that a run has to retry an account after its pause before another run may. */
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
