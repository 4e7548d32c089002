// Answers the requests for the history, and buffers published states until they are written.

import type { History, HistoryQuery } from '../api/history.ts';
import type { Snapshot } from '../api/schema.ts';
import type { FeatureContext, HistoryControl } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { type Feature, lazy } from '../feature.ts';
import type { Seen } from './observe.ts';
import { SWITCH_MS } from './records.ts';

export interface Pace {
  /** Interval between writes. A killed daemon loses at most the changes of one interval. */
  writeMs: number;
  /** Interval at which the figures of a connected tunnel are read while no client reads them. */
  readMs: number;
}
const PACE: Pace = { writeMs: 50_000, readMs: 300_000 };
/** Number of unwritten rows that triggers an immediate write. */
const MANY = 1_000;

export function openHistory(
  { state, settings, tunnel, paths, say }: Pick<FeatureContext, 'state' | 'settings' | 'tunnel' | 'paths' | 'say'>,
  { writeMs, readMs }: Pace = PACE,
): Required<Feature<'history'>> & HistoryControl {
  const { history: directory } = paths;
  const service = lazy(async () => (await import('./history-service.ts')).createHistoryService({ directory, say }));
  const unwritten = createUnwritten();
  let wroteAt = performance.now();
  let writing: NodeJS.Timeout | undefined;
  let reading: NodeJS.Timeout | undefined;
  let readAt: string | null = null;
  let unsubscribe = () => {};
  let recording = false;

  function observe(event?: string): void {
    const snapshot = state.snapshot();
    const { status } = snapshot;
    if (status.state === 'unknown' && status.raw === null && !status.blocked) return; // nothing is known yet
    unwritten.add(snapshot, tunnel.changing(), event);
    if (status.state === 'connected') reading ??= setTimeout(readFigures, readMs).unref();
    const waitMs = wroteAt + writeMs - performance.now();
    if (unwritten.count() >= MANY || (waitMs <= 0 && !writing)) void write();
    else writing ??= setTimeout(() => void write(), Math.max(0, waitMs)).unref();
  }

  async function write(): Promise<void> {
    clearTimeout(writing);
    writing = undefined;
    wroteAt = performance.now();
    const [now, batch] = [new Date(), unwritten.take(tunnel.changing())];
    try {
      if (batch.length) (await service()).record(batch);
    } catch (error) {
      // a package may have replaced the program's files
      say(`The history is not recorded since ${now.toISOString()}: ${reason(error)}. Restart Culvert.`);
      follow(false);
    }
  }

  /** Reads the figures unless a client has read them in the meantime. */
  async function readFigures(): Promise<void> {
    reading = undefined;
    const { status, tunnel: figures } = state.snapshot();
    if (!recording || status.state !== 'connected') return;
    reading = setTimeout(readFigures, readMs).unref();
    if (figures.at === readAt) await tunnel.readFigures();
    readAt = state.snapshot().tunnel.at;
    // in a mode without figures, nothing else shows that a state lasts
    if (readAt === null) (await service()).touch();
  }

  function follow(enabled: boolean): void {
    if (enabled === recording) return;
    recording = enabled;
    if (!enabled) {
      unsubscribe();
      clearTimeout(reading);
      reading = undefined;
      return;
    }
    unsubscribe = state.subscribe(({ event }) => {
      if (event === 'status' || event === 'settings' || event === 'tunnel') observe(event);
    });
    observe();
  }

  async function pause(): Promise<void> {
    follow(false);
    await write();
    (await service.loaded())?.end();
  }

  async function read(query: HistoryQuery): Promise<History> {
    await write();
    return (await service()).read(query, recording);
  }

  let unwatch = () => {};
  return {
    handlers: {
      'GET /api/history': ({ query }) => read(query),
      async 'POST /api/history/clear'() {
        await write();
        (await service()).clear();
        if (recording) observe();
        state.publish('history', { clearedAt: new Date().toISOString() });
        return { ok: true };
      },
    },
    start() {
      follow(settings.config.history.enabled);
      unwatch = state.subscribe(({ event }) => {
        if (event !== 'config' || settings.config.history.enabled === recording) return;
        if (recording) void pause();
        else follow(true);
      });
    },
    async stop() {
      unwatch();
      await pause();
    },
    read,
    ruled({ subject, value, rule, ended }) {
      const effect = { subject, value, rule, ...(ended ? { ended } : {}) };
      if (recording) unwritten.add(state.snapshot(), tunnel.changing(), undefined, { effect });
    },
    reverted(subject) {
      if (recording) unwritten.add(state.snapshot(), tunnel.changing(), undefined, { reverted: subject });
    },
  };
}

/** Progress of a settings change: see `Tunnel.changing`. */
type Changing = 'now' | 'lately' | null;

/** Buffers rows until they are written, each with the mode at its time. */
function createUnwritten() {
  let rows: (Seen & { isModeOld: boolean })[] = [];

  /** Sets the mode of earlier rows: a status event arrives before the settings are read. */
  function nameMode(time: number, mode: string | undefined): void {
    let wasConnecting = false;
    for (const row of rows.toReversed()) {
      const isPhase = row.status.state === 'connecting' || row.status.state === 'disconnecting';
      if (row.mode === mode || time - row.at > SWITCH_MS) return;
      // a connection before the reconnect used the previous mode
      if (!isPhase && (wasConnecting || !row.isModeOld)) return;
      wasConnecting ||= isPhase;
      row.mode = mode;
      row.isModeOld = false;
    }
  }

  return {
    count: () => rows.length,
    add(
      { status, settings, tunnel }: Snapshot,
      changing: Changing,
      event?: string,
      occurrence?: Pick<Seen, 'effect' | 'reverted'>,
    ): void {
      const [at, mode] = [Date.now(), settings.Mode];
      nameMode(at, mode);
      if (changing !== 'now') for (const row of rows) row.isModeOld = false;
      const isModeOld = changing === 'now' && event !== 'settings';
      rows.push({ at, status, mode, asked: changing !== null, isModeOld, tunnel, ...occurrence });
    },
    /** Removes and returns all rows, without modes that may predate a settings change. */
    take(changing: Changing): Seen[] {
      const taken = rows.map(row => (changing === 'now' && row.isModeOld ? { ...row, mode: undefined } : row));
      rows = [];
      return taken;
    },
  };
}
