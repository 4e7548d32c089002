// Asks the source for the newest release. Simultaneous callers share a request, and requests are limited.
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
  /** The configuration that it is for. */
  cacheKey: string;
  /** In milliseconds since 1970. */
  at: number;
  release: Verified | null;
  problem: UpdateCheck['problem'];
}

/** Lifetime of a cached answer; a failure expires sooner. */
const ANSWER_TTL_MS = 15 * 60_000;
const FAILURE_TTL_MS = 30_000;
/** Size of a burst of requests, and the wait for each further one. */
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
  /** The newest release, asked for now. @throws Failure, Problem `busy` */
  fetchLatest(): Promise<Verified>;
  /** The answer to a new request, or to the request under way. Never rejects. */
  checkLatest(): Promise<Answer>;
  /** The last answer, if it is recent enough and for the same configuration. */
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
    // even if the release is never installed, its revoked keys must not be trusted
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
