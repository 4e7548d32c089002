// A client of pages that answers as the test says, and a page opened over it.
import type { Client, Event } from '../../../../daemon/api/client.ts';
import type { ClientState } from '../../../../daemon/view/client/client-state.ts';
import type { Model } from '../../../../daemon/view/client/model.ts';
import type { Desktop, Host } from '../../../../daemon/view/host.ts';
import type { Page } from '../../../../daemon/view/pages/page.ts';
import { createChecks, createUpdates } from '../../../../daemon/view/pages/requests.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { KILL_SWITCH } from '../initial.ts';
import { clientState, tr } from './translator.ts';

/** Lets every promise that is settled go on. */
export const settled = () => new Promise(resolve => setImmediate(resolve));

export const OFFLINE: ClientState['offline'] = { code: 'stopped', detail: '' };

export const INSTALLED = clientState({ killSwitch: { ...KILL_SWITCH, enabled: true } });

/** A client whose requests stay open until the test answers them, with a clock that the test moves. */
export function client(first: ClientState = clientState(), desktop: Partial<Desktop> | null = null) {
  let state = first;
  const listeners = new Set<(event: Event) => void>();
  const open: { line: string; answer(value: unknown): void; fail(error: Error): void }[] = [];
  const asked: string[] = [];
  const call = ((line: string) => {
    asked.push(line);
    return new Promise((answer, fail) => open.push({ line, answer, fail }));
  }) as Client['call'];
  const onEvent: Model['onEvent'] = listener => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const model = { state: () => state, call, onEvent, checkUpdate: () => call('GET /api/update/check', { query: {} }) };
  const clock = { now: 1_000_000 };
  const host = {
    model,
    view: () => describe(state, '1', tr),
    tr: () => tr,
    now: () => clock.now,
    checks: createChecks(model, () => tr, null),
    updates: createUpdates(model),
    desktop,
    run: async () => true,
    isHidden: () => false,
    figures: () => [],
    toast() {},
    showError() {},
  } as unknown as Host;
  return {
    host,
    asked,
    open,
    clock,
    listeners,
    set(next: ClientState) {
      state = next;
    },
    send(event: string, data: unknown = {}) {
      for (const listener of [...listeners]) listener({ event, data } as Event);
    },
  };
}

/** Opens a page as clients do: its form first, then that it is turned to. */
export function opened(page: Page, world: ReturnType<typeof client>) {
  let changes = 0;
  const shown = page(world.host, () => changes++);
  const form = () => shown.form(world.host.view());
  form();
  shown.shown?.();
  return { shown, form, changes: () => changes };
}
