// The daemon's state as a client holds it: the snapshot first, then its events, and why there is none.
import { ApiError, type Client, createClient, type Event, type Transport } from '../daemon/api/client.ts';
import type { EventName } from '../daemon/api/contract.ts';
import type { ActionName, ConfigResponse, KillSwitch, Snapshot, UpdateCheck } from '../daemon/api/schema.ts';
import { Silence, withSilenceLimit } from './silence.ts';

/** Why nothing current is known. `detail` is the daemon's or the system's own words. */
export interface Loss {
  code: 'starting' | 'not-running' | 'stopped' | 'silent' | 'refused';
  detail: string;
}

export interface Facts {
  /** The last one received; out of date while `loss` is set. */
  snapshot: Snapshot | null;
  /** null while the stream is open. */
  loss: Loss | null;
  config: ConfigResponse | null;
  /** The action whose effect is awaited; one at a time. */
  pending: ActionName | null;
  /** A change of the kill switch whose effect is awaited; it may wait for an administrator's password. */
  killSwitchPending: boolean;
  /** What the last check for updates said, or null before one. */
  update: UpdateCheck | null;
}

export interface Model {
  facts(): Facts;
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
  /**
   * Performs an action, and resolves when the state that it changes has arrived as an event.
   * @throws ApiError, Unreachable, or Error while another action is pending.
   */
  perform(action: ActionName, value?: string): Promise<void>;
  /**
   * Sets or, with `seconds`, pauses the kill switch; resolves when the state that came of it has arrived.
   * @param change `seconds`: 0 ends a pause. @throws as `perform`.
   */
  changeKillSwitch(change: { enabled: boolean; allowLan: boolean } | { seconds: number }): Promise<void>;
  /** Looks for a newer release. @throws ApiError, Unreachable */
  checkUpdate(): Promise<UpdateCheck>;
  /** Calls an endpoint whose answer is not part of the facts. */
  call: Client['call'];
  /** Calls `listener` with every event, after the facts have it. Returns what unsubscribes. */
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
  /** A stream without even a heartbeat (one is due every 15 s) for this long is dead. */
  silenceMs: number;
  /** How long after the daemon's reply the event may take before everything is read again. */
  settleMs: number;
}
const PACE: Pace = { backOffMs: [250, 5000], silenceMs: 45_000, settleMs: 8000 };

/** The events that show what an action did; any of the others' for actions not named. */
const SHOWN_BY: Partial<Record<ActionName, EventName[]>> = {
  connect: ['status'],
  disconnect: ['status'],
  acceptTerms: ['status'],
  register: ['status', 'account'],
  setMode: ['settings'],
  setProtocol: ['settings'],
  enableLocalProxy: ['settings'],
};
const STATE_EVENTS: EventName[] = ['status', 'settings', 'account', 'splitTunnel'];

/** Follows the daemon behind `transport` until closed. */
export function createModel(transport: Transport, pace: Partial<Pace> = {}): Model {
  const { backOffMs, silenceMs, settleMs } = { ...PACE, ...pace };
  const client = createClient(withSilenceLimit(transport, silenceMs));
  const listeners = new Set<() => void>();
  const arrivals = new Set<(event: Event) => void>();
  let facts: Facts = {
    ...{ snapshot: null, loss: { code: 'starting', detail: '' }, config: null, pending: null },
    ...{ killSwitchPending: false, update: null },
  };
  let closed = false;
  let lastEventId: string | undefined;
  let closeStream = () => {};
  let attempts = 0;
  let wake = () => {};
  let refreshing = false;

  const update = (change: Partial<Facts>) => {
    facts = { ...facts, ...change };
    for (const listener of [...listeners]) listener();
  };
  const merge = (part: Partial<Snapshot>, id: string) => {
    if (facts.snapshot) update({ snapshot: { ...facts.snapshot, ...part, revision: Number(id) } });
  };

  const receive = (received: Event) => {
    const { event, id, data } = received;
    if (id) lastEventId = id;
    if (event === 'snapshot') {
      update({ snapshot: data, update: data.update, loss: null });
      void refresh('stale');
    } else if (event === 'stats') merge({ tunnel: data }, id);
    else if (event === 'config') update({ config: data });
    else if (event === 'update') update({ update: data });
    else if (event === 'bye') update({ loss: { code: 'stopped', detail: data.reason } });
    else if (
      event === 'status' ||
      event === 'settings' ||
      event === 'splitTunnel' ||
      event === 'account' ||
      event === 'tunnelCli' ||
      event === 'killSwitch'
    )
      merge({ [event]: data }, id);
    for (const arrived of [...arrivals]) arrived(received);
  };

  const follow = async () => {
    while (!closed) {
      try {
        const stream = await client.events(lastEventId);
        closeStream = stream.close;
        if (closed) return stream.close();
        // a resumed stream sends only what was missed, and that may be nothing
        if (facts.snapshot && lastEventId) update({ loss: null });
        void readConfig();
        for await (const event of stream.events) {
          attempts = 0;
          receive(event);
        }
        lose({ code: 'not-running', detail: '' });
      } catch (error) {
        lose(lossOf(error));
      }
      if (!closed) await pause();
    }
  };
  const lose = (loss: Loss) => {
    // a daemon that said goodbye is not reported as broken when it is then gone
    if (!closed && !(facts.loss?.code === 'stopped' && loss.code === 'not-running')) update({ loss });
  };
  const pause = () =>
    new Promise<void>(resolve => {
      const timer = setTimeout(resolve, Math.min(backOffMs[1], backOffMs[0] * 2 ** attempts++));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const readConfig = async () => {
    try {
      update({ config: await client.call('GET /api/config') });
    } catch {
      // told by the stream, which is what shows that the daemon is gone
    }
  };
  const refresh = async (which: 'stale' | 'all') => {
    if (facts.loss || (refreshing && which === 'stale')) return;
    refreshing = true;
    try {
      await client.call('GET /api/snapshot', { query: which === 'all' ? { fresh: '1' } : {} });
    } catch {
      // as above; what a read of the tunnel CLI failed with comes as a status
    } finally {
      refreshing = false;
    }
  };

  void follow();
  return {
    facts: () => facts,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async perform(action, value) {
      if (facts.pending) throw new Error(`${facts.pending} is not finished yet`);
      const effect = awaitEvent(SHOWN_BY[action] ?? STATE_EVENTS);
      update({ pending: action });
      try {
        await client.call('POST /api/action', { body: { action, ...(value === undefined ? {} : { value }) } });
        if (!(await effect.within(settleMs))) await refresh('all');
      } finally {
        effect.cancel();
        update({ pending: null });
      }
    },
    async changeKillSwitch(change) {
      if (facts.killSwitchPending) throw new Error('The kill switch is being changed already');
      const effect = awaitEvent(['killSwitch']);
      update({ killSwitchPending: true });
      try {
        const measured =
          'seconds' in change
            ? await client.call('POST /api/killswitch/pause', { body: change })
            : await client.call('POST /api/killswitch', { body: change });
        // what changed nothing publishes nothing
        if (isShown(measured, facts.snapshot?.killSwitch) || (await effect.within(settleMs))) return;
        const { ok: _ok, ...killSwitch } = await client.call('GET /api/killswitch');
        if (facts.snapshot) update({ snapshot: { ...facts.snapshot, killSwitch } });
      } finally {
        effect.cancel();
        update({ killSwitchPending: false });
      }
    },
    async checkUpdate() {
      const found = await client.call('GET /api/update/check', { query: { fresh: '1' } });
      update({ update: found });
      return found;
    },
    call: client.call,
    onEvent(listener) {
      arrivals.add(listener);
      return () => arrivals.delete(listener);
    },
    refresh,
    retry() {
      attempts = 0;
      wake();
    },
    close() {
      closed = true;
      closeStream();
      wake();
      listeners.clear();
      arrivals.clear();
    },
  };

  /** Watches from now on, since the event may come before the reply. */
  function awaitEvent(names: EventName[]) {
    let seen = false;
    let tell = () => {};
    const arrived = ({ event }: Event) => {
      if (!names.includes(event) && event !== 'snapshot') return;
      seen = true;
      tell();
    };
    arrivals.add(arrived);
    return {
      cancel: () => void arrivals.delete(arrived),
      within: (ms: number) =>
        new Promise<boolean>(resolve => {
          if (seen) return resolve(true);
          const timer = setTimeout(() => resolve(false), ms);
          tell = () => {
            clearTimeout(timer);
            resolve(true);
          };
        }),
    };
  }
}

function lossOf(error: unknown): Loss {
  if (error instanceof ApiError) return { code: 'refused', detail: error.message };
  if (error instanceof Silence) return { code: 'silent', detail: error.message };
  return { code: 'not-running', detail: error instanceof Error ? error.message : String(error) };
}

function isShown(measured: KillSwitch, shown: KillSwitch | undefined): boolean {
  return (
    shown !== undefined && Object.entries(shown).every(([key, value]) => measured[key as keyof KillSwitch] === value)
  );
}
