// Sends a client's requests for checks and updates, which continue after their page closes.
import type { DoctorReport } from '../../api/doctor.ts';
import type { Model } from '../client/model.ts';
import type { Checks, Updates } from '../host.ts';
import { type ChecksState, NO_CHECKS, receiveProgress, receiveReport } from '../states/findings.ts';
import { errorText } from '../states/problems.ts';
import type { Translator } from '../translator.ts';

function createListeners() {
  const listeners = new Set<() => void>();
  return {
    publish() {
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * Runs the checks, and keeps their findings, even of runs that another client started.
 * @param alone runs the checks without a daemon; null if the client can't
 */
export function createChecks(
  model: Pick<Model, 'state' | 'call' | 'onEvent'>,
  tr: () => Translator,
  alone: (() => Promise<Pick<DoctorReport, 'results' | 'undo'>>) | null,
): Checks {
  const { publish, subscribe } = createListeners();
  let state = NO_CHECKS;
  /** Runner of the checks that this client has requested. */
  let asked: 'daemon' | 'alone' | null = null;
  /** Number of the newest request; answers to earlier requests are dropped. */
  let newest = 0;
  const show = (next: ChecksState) => {
    state = next;
    publish();
  };
  const close = model.onEvent(({ event, data }) => {
    if (event === 'doctor') show(receiveProgress(state, data));
    // a run ends without a report if its daemon stops
    if (event !== 'snapshot' || asked === 'alone') return;
    asked = null;
    newest += 1;
    if (state.running) show({ ...state, running: null });
  });
  const read = () => {
    asked = alone && model.state().offline ? 'alone' : 'daemon';
    // the daemon merges requests for the same checks
    if (!alone || asked === 'daemon') return model.call('POST /api/doctor', { body: {} });
    show({ ...state, running: { completed: 0, total: 0 } });
    return alone();
  };
  return {
    state: () => state,
    async run() {
      if (asked) return;
      newest += 1;
      const turn = newest;
      try {
        const report = await read();
        if (turn !== newest) return;
        asked = null;
        show(receiveReport(report));
      } catch (error) {
        if (turn !== newest) return;
        asked = null;
        show({ ...state, running: null, failed: errorText(error, tr()) });
      }
    },
    subscribe,
    close,
  };
}

/** Checks for updates, installs an update or rolls it back, one request at a time. */
export function createUpdates(model: Pick<Model, 'call' | 'checkUpdate'>): Updates {
  const { publish, subscribe } = createListeners();
  let waiting: 'check' | 'change' | null = null;
  const during = async (what: 'check' | 'change', request: () => Promise<unknown>) => {
    if (waiting) return false;
    waiting = what;
    publish();
    try {
      await request();
    } finally {
      waiting = null;
      publish();
    }
    return true;
  };
  return {
    waiting: () => waiting,
    check: () => during('check', model.checkUpdate),
    apply: () => during('change', () => model.call('POST /api/update/apply', { body: {} })),
    rollBack: () => during('change', () => model.call('POST /api/update/rollback', { body: {} })),
    subscribe,
  };
}
