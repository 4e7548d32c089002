// Keeps pending changes on disk and in the published state, and sets a timer for the next due change.
import type { TunnelSubject as Subject } from '../api/actions.ts';
import { reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { type State, setPart } from '../state/store.ts';
import type { Paths } from '../system/paths.ts';
import {
  acknowledgeBroken,
  type Clock,
  describeChange,
  type Failure,
  openChanges,
  type Pending,
  remainingMs,
  SOON_MS,
  saveChanges,
} from './changes-file.ts';

/** Longest interval between checks of deadlines, because a sleeping machine stops timers. */
const CHECK_MS = 10_000;
const RETRY_MS = { first: 1_000, last: 60_000 };
const INTERRUPTED: Failure = { problem: 'Culvert stopped during this change.', problemCode: 'interrupted' };

interface Options {
  paths: Pick<Paths, 'changes' | 'brokenChanges'>;
  state: State;
  clock: () => Clock;
  say(line: string): void;
  /** Called when a change may be due. */
  onDue(): void;
}

export interface ChangeStore {
  get(subject: Subject): Pending | undefined;
  entries(): [Subject, Pending][];
  /** Sets an entry, or removes it (null). @throws Problem state-not-writable; the entry then stays unchanged */
  set(subject: Subject, entry: Pending | null): void;
  /** Works like `set`, for a change that has already happened and can't be refused. If the file can't be written, tries later. */
  note(subject: Subject, entry: Pending | null): void;
  /** Records a failed revert. @param now retries immediately, instead of after a pause that doubles */
  fail(subject: Subject, error: unknown, now?: 'now'): void;
  /** Returns the changes to revert now, except changes with a running attempt. */
  due(): [Subject, Pending][];
  /** Runs an attempt to revert a subject's change, which is not due until the attempt ends. */
  during<T>(subject: Subject, work: () => Promise<T>): Promise<T>;
  /** Ends the pauses after failed attempts, when the tunnel CLI answers again. */
  hasten(): void;
  /** Acknowledges changes that were lost with their file. @returns true if there were any */
  acknowledgeLost(): boolean;
  /** Publishes the changes, and sets the timer for the next due change. */
  publish(): void;
  stop(): void;
}

/** Reads the pending changes. Changes that the daemon's end interrupted are due immediately. */
export function createChangeStore({ paths, state, clock, say, onDue }: Options): ChangeStore {
  const pending = new Map<Subject, Pending>();
  /** Failed reversals, with the time of the next attempt as `uptimeMs`. */
  const failed = new Map<Subject, { why: Failure; retryAt: number; delayMs: number }>();
  /** Subjects whose reversal is running or queued. */
  const underWay = new Set<Subject>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const { set, note, rewrite, isWritten } = createWriter({ path: paths.changes, pending, say }, subject => {
    failed.delete(subject);
    publish();
  });

  const opened = openChanges(paths, say);
  state.set('lostChanges', opened.lost === null ? null : { file: opened.lost });
  for (const each of opened.pending) {
    pending.set(each.previous.subject, each);
    if (each.making) failed.set(each.previous.subject, { why: INTERRUPTED, retryAt: 0, delayMs: RETRY_MS.first });
  }
  publish();

  function fail(subject: Subject, error: unknown, now?: 'now'): void {
    const why = failureOf(error);
    const { uptimeMs } = clock();
    const delayMs = failed.get(subject)?.delayMs ?? RETRY_MS.first;
    if (now) failed.set(subject, { why, retryAt: uptimeMs, delayMs: RETRY_MS.first });
    else failed.set(subject, { why, retryAt: uptimeMs + delayMs, delayMs: Math.min(2 * delayMs, RETRY_MS.last) });
    publish();
  }

  function due(): [Subject, Pending][] {
    const now = clock();
    return [...pending].filter(([subject, entry]) => {
      if (underWay.has(subject)) return false;
      const failure = failed.get(subject);
      return failure ? failure.retryAt <= now.uptimeMs : !entry.making && dueMs(entry, now) <= 0;
    });
  }

  function during<T>(subject: Subject, work: () => Promise<T>): Promise<T> {
    underWay.add(subject);
    return work().finally(() => {
      underWay.delete(subject);
      publish();
    });
  }

  function hasten(): void {
    for (const failure of failed.values()) Object.assign(failure, { retryAt: 0, delayMs: RETRY_MS.first });
    publish();
  }

  function publish(): void {
    clearTimeout(timer);
    if (stopped) return;
    const now = clock();
    const published = [...pending.values()].filter(entry => !entry.making || failed.has(entry.previous.subject));
    setPart(
      state,
      'tunnel',
      published.map(entry => describeChange(entry, now, failed.get(entry.previous.subject)?.why)),
    );
    const waits = [...pending.keys()].map(subject => waitMs(subject, now)).filter(ms => ms !== null);
    if (waits.length || !isWritten()) timer = setTimeout(check, Math.max(0, Math.min(CHECK_MS, ...waits))).unref();
  }

  function check(): void {
    rewrite();
    onDue();
  }

  /** Returns the milliseconds until a change needs attention; null while it is made or reverted. */
  function waitMs(subject: Subject, now: Clock): number | null {
    if (underWay.has(subject)) return null;
    const entry = pending.get(subject)!;
    const failure = failed.get(subject);
    if (failure) return failure.retryAt - now.uptimeMs;
    if (entry.making) return null;
    const ends = entry.endsAt ? remainingMs(entry.endsAt, now) : Number.POSITIVE_INFINITY;
    return Math.min(dueMs(entry, now), ends > SOON_MS ? ends - SOON_MS : Number.POSITIVE_INFINITY);
  }

  return {
    get: subject => pending.get(subject),
    entries: () => [...pending],
    set,
    note,
    fail,
    due,
    during,
    hasten,
    publish,
    acknowledgeLost() {
      if (!state.snapshot().lostChanges) return false;
      acknowledgeBroken(paths);
      state.set('lostChanges', null);
      return true;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

interface Written {
  path: string;
  pending: Map<Subject, Pending>;
  say(line: string): void;
}

/** Returns the functions that replace an entry in memory and in the file. @param onReplaced called after each */
function createWriter({ path, pending, say }: Written, onReplaced: (subject: Subject) => void) {
  let written = true;

  /** @throws FileError */
  function write(): void {
    written = false;
    saveChanges(path, [...pending.values()]);
    written = true;
  }

  function replace(subject: Subject, entry: Pending | null, onError: (error: unknown) => void): void {
    if (!entry && !pending.has(subject)) return;
    put(pending, subject, entry);
    try {
      write();
    } catch (error) {
      onError(error);
    }
    onReplaced(subject);
  }

  return {
    set(subject: Subject, entry: Pending | null): void {
      const before = pending.get(subject);
      replace(subject, entry, error => {
        put(pending, subject, before);
        throw new Problem('state-not-writable', reason(error), {}, error);
      });
    },
    note(subject: Subject, entry: Pending | null): void {
      replace(subject, entry, error =>
        say(`${reason(error)} Until it can be written, a restart of Culvert reverts the change of ${subject}.`),
      );
    },
    isWritten: () => written,
    /** Writes the file if the last attempt failed. */
    rewrite(): void {
      try {
        if (!written) write();
      } catch {
        // the first failure was reported
      }
    },
  };
}

function put(pending: Map<Subject, Pending>, subject: Subject, entry: Pending | null | undefined): void {
  if (entry) pending.set(subject, entry);
  else pending.delete(subject);
}

/** Returns the milliseconds until a change reverts. An unconfirmed change is due right after a reboot. */
function dueMs({ confirmBy, endsAt }: Pending, now: Clock): number {
  const confirm = confirmBy ? (confirmBy.bootId === now.bootId ? remainingMs(confirmBy, now) : 0) : Infinity;
  return Math.min(confirm, endsAt ? remainingMs(endsAt, now) : Infinity);
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Problem)) return { problem: reason(error) };
  const { code, message, wording } = error;
  return { problem: message, problemCode: code, ...(wording ? { wording } : {}) };
}
