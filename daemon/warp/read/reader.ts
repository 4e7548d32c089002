// Reads outdated parts from the tunnel CLI, with at most one read of a part at a time.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Blocked, CommandOutput, SplitTunnel } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import type { CliTracker } from '../cli/cli-info.ts';
import { blockedBy, failureIn, outputText } from '../cli/failures.ts';
import type { Finished, Runner } from '../cli/run.ts';
import { isExtra, LISTS, READ_LIMIT_MS, type Read, readArgv } from '../cli/version.ts';
import type { Form } from '../listen/watch.ts';
import { parseStatus, parseStatusText } from '../parse/status.ts';
import type { TunnelStore } from '../tunnel-store.ts';
import type { Freshness } from './freshness.ts';
import { createParts, type Parts, SNAPSHOT_READS, ttlOf } from './parts.ts';

export interface Reader
  extends Pick<Parts, 'isDue' | 'stale' | 'hasUnreadChanges' | 'isUnread' | 'isOld' | 'hasOldParts'> {
  /** True if no part of a snapshot is due or outdated. */
  isFresh(): boolean;
  /** Reads a part; concurrent callers share the read. Never rejects. */
  read(part: Read): Promise<void>;
  /** Reads a part if it is due, after any read under way, which may have begun before a change. */
  readLatest(part: Read): Promise<void>;
  /** Reads the due parts of a snapshot. `spoken` resolves when the listener should have reported a status. */
  readStale(spoken: () => Promise<void>): Promise<void>;
  readAll(): Promise<void>;
  expire(...parts: Read[]): void;
  /** Like `expire`, except for parts that are being read, were read in the last second, or can't be read now. */
  expireOlder(...parts: Read[]): void;
  /** Like `expire`, for parts that an action changed: also marks them as unread. */
  expireChanged(parts: readonly Read[]): void;
  /**
   * Handles a refusal that means that the tunnel CLI as a whole is blocked. Reads the status once, which may refute the
   * block; until then, the status of a living listener or of the last poll counts.
   */
  suspect(blocked: Blocked, raw: string): void;
  /** Call when a command succeeded. Has the status reported or read now if earlier failures have made it unknown or doubtful. */
  reachable(): void;
  /** Call when the listener has reported a status. */
  statusHeard(): void;
  /** Stops the repeated reads after a failed read of the status. */
  stop(): void;
  /** Expires all parts, after a change of the CLI or the registration. */
  expireAll(): void;
}

interface Options {
  state: State;
  store: TunnelStore;
  tracker: CliTracker;
  runner: Runner;
  acceptTerms: () => boolean;
  /** Returns how status changes arrive now; null while they don't arrive. */
  listening: () => Form | null;
  /** Called when parts become outdated or are read again. */
  onAge: () => void;
  /** See `Watch.hasten`. */
  hasten: () => boolean;
}

export function createReader(options: Options): Reader {
  const { state, store, tracker, runner, listening } = options;
  const parts = createParts(state, store, listening);
  const { fresh, isDue } = parts;
  const underWay = new Map<Read, Promise<void>>();
  const startedAt = new Map<Read, number>();

  const status = createStatusReader({
    ...options,
    fresh,
    // a read under way may have got its answer earlier
    read: () => void (underWay.get('status') ?? Promise.resolve()).then(() => read('status')),
  });

  const read = (part: Read): Promise<void> => {
    const already = underWay.get(part);
    if (already) return already;
    const reading = readNow(part)
      .catch(() => fresh.failed(part)) // the runner is busy or shutting down
      .finally(() => underWay.delete(part));
    underWay.set(part, reading);
    return reading;
  };

  const readNow = async (part: Read): Promise<void> => {
    const cli = await tracker.current();
    if (!cli?.can) return;
    const { status: before, splitTunnel } = state.snapshot();
    const began = fresh.begin(part);
    const started = performance.now();
    startedAt.set(part, started);
    const args = readArgv(part, cli.can, options.acceptTerms());
    if (!args) return fresh.read(part, Number.POSITIVE_INFINITY, began);
    const finished = await runner.run({ file: cli.path, args, source: 'read', timeoutMs: READ_LIMIT_MS });
    const failure = failureIn(finished);
    if (failure?.kind === 'unsupported' && tracker.refusesJson(cli.can, args, failure.message)) return readNow(part);
    if (part === 'status') {
      // a message that arrived during the read is newer
      if (state.snapshot().status === before || listening() === 'poll') status.take(finished);
      return;
    }
    const understood = take(part, finished.output, options) && !failure;
    const counts = understood || isExtra(part);
    if (counts) fresh.read(part, ttlOf(part, listening()), began);
    else fresh.failed(part, began);
    // settings that Culvert itself changed are unknown until a read succeeds
    if (!parts.settle(part, counts) && part === 'settings') store.forgetSettings();
    reportAge(options, parts);
    if (isExtra(part)) return;
    // a block from before a change may be over
    const blocked = failure && !fresh.expiredSince(part, began) && blockedBy(failure);
    // some accounts may not read some parts, but an account that may not read the settings has no access at all
    if (blocked && (blocked !== 'not-authorized' || part === 'settings')) status.suspect(blocked, outputText(finished));
    if (!failure && part === 'settings') store.clearBlocked('not-authorized');
    if (!failure) status.reachable();
    // the settings contain the whole split tunnel: while it stays the same, earlier reads of its lists stay current
    if (part === 'settings' && splitTunnel.mode) {
      const changed = changedLists(splitTunnel, state.snapshot().splitTunnel);
      fresh.expire(...changed.filter(list => (startedAt.get(list) ?? Number.NEGATIVE_INFINITY) < started));
    }
  };

  const readLatest = async (part: Read) => {
    await underWay.get(part);
    if (isDue(part)) await read(part);
  };
  const expire = (...expired: Read[]) => {
    fresh.expire(...expired);
    reportAge(options, parts);
  };
  const expireAll = () => expire('status', 'devices', ...SNAPSHOT_READS);
  const readDue = () => Promise.all(SNAPSHOT_READS.filter(isDue).map(readLatest));

  return {
    isDue,
    isFresh: () => !isDue('status') && parts.stale().length === 0,
    stale(reads) {
      const ageMs = status.ageMs();
      const stale = parts.stale(reads);
      return ageMs === null || reads ? stale : [...stale, { part: 'status', ageSeconds: Math.round(ageMs / 100) / 10 }];
    },
    read,
    readLatest,
    async readStale(spoken) {
      if (!store.hasStatus()) {
        // a new listener is about to report the status
        await Promise.race([spoken(), delay(300, undefined, { ref: false })]);
        if (isDue('status')) await read('status');
      }
      await readDue();
    },
    async readAll() {
      if (!(await tracker.current())?.can) return;
      expireAll();
      await read('status');
      await readDue();
    },
    expire,
    expireChanged(changed) {
      parts.expireChanged(changed);
      reportAge(options, parts);
    },
    hasUnreadChanges: parts.hasUnreadChanges,
    isUnread: parts.isUnread,
    isOld: parts.isOld,
    hasOldParts: parts.hasOldParts,
    suspect: status.suspect,
    reachable: status.reachable,
    expireOlder: (...older) => expire(...older.filter(part => !underWay.has(part) && isOlder(part, fresh))),
    statusHeard: status.heard,
    stop: status.stop,
    expireAll,
  };
}

/** See `Reader.expireOlder`. */
function isOlder(part: Read, { isFailing, age }: Freshness<Read>): boolean {
  return !isFailing(part) && (age(part) ?? RECENT_MS) >= RECENT_MS;
}

/** Publishes whether shown parts are old. */
function reportAge({ state, onAge }: Options, parts: Parts): void {
  state.set('hasOldParts', parts.hasOldParts());
  onAge();
}

/** Stores the output of a read. @returns true if it was understood */
function take(part: Exclude<Read, 'status'>, output: CommandOutput, { state, store }: Options): boolean {
  switch (part) {
    case 'settings':
      return store.settings(output);
    case 'splitTunnelIps':
      return store.splitIps(output);
    case 'splitTunnelHosts':
      return store.splitHosts(output);
    case 'tunnelStats':
      return store.stats(output);
    case 'registration':
      return store.registration(output);
    case 'settingsText':
    case 'trustedSsids':
    case 'virtualNetworks':
    case 'localNetworkAccess':
      store.extra(part, output);
      return true;
    case 'splitTunnelDump':
      state.record(part, output);
      return true;
    case 'devices':
      store.devices(output);
      return true;
  }
}

/** Returns the lists that a difference between two readings of the split tunnel affects. */
function changedLists(before: SplitTunnel, after: SplitTunnel): Read[] {
  if (before.mode !== after.mode) return [...LISTS];
  const lists: Read[] = [];
  if (!isDeepStrictEqual(before.ips, after.ips)) lists.push('splitTunnelIps');
  if (!isDeepStrictEqual(before.hosts, after.hosts)) lists.push('splitTunnelHosts');
  return lists.length > 0 ? [...lists, 'splitTunnelDump'] : [];
}

/** Culvert's reason if the tunnel CLI crashed or printed nothing. */
const PROGRAM_FAILED = { code: 'ProgramFailed', text: 'The command-line program of WARP failed' };
/** Number of failures in a row after which the last status no longer counts. */
const ENOUGH = 3;
const RECENT_MS = 1000;
const PAUSE_MS = { first: 1000, longest: 30_000 };

interface StatusOptions extends Pick<Options, 'state' | 'store' | 'listening' | 'hasten'> {
  fresh: Freshness<Read>;
  /** Reads the status, and passes the result to `take`. */
  read(): void;
}

/**
 * Interprets the reads of the status. A failed read is no state: the last status counts until several reads have failed.
 * Reads the status again after a failure, because a living listener stays silent while nothing changes.
 */
function createStatusReader({ state, store, fresh, listening, hasten, read }: StatusOptions) {
  /** True after the first time-out, which at the start is no state. */
  let hasTimedOut = false;
  /** True if a listening child lives and has reported a status. */
  const isHeard = () => store.hasStatus() && listening() !== null && listening() !== 'poll';
  // without a living child, the next child reports if the service is back
  const doubt = createDoubt(() => (listening() === null ? doubt.blocked() : read()));

  /** @returns true if the last status still counts after an output without a status */
  function isDoubtful(blocked: Blocked | null, finished: Finished): boolean {
    if (blocked === null && isHeard()) return true;
    if (blocked === null || blocked === 'service-hangs') {
      const known = state.snapshot().status;
      const isEnough = !doubt.failed();
      if (finished.timedOut && !hasTimedOut && known.raw === null && known.blocked === null) {
        hasTimedOut = true;
        return true;
      }
      const counts = !isEnough && known.state !== 'unknown';
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
      // an unknown word is also an answer
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
      const isKnown = store.hasStatus() && listening() !== null;
      if (isCertain || !isKnown) store.setBlocked(blocked, raw);
      // a starting child is about to report the status
      if (!isNew || blocked === 'not-authorized' || !(isHeard() || listening() === 'poll')) return;
      if (!isCertain) {
        doubt.suspect();
        store.doubt({ at: doubt.knownAt(), said: firstLine(raw) });
      }
      read();
    },
    reachable(): void {
      const wasBlocked = store.clearBlocked('service-stopped', 'service-hangs', 'terms-not-accepted');
      if ((wasBlocked || doubt.ageMs() !== null) && !hasten()) read();
    },
    heard() {
      doubt.answered();
      store.doubt(null);
    },
    ageMs: doubt.ageMs,
    stop: doubt.stop,
  };
}

/** Returns the first line of an output, shortened for users; null for an empty output. */
function firstLine(text: string): string | null {
  const [line = ''] = text.trim().split('\n', 1);
  if (line === '') return null;
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

interface Doubt {
  /** Call when the failure of a command casts doubt on the status. */
  suspect(): void;
  /** Call when a read of the status failed; it is repeated later. @returns true if the last status still counts */
  failed(): boolean;
  /** Call when the status says that reads are impossible; it is read again later. */
  blocked(): void;
  /** Call when the status is known. */
  answered(): void;
  /** Returns the time when the status was last known. */
  knownAt(): string;
  /** Returns the milliseconds since the status was last known; null unless it is in doubt. */
  ageMs(): number | null;
  stop(): void;
}

/** @param ask reads the status and reports the result here */
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
