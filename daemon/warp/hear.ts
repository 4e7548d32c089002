// Records the messages of the listening tunnel CLI, and reads the parts again that a message or an action changed.
import type { Settings } from '../api/schema.ts';
import { isRecord } from '../core/shape.ts';
import { redact } from '../state/redact.ts';
import type { CommandLog, State } from '../state/store.ts';
import type { CliTracker } from './cli/cli-info.ts';
import { blockedBy } from './cli/failures.ts';
import { EXTRAS, isExtra, LISTS, type Read, SHOWN_LISTS } from './cli/version.ts';
import type { Ended } from './listen/listener.ts';
import { failureOf, jsonOf } from './parse/output.ts';
import { parseStatusText, type StatusReading, UNKNOWN } from './parse/status.ts';
import type { Reader } from './read/reader.ts';
import type { TunnelStore } from './tunnel-store.ts';

/** Callbacks for the watch. */
export interface Hearing {
  onMessage(message: string): void;
  onIdle(): void;
  onEnd(ended: Ended): void;
  poll(): Promise<boolean>;
}

export function createHearing(options: {
  state: State;
  log: CommandLog;
  store: TunnelStore;
  reader: Reader;
  tracker: CliTracker;
  changes: ChangedParts;
}): Hearing {
  const { state, log, store, reader, tracker, changes } = options;
  /** True after the listening child ended, because changes may have been missed since. */
  let missed = false;

  function onMessage(message: string): void {
    const text = redact(message);
    const value = jsonOf(text);
    if (missed) {
      missed = false;
      changes.settingsAnnounced();
    }
    if (isRecord(value) && typeof value.update === 'string') {
      if (/registration|account/i.test(value.update)) changes.registrationAnnounced();
      changes.settingsAnnounced();
      return;
    }
    const status = parseStatusText(text);
    if (status) takeStatus(status, text);
    else takeOther(value, text);
  }

  /** Handles a failure, a document without a status, or unknown text. */
  function takeOther(value: unknown, text: string): void {
    const failure = failureOf({ stdout: text, stderr: '', exitCode: 1 });
    const blocked = failure && blockedBy(failure);
    if (blocked) store.setBlocked(blocked, text);
    // an incomplete document may have announced a change; a complete document without a status (a DNS log) did not
    else if ((value === undefined && /^[{[]/.test(text)) || !store.hasStatus()) store.status(UNKNOWN, text);
  }

  function takeStatus(status: StatusReading, text: string): void {
    const before = state.snapshot().status;
    if (status.state === 'connected' && before.state !== 'connected') reader.expire('tunnelStats');
    // a policy may allow the local network "until reconnect"
    if (status.state !== before.state) reader.expire('localNetworkAccess');
    if (status.blocked !== before.blocked) {
      reader.expire('settings', ...LISTS);
      changes.registrationAnnounced();
    }
    record(text);
    store.status(status, text);
    reader.statusHeard();
    if (status.reason?.code === 'SettingsChanged') changes.settingsAnnounced();
  }

  /** Records the listener's message as if it were a `status` response. */
  function record(stdout: string): void {
    if (stdout === state.snapshot().status.raw) return;
    const at = new Date().toISOString();
    const argv = [tracker.name(), '-l', 'status'];
    state.record('status', { ok: true, argv, exitCode: null, stdout, stderr: '', durationMs: 0, at });
  }

  /** Reads the status once if the listener does not report it; after a failed read, only when its pause is over. */
  function onIdle(): void {
    store.markStatusStale();
    if (reader.isDue('status')) void reader.read('status');
  }

  return {
    onMessage,
    onIdle,
    onEnd({ args, at, durationMs, stdout, stderr, exitCode, flooded }) {
      missed = true;
      const printed = { stdout: redact(stdout), stderr: redact(stderr), exitCode };
      const failure = failureOf({ ...printed, stdout: '' });
      const argv = [tracker.name(), ...args];
      log.append({ source: 'watch', at, durationMs, argv, ok: exitCode === 0, ...printed });
      const blocked = flooded ? null : failure && blockedBy(failure);
      if (blocked) store.setBlocked(blocked, printed.stderr);
      // the child printed neither a status nor an error
      else if (flooded || (durationMs < 1000 && failure?.kind !== 'unsupported')) onIdle();
    },
    async poll() {
      const before = state.snapshot().status;
      reader.expire('status');
      await reader.read('status');
      return state.snapshot().status !== before;
    },
  };
}

/** Reads of parts with their own event, which no listener message contains; all other reads happen on demand. */
const PUBLISHED: ReadonlySet<Read> = new Set<Read>(['settings', 'registration', ...EXTRAS]);

/** Longest wait for the tunnel CLI to announce new settings after an action, before they are read anyway. */
const ANNOUNCEMENT_MS = 150;

/** Pause before each further attempt to read a part that an action changed. */
const RETRY_MS = 5000;

/** Time within which the tunnel follows a change of the settings. */
const FOLLOW_MS = 3000;

export interface ChangedParts {
  /** `now`: changed settings are not read yet; `lately`: they changed seconds ago, or another action runs; else null. */
  changing(): 'now' | 'lately' | null;
  /** Call when the tunnel CLI announced new settings, or when they may have changed unnoticed. */
  settingsAnnounced(): void;
  /** Call when any program registered the device or deleted its registration. */
  registrationAnnounced(): void;
  /** Call when an action begins that changes these parts, because the tunnel CLI may announce new settings. */
  expectAnnouncement(parts: readonly Read[]): void;
  /** Call when an action has changed these parts. */
  add(parts: readonly Read[]): void;
  /** Retries parts that could not be read after a change, and lists that are old, until a read succeeds. */
  retryLater(): void;
  /** Runs an action; reads the changed parts when the last action under way has ended. */
  during<T>(action: () => Promise<T>): Promise<T>;
  stop(): void;
}

/**
 * Reads the parts with their own event again after each change, once, and not while an action runs.
 * @param options.settings returns the last read settings, as the same object until they change
 * @param options.announces returns true if the listener announces new settings
 */
export function createChangedParts(options: {
  reader: Reader;
  settings: () => Settings;
  announces: () => boolean;
}): ChangedParts {
  const { reader, settings, announces } = options;
  const changed = new Set<Read>();
  let actions = 0;
  let announced = false;
  let timer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let reading = 0;
  /** True while a running action changes the settings. */
  let changesSettings = false;
  let followedUntil = 0;

  async function readChanged() {
    reading += 1;
    try {
      await readParts();
    } finally {
      reading -= 1;
    }
  }

  async function readParts() {
    const parts = [...changed];
    changed.clear();
    if (parts.includes('settings')) followedUntil = performance.now() + FOLLOW_MS;
    const before = settings();
    await Promise.all(parts.map(reader.readLatest));
    retryLater();
    // if neither an action nor the settings explain an announcement, it concerns a value that the settings lack
    if (!announced || parts.some(isExtra) || settings() !== before) return;
    reader.expire(...EXTRAS);
    await Promise.all(EXTRAS.map(reader.readLatest));
  }

  function retryLater() {
    clearTimeout(retryTimer);
    const unread = [
      ...[...PUBLISHED].filter(part => reader.isUnread(part) || reader.isOld(part)),
      ...SHOWN_LISTS.filter(reader.isOld),
    ];
    if (unread.length === 0) return;
    retryTimer = setTimeout(() => {
      const reads = actions === 0 ? unread.map(reader.readLatest) : [];
      void Promise.all(reads).then(retryLater);
    }, RETRY_MS).unref();
  }

  function readSoon(afterMs: number) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (actions === 0) void readChanged();
    }, afterMs);
  }

  return {
    retryLater,
    changing() {
      if (changesSettings || ((reading > 0 || changed.has('settings')) && reader.stale(['settings']).length > 0))
        return 'now';
      return actions > 0 || performance.now() < followedUntil ? 'lately' : null;
    },
    settingsAnnounced() {
      announced = true;
      changed.add('settings'); // comes first, because `expire` notifies a listener that calls `changing`
      reader.expire('settings');
      if (actions === 0) readSoon(0);
    },
    registrationAnnounced() {
      reader.expire('registration', 'devices');
      changed.add('registration');
      if (actions === 0) readSoon(0);
    },
    expectAnnouncement(parts) {
      announced = false;
      if (parts.includes('settings')) changesSettings = true;
    },
    add(parts) {
      for (const part of parts) if (PUBLISHED.has(part)) changed.add(part);
    },
    async during(action) {
      actions += 1;
      try {
        return await action();
      } finally {
        actions -= 1;
        if (actions === 0) changesSettings = false;
        if (actions === 0) readSoon(announced || !announces() ? 0 : ANNOUNCEMENT_MS);
      }
    },
    stop() {
      clearTimeout(timer);
      clearTimeout(retryTimer);
    },
  };
}
