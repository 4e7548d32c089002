// Runs the checks for a client, and holds what they have found so far, no matter which client started the run.
import type { DoctorReport } from '../../api/doctor.ts';
import { type ChecksState, NO_CHECKS, receiveProgress, receiveReport } from '../states/findings.ts';
import { errorText } from '../states/problems.ts';
import type { Translator } from '../translator.ts';
import type { Model } from './model.ts';

export interface Checks {
  state(): ChecksState;
  /** Runs them, unless they run. Never rejects. */
  run(): Promise<void>;
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
  close(): void;
}

/** @param alone runs them without a daemon; null where that is not possible */
export function createChecks(
  model: Pick<Model, 'state' | 'call' | 'onEvent'>,
  tr: () => Translator,
  alone: (() => Promise<Pick<DoctorReport, 'results' | 'undo'>>) | null,
): Checks {
  const listeners = new Set<() => void>();
  const publish = () => {
    for (const listener of [...listeners]) listener();
  };
  let state = NO_CHECKS;
  const show = (next: ChecksState) => {
    state = next;
    publish();
  };
  const close = model.onEvent(({ event, data }) => {
    if (event === 'doctor') show(receiveProgress(state, data));
    // a run of a daemon that is gone does not end
    if (event === 'snapshot' && state.running) show({ ...state, running: null });
  });
  const read = () => {
    if (!alone || !model.state().offline) return model.call('POST /api/doctor', { body: {} });
    show({ ...state, running: { completed: 0, total: 0 } });
    return alone();
  };
  return {
    state: () => state,
    async run() {
      if (state.running) return;
      try {
        show(receiveReport(await read()));
      } catch (error) {
        show({ ...state, running: null, failed: errorText(error, tr()) });
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close,
  };
}
