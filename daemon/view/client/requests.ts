// Sends requests that change the state, and waits for the events that show their effect.
import { ACTIONS } from '../../api/actions.ts';
import type { ChangeOptions } from '../../api/changes.ts';
import { ApiError, type Client, type Event } from '../../api/client.ts';
import type { EventName } from '../../api/contract.ts';
import type { ActionRequest, KillSwitch, KillSwitchPause, KillSwitchRequest } from '../../api/schema.ts';
import type { ChangeAsk } from '../form.ts';
import { Busy, type ClientState } from './client-state.ts';

export type KillSwitchChange = KillSwitchRequest | KillSwitchPause;

interface Options {
  client: Client;
  arrivals: Arrivals;
  state(): ClientState;
  update(change: Partial<ClientState>): void;
  refresh(which: 'stale' | 'all'): Promise<void>;
  /** Longest wait for the effect of a change, in ms. */
  settleMs: number;
  /** Time after which a request counts as slow, in ms. */
  slowMs: number;
}

export function createRequests({ client, arrivals, state, update, refresh, settleMs, slowMs }: Options) {
  async function requestAction(request: ActionRequest & ChangeOptions): Promise<void> {
    if (state().pending) throw new Busy(`${state().pending} is not finished yet`);
    const { action } = request;
    const { shows } = ACTIONS[action];
    const effect = arrivals.expect(shows);
    update({ pending: action, proxyProblem: null });
    const timer = setTimeout(() => update({ slow: true }), slowMs);
    try {
      await client.call('POST /api/action', { body: request });
      if (shows.length > 0 && !(await effect.within(settleMs))) await refresh('all');
      if (state().isRefused) update({ isRefused: false });
    } catch (error) {
      if (error instanceof ApiError && error.problem.code === 'not-authorized') update({ isRefused: true });
      else if (error instanceof ApiError && action === 'enableLocalProxy') update({ proxyProblem: error.problem });
      throw error;
    } finally {
      clearTimeout(timer);
      effect.cancel();
      update({ pending: null, slow: false });
    }
  }

  async function changeKillSwitch(change: KillSwitchChange): Promise<void> {
    if (state().killSwitchPending) throw new Busy('The kill switch is being changed already');
    const effect = arrivals.expect(['killSwitch']);
    update({ killSwitchPending: true });
    try {
      const measured =
        'seconds' in change
          ? await client.call('POST /api/killswitch/pause', { body: change })
          : await client.call('POST /api/killswitch', { body: change });
      // a request without an effect causes no event
      if (isShown(measured, state().snapshot?.killSwitch) || (await effect.within(settleMs))) return;
      const { ok: _ok, ...killSwitch } = await client.call('GET /api/killswitch');
      const { snapshot } = state();
      if (snapshot) update({ snapshot: { ...snapshot, killSwitch } });
    } finally {
      effect.cancel();
      update({ killSwitchPending: false });
    }
  }

  return { requestAction, changeKillSwitch };
}

function isShown(measured: KillSwitch, shown: KillSwitch | undefined): boolean {
  return (
    shown !== undefined && Object.entries(shown).every(([key, value]) => measured[key as keyof KillSwitch] === value)
  );
}

/** An expected event. The wait begins before the request, because the event may arrive before the reply. */
interface Expectation {
  /** Resolves with true when the event arrives or if it already arrived, and with false after `ms` milliseconds. */
  within(ms: number): Promise<boolean>;
  cancel(): void;
}

interface Arrivals {
  publish(event: Event): void;
  /** Calls `listener` with every event. Returns a function that unsubscribes. */
  subscribe(listener: (event: Event) => void): () => void;
  /** Expects one of these events. A snapshot counts, but a status that WARP accepted a request to connect does not. */
  expect(names: readonly EventName[]): Expectation;
  clear(): void;
}

export function createArrivals(): Arrivals {
  const listeners = new Set<(event: Event) => void>();

  function subscribe(listener: (event: Event) => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return {
    subscribe,
    publish(event) {
      for (const listener of [...listeners]) listener(event);
    },
    expect(names) {
      let seen = false;
      let notify = () => {};
      const cancel = subscribe(({ event, data }) => {
        if (!names.includes(event) && event !== 'snapshot') return;
        if (event === 'status' && data.state === 'disconnected' && data.reason?.code === 'ConnectAccepted') return;
        seen = true;
        notify();
      });
      const within = (ms: number) =>
        new Promise<boolean>(resolve => {
          if (seen) return resolve(true);
          const timer = setTimeout(() => resolve(false), ms);
          notify = () => {
            clearTimeout(timer);
            resolve(true);
          };
        });
      return { within, cancel };
    },
    clear: () => listeners.clear(),
  };
}

/** Maximum remaining time of a state, in seconds. */
const A_WEEK = 604_800;

/** @throws ApiError, Unreachable */
export async function askAboutChange({ call }: Pick<Client, 'call'>, ask: ChangeAsk): Promise<void> {
  if (ask.kind === 'extend') {
    const { subject, endsAt, seconds } = ask;
    const left = Math.max(0, Math.round((Date.parse(endsAt) - Date.now()) / 1000));
    await call('POST /api/changes/extend', { body: { subject, seconds: Math.min(left + seconds, A_WEEK) } });
    return;
  }
  if (ask.kind === 'acknowledge') {
    await call('POST /api/changes/confirm', { body: {} });
    return;
  }
  // one request per subject, because a request without a subject would also revert states with a time limit
  for (const subject of ask.subjects) await call(`POST /api/changes/${ask.what}`, { body: { subject } });
}
