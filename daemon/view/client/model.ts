// Holds the daemon's state for a client, follows its event stream until closed, and says why the state is not current.
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
import type { ActionRequest, UpdateCheck } from '../../api/schema.ts';
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
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
  /**
   * Performs an action, and resolves when the state that it changes has arrived as an event.
   * @throws ApiError, Unreachable, or Error while another action is pending.
   */
  requestAction(request: ActionRequest & ChangeOptions): Promise<void>;
  /**
   * Sets or, with `seconds`, pauses the kill switch; resolves when the state that came of it has arrived.
   * @param change `seconds`: 0 ends a pause. @throws as `requestAction`.
   */
  changeKillSwitch(change: KillSwitchChange): Promise<void>;
  /**
   * Sends one request through the tunnel, and keeps what came of it until the connection changes.
   * @throws ApiError, Unreachable
   */
  prove(): Promise<void>;
  /** Looks for a newer release. @throws ApiError, Unreachable */
  checkUpdate(): Promise<UpdateCheck>;
  /** Calls an endpoint whose answer is not part of the state. */
  call: Client['call'];
  /** Calls `listener` with every event, once the state has it. Returns what unsubscribes. */
  onEvent(listener: (event: Event) => void): () => void;
  /** Has the daemon read what went stale, or with `all` everything; changes arrive as events. Never rejects. */
  refresh(which: 'stale' | 'all'): Promise<void>;
  /** Connects now instead of at the end of the back-off. */
  retry(): void;
  close(): void;
}

export interface Pace {
  /** First and longest pause between attempts to reach the daemon. */
  backOffMs: [first: number, longest: number];
  /**
   * A stream without even a heartbeat (one is due every 15 s) for this long is dead. Infinity: there are no heartbeats, and
   * nothing wakes the client while nothing happens.
   */
  idleTimeoutMs: number;
  /** Time from the daemon's reply to its event, after which everything is read again. */
  settleMs: number;
  /** After this long a pending action counts as slow. */
  slowMs: number;
  /** The clock, in ms since the epoch. */
  now(): number;
}
const PACE: Pace = { backOffMs: [250, 5000], idleTimeoutMs: 45_000, settleMs: 8000, slowMs: 1000, now: Date.now };

const INITIAL: ClientState = { ...shownState(null), offline: { code: 'starting', detail: '' } };

/**
 * Follows the daemon behind `transport` until closed.
 * @param only the events to be sent, `snapshot` among them; absent: all.
 * @param last what to show until the first answer.
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
      await client.call('GET /api/snapshot', { query: which === 'all' ? { fresh: '1' } : {} });
    } catch {
      // the stream shows that the daemon is gone; what a read of the tunnel CLI failed with comes as a status
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
      // a daemon that said goodbye is not reported as broken when it is then gone
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

interface FollowOptions {
  client: Client;
  /** The events to be sent, `snapshot` among them; absent: all. */
  only: readonly EventName[] | undefined;
  /** The stream stays silent while nothing happens. */
  quiet: boolean;
  /** First and longest pause between attempts, in milliseconds. */
  backOffMs: readonly [first: number, longest: number];
  /** @param resumed the stream sends only missed events, if any */
  connected(resumed: boolean): void;
  received(event: Event): void;
  lost(reason: OfflineReason): void;
}

interface Follower {
  /** Connects now instead of at the end of the pause. */
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
  if (error instanceof StreamTimeout) return { code: 'not-responding', detail: error.message };
  return { code: 'not-running', detail: error instanceof Error ? error.message : String(error) };
}

/** The stream was given up because nothing came for too long. */
class StreamTimeout extends Unreachable {}

/**
 * `transport` whose streams fail with `StreamTimeout` after `ms` without a word, heartbeats included.
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
  if (silent) throw new StreamTimeout(`Not a word for ${Math.round(ms / 1000)} s.`);
}
