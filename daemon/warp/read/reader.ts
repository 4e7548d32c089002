// Reads parts from the tunnel CLI when they are outdated: each part once at a time, and none without need.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Blocked, CommandOutput, SplitTunnel, StalePart } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import type { CliTracker } from '../cli/cli-info.ts';
import { blockedBy, failureIn, outputText } from '../cli/failures.ts';
import type { Finished, Runner } from '../cli/run.ts';
import { isExtra, LISTS, READ_LIMIT_MS, type Read, readArgv } from '../cli/version.ts';
import type { Form } from '../listen/watch.ts';
import { parseStatus, parseStatusText } from '../parse/status.ts';
import type { TunnelStore } from '../tunnel-store.ts';
import type { Freshness } from './freshness.ts';
import { createParts, SNAPSHOT_READS, ttlOf } from './parts.ts';

export interface Reader {
  /** The part is outdated, and a read could succeed in the present state. */
  isDue(part: Read): boolean;
  /** True if no part of a snapshot is due or outdated. */
  isFresh(): boolean;
  /** The parts of these reads that show older values than the tunnel CLI may have now; default: of a snapshot. */
  stale(reads?: readonly Read[]): StalePart[];
  /** Reads one part; callers share a read under way. Never rejects. */
  read(part: Read): Promise<void>;
  /** Reads a part if it is due, after a read under way that may have begun before the change. */
  readLatest(part: Read): Promise<void>;
  /** Reads what a snapshot shows and is due. `spoken` resolves when the listener should have reported a status. */
  readStale(spoken: () => Promise<void>): Promise<void>;
  readAll(): Promise<void>;
  expire(...parts: Read[]): void;
  /** The parts that an action changed: as `expire`, and worth waiting for. */
  expireChanged(parts: readonly Read[]): void;
  /** True while a part that an action changed has not been read since. */
  hasUnreadChanges(): boolean;
  /**
   * A command was refused in a way that blocks the tunnel CLI as a whole. The status is read once: it may refute that, and
   * the status of a living listener counts until then.
   */
  suspect(blocked: Blocked, raw: string): void;
  /** The listener reported a status. */
  statusHeard(): void;
  /** Ends the questions that a failed read of the status begins. */
  stop(): void;
  /** Everything: another CLI, or another registration. */
  expireAll(): void;
}

interface Options {
  state: State;
  store: TunnelStore;
  tracker: CliTracker;
  runner: Runner;
  acceptTerms: () => boolean;
  /** The present way in which status changes arrive; null without one. */
  listening: () => Form | null;
  /** The settings became outdated, or were read again. */
  onSettingsAge: () => void;
  /** A read succeeded that was blocked before. */
  onReachable: () => void;
}

export function createReader(options: Options): Reader {
  const { state, store, tracker, runner, listening } = options;
  const parts = createParts(state, store, listening);
  const { fresh, isDue } = parts;
  const underWay = new Map<Read, Promise<void>>();
  const startedAt = new Map<Read, number>();

  const status = createStatusReader({
    state,
    store,
    fresh,
    listening,
    // a read under way may have been answered before
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
    if (understood || isExtra(part)) fresh.read(part, ttlOf(part, listening()), began);
    else fresh.failed(part, began);
    parts.settle(part);
    if (part === 'settings') options.onSettingsAge();
    if (isExtra(part)) return;
    // a block from before a change may be over
    const blocked = failure && !fresh.expiredSince(part, began) && blockedBy(failure);
    // some accounts may not read some parts; only without the settings nothing else makes sense
    if (blocked && (blocked !== 'not-authorized' || part === 'settings')) status.suspect(blocked, outputText(finished));
    if (!failure && part === 'settings') store.clearBlocked('not-authorized');
    if (!failure && store.clearBlocked('service-stopped', 'service-hangs', 'terms-not-accepted')) options.onReachable();
    // the settings list the split tunnel in full: as long as it stays the same, so do the lists that were read before
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
    if (expired.includes('settings')) options.onSettingsAge();
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
        // the listener was started moments ago and is about to report the status
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
      if (changed.includes('settings')) options.onSettingsAge();
    },
    hasUnreadChanges: parts.hasUnreadChanges,
    suspect: status.suspect,
    statusHeard: status.heard,
    stop: status.stop,
    expireAll,
  };
}

/** Stores what a read printed. @returns whether it was understood */
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

/** The lists that print what differs between two readings of the split tunnel. */
function changedLists(before: SplitTunnel, after: SplitTunnel): Read[] {
  if (before.mode !== after.mode) return [...LISTS];
  const lists: Read[] = [];
  if (!isDeepStrictEqual(before.ips, after.ips)) lists.push('splitTunnelIps');
  if (!isDeepStrictEqual(before.hosts, after.hosts)) lists.push('splitTunnelHosts');
  return lists.length > 0 ? [...lists, 'splitTunnelDump'] : [];
}

/** No reason of the tunnel CLI, which crashed, or printed nothing. */
const PROGRAM_FAILED = { code: 'ProgramFailed', text: 'The command-line program of WARP failed' };
/** Failures in a row after which the last status no longer counts. */
const ENOUGH = 3;
const PAUSE_MS = { first: 1000, longest: 30_000 };

interface StatusOptions {
  state: State;
  store: TunnelStore;
  fresh: Freshness<Read>;
  listening: () => Form | null;
  /** Reads the status, and passes the result to `take`. */
  read(): void;
}

/**
 * Decides what a read of the status means. A read that fails is no state: the last status counts until several reads have
 * failed. The status is asked for again, because a living listener stays silent while nothing changes.
 */
function createStatusReader({ state, store, fresh, listening, read }: StatusOptions) {
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
