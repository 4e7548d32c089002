// Requests of changes, pending until the daemon has published their effect.
import { ACTIONS } from '../../api/actions.ts';
import type { ChangeOptions } from '../../api/changes.ts';
import { ApiError, type Client } from '../../api/client.ts';
import type { ActionRequest, KillSwitch, KillSwitchPause, KillSwitchRequest } from '../../api/schema.ts';
import type { Arrivals } from './arrivals.ts';
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
  /** A request that takes longer is shown as slow, in ms. */
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
      if (state().refusal) update({ refusal: null });
    } catch (error) {
      if (error instanceof ApiError && error.problem.code === 'not-authorized')
        update({ refusal: { action, detail: error.problem.detail } });
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
      // a request that changed nothing publishes nothing
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
