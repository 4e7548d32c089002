// Holds the daemon's state for a client, follows the event stream until it is closed, and reports why the state is not current.
import { applyEvent } from '../../api/apply-event.ts';
import type { ChangeOptions } from '../../api/changes.ts';
import {
  ApiError,
  type Client,
  createClient,
  type Event,
  type Stream,
  type Transport,
  Unreachable,
} from '../../api/client.ts';
import type { EventName } from '../../api/contract.ts';
import type { ActionRequest, StalePart, UpdateCheck } from '../../api/schema.ts';
import {
  type ClientState,
  connectionOf,
  createLongTimer,
  current,
  isSameConnection,
  type OfflineReason,
  type ProofState,
  shownState,
  untilLong,
} from './client-state.ts';
import { createArrivals, createRequests, type KillSwitchChange } from './requests.ts';

export interface Model {
  state(): ClientState;
  /** Calls `listener` after every change. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
  /**
   * Performs an action, and resolves when the changed state arrives as an event.
   * @throws ApiError, Unreachable, or Error while another action is pending.
   */
  requestAction(request: ActionRequest & ChangeOptions): Promise<void>;
  /**
   * Sets the kill switch or, with `seconds`, pauses it, and resolves when the changed state arrives.
   * @param change `seconds`: 0 ends a pause. @throws the errors of `requestAction`.
   */
  changeKillSwitch(change: KillSwitchChange): Promise<void>;
  /**
   * Sends one request through the tunnel, and keeps the result until the connection changes.
   * @throws ApiError, Unreachable
   */
  prove(): Promise<void>;
  /** Checks for a newer release. @throws ApiError, Unreachable */
  checkUpdate(): Promise<UpdateCheck>;
  /** Calls an endpoint without a change of the state. */
  call: Client['call'];
  /** Calls `listener` with every event after it changed the state. Returns a function that unsubscribes. */
  onEvent(listener: (event: Event) => void): () => void;
  /** Makes the daemon read stale parts or all parts again. Changes arrive as events. Never rejects. */
  refresh(which: 'stale' | 'all'): Promise<void>;
  /** Connects immediately, without the rest of the back-off. */
  retry(): void;
  close(): void;
}

export interface Pace {
  /** First and longest pause between attempts to reach the daemon. */
  backOffMs: [first: number, longest: number];
  /**
   * Time without data, even a heartbeat (every 15 s), after which a stream counts as dead. With Infinity, there are no
   * heartbeats, and only changes wake the client.
   */
  idleTimeoutMs: number;
  /** Maximum time from the daemon's reply to its event. After it, the client requests all parts again. */
  settleMs: number;
  /** Time after which a pending action counts as slow, in milliseconds. */
  slowMs: number;
  /** The clock, in ms since the epoch. */
  now(): number;
}
const PACE: Pace = { backOffMs: [250, 5000], idleTimeoutMs: 45_000, settleMs: 8000, slowMs: 1000, now: Date.now };

const INITIAL: ClientState = { ...shownState(null), offline: { code: 'starting', detail: '' } };

/**
 * Follows the daemon behind `transport` until closed.
 * @param only the events to receive, which must include `snapshot`; undefined for all.
 * @param last the state to show until the first answer.
 */
export function createModel(
  transport: Transport,
  pace: Partial<Pace> = {},
  only?: readonly EventName[],
  last: ClientState['last'] = null,
): Model {
  const { backOffMs, idleTimeoutMs, settleMs, slowMs, now } = { ...PACE, ...pace };
  const quiet = idleTimeoutMs === Infinity;
  const client = createClient(quiet ? transport : withIdleTimeout(transport, idleTimeoutMs));
  const listeners = new Set<() => void>();
  const arrivals = createArrivals();
  let state: ClientState = { ...INITIAL, last };
  let refreshing = false;
  const old = createOldParts();
  const long = createLongTimer(() => update({}), now);

  function update(change: Partial<ClientState>): void {
    state = { ...state, ...change };
    const { proof, snapshot, offline } = state;
    if (proof && (!snapshot || offline || !isSameConnection(proof.connection, connectionOf(snapshot))))
      state = { ...state, proof: null };
    const status = current(state)?.status ?? null;
    long.follow(status);
    state = { ...state, isLong: status !== null && untilLong(status, now()) === 0 };
    for (const listener of [...listeners]) listener();
  }

  function receive(received: Event): void {
    const { event, data } = received;
    const snapshot = applyEvent(state.snapshot, received);
    if (event === 'snapshot') update({ snapshot, update: data.update, offline: null });
    else if (event === 'update') update({ snapshot, update: data });
    else if (event === 'config') update({ config: data });
    else if (event === 'bye') update({ offline: { code: 'stopped', detail: data.reason } });
    else if (snapshot !== state.snapshot) update({ snapshot });
    arrivals.publish(received);
  }

  async function refresh(which: 'stale' | 'all'): Promise<void> {
    if (state.offline || (refreshing && which === 'stale')) return;
    refreshing = true;
    try {
      const query = which === 'all' ? { fresh: '1' as const } : {};
      const { stale } = await client.call('GET /api/snapshot', { query });
      const parts = old.follow(stale);
      if (parts.join() !== state.old.join()) update({ old: parts });
    } catch {
      // the stream reports a missing daemon, and a status reports a failed read of the tunnel CLI
    } finally {
      refreshing = false;
    }
  }

  const follower = follow({
    client,
    only,
    quiet,
    backOffMs,
    connected(resumed) {
      if (state.snapshot && resumed) update({ offline: null });
    },
    received: receive,
    lost(offline) {
      // a daemon that announced its end is not reported as missing
      if (state.offline?.code !== 'stopped' || offline.code !== 'not-running') update({ offline });
    },
  });
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    ...createRequests({ client, arrivals, state: () => state, update, refresh, settleMs, slowMs }),
    refresh,
    async prove() {
      if (!state.snapshot || state.proof?.result === null) return;
      const asked: ProofState = { connection: connectionOf(state.snapshot), result: null };
      update({ proof: asked });
      try {
        const result = await client.call('POST /api/proof', { body: {} });
        if (state.proof === asked) update({ proof: { ...asked, result } });
      } catch (error) {
        if (state.proof === asked) update({ proof: null });
        throw error;
      }
    },
    async checkUpdate() {
      const check = await client.call('GET /api/update/check', { query: { fresh: '1' } });
      update({ update: check });
      return check;
    },
    call: client.call,
    onEvent: arrivals.subscribe,
    retry: follower.retry,
    close() {
      follower.close();
      long.stop();
      listeners.clear();
      arrivals.clear();
    },
  };
}

/** Tells old parts from parts that a busy machine was late to read: those are current in the next answer. */
function createOldParts() {
  let late: StalePart['part'][] = [];
  return {
    /** @returns the parts that this answer and the previous one name, without those that were never read */
    follow(stale: readonly StalePart[] = []): StalePart['part'][] {
      const before = late;
      late = stale.filter(({ ageSeconds }) => ageSeconds !== null).map(({ part }) => part);
      return late.filter(part => before.includes(part));
    },
  };
}

interface FollowOptions {
  client: Client;
  /** The events to receive, which must include `snapshot`; undefined for all. */
  only: readonly EventName[] | undefined;
  /** True for a stream without heartbeats. */
  quiet: boolean;
  /** First and longest pause between attempts, in milliseconds. */
  backOffMs: readonly [first: number, longest: number];
  /** @param resumed the stream sends only missed events, if any */
  connected(resumed: boolean): void;
  received(event: Event): void;
  lost(reason: OfflineReason): void;
}

interface Follower {
  /** Connects immediately, without the rest of the pause. */
  retry(): void;
  close(): void;
}

function follow(options: FollowOptions): Follower {
  const { client, only, quiet, backOffMs, connected, received, lost } = options;
  let closed = false;
  let lastEventId: string | undefined;
  let attempts = 0;
  let closeStream = () => {};
  let wake = () => {};

  async function readStream(): Promise<void> {
    const stream = await client.events(lastEventId, only, quiet);
    closeStream = stream.close;
    if (closed) return stream.close();
    connected(lastEventId !== undefined);
    for await (const event of stream.events) {
      attempts = 0;
      if (event.id) lastEventId = event.id;
      received(event);
    }
    if (!closed) lost({ code: 'not-running', detail: '' });
  }

  function pause(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, Math.min(backOffMs[1], backOffMs[0] * 2 ** attempts++));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function followUntilClosed(): Promise<void> {
    while (!closed) {
      try {
        await readStream();
      } catch (error) {
        if (!closed) lost(offlineReason(error));
      }
      if (!closed) await pause();
    }
  }

  void followUntilClosed();
  return {
    retry() {
      attempts = 0;
      wake();
    },
    close() {
      closed = true;
      closeStream();
      wake();
    },
  };
}

function offlineReason(error: unknown): OfflineReason {
  if (error instanceof ApiError) return { code: 'refused', detail: error.message };
  if (error instanceof Unreachable && error.daemon === 'hung') return { code: 'not-responding', detail: error.message };
  return { code: 'not-running', detail: error instanceof Error ? error.message : String(error) };
}

/**
 * Returns a transport with streams that fail after `ms` without data, even heartbeats: the daemon hung.
 * A stream over a Unix socket never breaks while a hung or stopped daemon holds it.
 */
function withIdleTimeout(transport: Transport, ms: number): Transport {
  return {
    request: (...request) => transport.request(...request),
    async stream(path, headers) {
      const stream = await transport.stream(path, headers);
      return { ...stream, chunks: limited(stream, ms), close: () => stream.close() };
    },
  };
}

async function* limited(stream: Stream, ms: number): AsyncGenerator<string> {
  let silent = false;
  const arm = () =>
    setTimeout(() => {
      silent = true;
      stream.close();
    }, ms);
  let timer = arm();
  try {
    for await (const chunk of stream.chunks) {
      clearTimeout(timer);
      timer = arm();
      yield chunk;
    }
  } catch (error) {
    if (!silent) throw error;
  } finally {
    clearTimeout(timer);
    stream.close();
  }
  if (silent) throw new Unreachable(`Not a word for ${Math.round(ms / 1000)} s.`, undefined, 'hung');
}
