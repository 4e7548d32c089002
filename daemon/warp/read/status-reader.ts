// Decides what a read of the status means.
//
// A read that fails is no state. The last status counts until several reads have failed. The status is asked for again, because
// a living listener stays silent while nothing changes.
import type { Blocked } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import { blockedBy, failureIn, outputText } from '../cli/failures.ts';
import type { Finished } from '../cli/run.ts';
import type { Read } from '../cli/version.ts';
import type { Form } from '../listen/watch.ts';
import { parseStatus, parseStatusText } from '../parse/status.ts';
import type { TunnelStore } from '../tunnel-store.ts';
import type { Freshness } from './freshness.ts';
import { ttlOf } from './parts.ts';

/** No reason of the tunnel CLI, which crashed, or printed nothing. */
const PROGRAM_FAILED = { code: 'ProgramFailed', text: 'The command-line program of WARP failed' };
/** Failures in a row after which the last status no longer counts. */
const ENOUGH = 3;
const PAUSE_MS = { first: 1000, longest: 30_000 };

interface Options {
  state: State;
  store: TunnelStore;
  fresh: Freshness<Read>;
  listening: () => Form | null;
  /** Reads the status, and passes the result to `take`. */
  read(): void;
}

export function createStatusReader({ state, store, fresh, listening, read }: Options) {
  /** A listening child lives, and has reported a status. */
  const isHeard = () => store.hasStatus() && listening() !== null && listening() !== 'poll';
  // without a living child, the next one reports whether the service is back
  const doubt = createDoubt(() => (listening() === null ? doubt.blocked() : read()));

  /** @returns whether an output without a status leaves the last one in force */
  function isDoubtful(blocked: Blocked | null, finished: Finished): boolean {
    if (blocked === null && isHeard()) return true;
    if (blocked === null || blocked === 'service-hangs') {
      const counts = doubt.failed() && state.snapshot().status.state !== 'unknown';
      const said = finished.timedOut ? null : firstLine(outputText(finished));
      if (counts) store.doubt({ at: doubt.knownAt(), said });
      return counts;
    }
    if (blocked !== 'not-authorized') doubt.blocked();
    return false;
  }

  return {
    take(finished: Finished): void {
      const failure = failureIn(finished);
      const answer = parseStatus(finished.output);
      const status = { ...answer, blocked: answer.blocked ?? (failure && blockedBy(failure)) };
      const understood = status.state !== 'unknown';
      if (understood) fresh.read('status', ttlOf('status', listening()));
      else fresh.failed('status');
      // a word that is not known yet is an answer as well
      const isWord = parseStatusText(finished.output.stdout) !== null && !isHeard();
      if (understood || isWord) doubt.answered();
      else if (isDoubtful(status.blocked, finished)) return;
      const isFailure = !understood && !isWord && (failure !== null || finished.output.stdout.trim() === '');
      state.record('status', finished.output);
      if (understood && state.snapshot().status.state !== status.state)
        fresh.expire('tunnelStats', 'localNetworkAccess');
      if (status.blocked && !understood) store.setBlocked(status.blocked, outputText(finished));
      else store.status(isFailure ? { ...status, reason: PROGRAM_FAILED } : status, outputText(finished));
    },
    /** See `Reader.suspect`. */
    suspect(blocked: Blocked, raw: string): void {
      const isCertain = blocked === 'not-authorized' || blocked === 'not-registered';
      const isNew = state.snapshot().status.blocked !== blocked;
      if (isCertain || !isHeard()) store.setBlocked(blocked, raw);
      // a child that starts is about to report the status
      if (!isNew || blocked === 'not-authorized' || !(isHeard() || listening() === 'poll')) return;
      if (!isCertain) {
        doubt.suspect();
        store.doubt({ at: doubt.knownAt(), said: firstLine(raw) });
      }
      read();
    },
    heard() {
      doubt.answered();
      store.doubt(null);
    },
    ageMs: doubt.ageMs,
    stop: doubt.stop,
  };
}

/** First printed line, for people; null for nothing. */
function firstLine(text: string): string | null {
  const [line = ''] = text.trim().split('\n', 1);
  if (line === '') return null;
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

interface Doubt {
  /** A command failed in a way that leaves the status in doubt. */
  suspect(): void;
  /** A read of the status failed; it is asked for again. @returns whether the last status still counts */
  failed(): boolean;
  /** The status says that nothing can be read; it is asked for again. */
  blocked(): void;
  /** The status is known. */
  answered(): void;
  /** When the status was last known. */
  knownAt(): string;
  /** Milliseconds since the status was last known, while it is in doubt; null otherwise. */
  ageMs(): number | null;
  stop(): void;
}

/** @param ask reads the status, and reports the result here */
function createDoubt(ask: () => void): Doubt {
  let failures = 0;
  let pauseMs = PAUSE_MS.first;
  let knownAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function askLater(): void {
    clearTimeout(timer);
    if (stopped) return;
    timer = setTimeout(ask, pauseMs).unref();
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest);
  }

  return {
    suspect() {
      failures = Math.max(failures, 1);
    },
    failed() {
      failures += 1;
      askLater();
      return failures < ENOUGH;
    },
    blocked: askLater,
    answered() {
      clearTimeout(timer);
      failures = 0;
      pauseMs = PAUSE_MS.first;
      knownAt = performance.now();
    },
    knownAt: () => new Date(Date.now() - (performance.now() - knownAt)).toISOString(),
    ageMs: () => (failures > 0 ? performance.now() - knownAt : null),
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
