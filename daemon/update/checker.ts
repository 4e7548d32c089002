// Fetches the newest release. Simultaneous callers share one request, and a token bucket limits the number of requests.
import { releaseTrust, type Trust, type Verified } from '../../manifest/verify.ts';
import type { UpdateCheck } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { Problem } from '../problem.ts';
import { message } from '../view/message.ts';
import { refused } from './errors.ts';
import { LIMITS, type Limits } from './fetch.ts';
import { fetchRelease, type ReleaseSource } from './release.ts';
import { describeFailure } from './report.ts';
import { loadUpdateState, recordRelease, saveUpdateState } from './update-state.ts';

/** Result of a check: a release or a problem. */
export interface Answer {
  /** Channel and source that the answer is for. */
  cacheKey: string;
  /** In milliseconds since 1970. */
  at: number;
  release: Verified | null;
  problem: UpdateCheck['problem'];
}

/** Lifetime of a cached answer; a failure expires sooner. */
const ANSWER_TTL_MS = 15 * 60_000;
const FAILURE_TTL_MS = 30_000;
/** Requests allowed in a burst, and the time until one more is allowed. */
const BURST = 100;
const REFILL_MS = 5_000;

export interface CheckerOptions {
  version: string;
  now(): number;
  /** Default: the keys that are pinned in this build. */
  trust?: () => Trust;
  limits?: Limits;
  redirectHosts: readonly string[];
}

export interface Checker {
  source(): ReleaseSource;
  fetching(): Parameters<typeof fetchRelease>[2];
  /** Fetches the newest release now. @throws Failure, Problem `busy` */
  fetchLatest(): Promise<Verified>;
  /** The answer to a new request, or to the request under way. Never rejects. */
  checkLatest(): Promise<Answer>;
  /** The last answer for this configuration, while it is recent. With `fresh`, only while no request is allowed. */
  recent(fresh: boolean): Answer | null;
  last(): Answer | null;
  /** Resolves when no request is under way. */
  idle(): Promise<unknown>;
}

export function createChecker(context: FeatureContext, options: CheckerOptions, signal: AbortSignal): Checker {
  const { paths, settings, env } = context;
  const { version, now, redirectHosts, limits = LIMITS, trust = releaseTrust } = options;
  let last: Answer | null = null;
  let pending: Promise<Answer> | undefined;
  const bucket = createBucket(now);

  const source = () => ({ source: settings.config.updates.source, channel: settings.config.updates.channel });
  const cacheKey = () => `${source().channel} ${source().source}`;
  const fetching = () => ({ limits, env, signal, agent: `culvert/${version}`, redirectHosts });

  async function fetchLatest(): Promise<Verified> {
    if (source().source === '') throw refused('no-source', 'This copy of Culvert has no source of updates.');
    const waitMs = bucket.take();
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1_000);
      throw new Problem('busy', message('The source was asked too often. Try again in %s s.', String(seconds)));
    }
    const key = cacheKey();
    const { serials, revoked } = loadUpdateState(paths);
    const trusted = trust();
    const expected = {
      ...trusted,
      revoked: [...(trusted.revoked ?? []), ...revoked],
      now: now(),
      lastSerial: serials[source().channel],
      installed: version,
    };
    const release = await fetchRelease(source(), expected, fetching());
    // the keys that a release revokes must not be trusted, even if it is never installed
    if (release.revoked.length > 0) recordRelease(paths, release);
    last = { cacheKey: key, at: now(), release, problem: null };
    return release;
  }

  async function ask(): Promise<Answer> {
    const key = cacheKey();
    try {
      const release = await fetchLatest();
      recordRelease(paths, release);
      saveUpdateState(paths, { answeredAt: now(), failingSince: null });
    } catch (error) {
      last = { cacheKey: key, at: now(), release: null, problem: describeFailure(error) };
    }
    return last!;
  }

  return {
    source,
    fetching,
    fetchLatest,
    checkLatest() {
      pending ??= ask().finally(() => {
        pending = undefined;
      });
      return pending;
    },
    recent(fresh) {
      if (last?.cacheKey !== cacheKey()) return null;
      if (fresh) return bucket.isEmpty() ? last : null;
      const age = now() - last.at;
      // an age below zero means that the clock was set back
      return age >= 0 && age < (last.problem ? FAILURE_TTL_MS : ANSWER_TTL_MS) ? last : null;
    },
    last: () => last,
    idle: () => Promise.allSettled([pending]),
  };
}

/** A token bucket on a clock that may be set back. */
function createBucket(now: () => number) {
  let tokens = BURST;
  let filledAt = now();
  const refill = () => {
    const gained = Math.floor((now() - filledAt) / REFILL_MS);
    if (gained !== 0) filledAt = now();
    tokens = Math.min(BURST, tokens + Math.max(0, gained));
  };
  return {
    /** @returns 0, or how long to wait, in milliseconds */
    take(): number {
      refill();
      if (tokens === 0) return Math.max(0, filledAt + REFILL_MS - now());
      tokens--;
      return 0;
    },
    isEmpty(): boolean {
      refill();
      return tokens === 0;
    },
  };
}
