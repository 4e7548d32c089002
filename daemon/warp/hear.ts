// Records the messages of the listening tunnel CLI in the tunnel store.

import { redact } from '../state/redact.ts';
import type { CommandLog, State } from '../state/store.ts';
import type { CliTracker } from './cli/cli-info.ts';
import { blockedBy } from './cli/failures.ts';
import { LISTS } from './cli/version.ts';
import type { Ended } from './listen/listener.ts';
import { failureOf, isObject, jsonOf } from './parse/output.ts';
import { parseStatusText, type StatusReading, UNKNOWN } from './parse/status.ts';
import type { ChangedParts } from './read/changed-parts.ts';
import type { Reader } from './read/reader.ts';
import type { TunnelStore } from './tunnel-store.ts';

/** The callbacks of the watch. */
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
  /** The listening child ended: changes may have been missed since. */
  let missed = false;

  function onMessage(message: string): void {
    const text = redact(message);
    const value = jsonOf(text);
    if (missed) {
      missed = false;
      changes.settingsAnnounced();
    }
    if (isObject(value) && typeof value.update === 'string') {
      if (/registration|account/i.test(value.update)) changes.registrationAnnounced();
      changes.settingsAnnounced();
      return;
    }
    const status = parseStatusText(text);
    if (status) takeStatus(status, text);
    else takeOther(value, text);
  }

  /** A failure, a document without a status, or text that is not understood. */
  function takeOther(value: unknown, text: string): void {
    const failure = failureOf({ stdout: text, stderr: '', exitCode: 1 });
    const blocked = failure && blockedBy(failure);
    if (blocked) store.setBlocked(blocked, text);
    // half a document may have announced a change; a whole one without a status (a DNS log) did not
    else if ((value === undefined && /^[{[]/.test(text)) || !store.hasStatus()) store.status(UNKNOWN, text);
  }

  function takeStatus(status: StatusReading, text: string): void {
    const before = state.snapshot().status;
    if (status.state === 'connected' && before.state !== 'connected') reader.expire('tunnelStats');
    // a policy may allow it "until reconnect"
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

  /** The listener does not report the status: reads it once, with the pauses of a failing read. */
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
      // it printed neither a status nor an error
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
