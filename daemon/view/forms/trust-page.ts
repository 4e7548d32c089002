// Holds what the page of the organization's certificate shows, and carries out what it asks for, in panel and web page.
import type { TrustReport } from '../../api/trust.ts';
import type { Model } from '../client/model.ts';
import { errorText } from '../states/problems.ts';
import type { Translator } from '../translator.ts';
import { NO_TRUST, type TrustState, type TrustTasks } from './trust.ts';

/** @param show renders a new state */
export function createTrustPage(model: Model, show: (state: TrustState) => void, tr: () => Translator): TrustTasks {
  let state = NO_TRUST;
  const set = (change: Partial<TrustState>) => {
    state = { ...state, ...change };
    show(state);
  };
  const check = async () => {
    if (state.running) return;
    set({ running: true, failed: null });
    try {
      const report: TrustReport = await model.call('POST /api/trust', { body: {} });
      set({ running: false, report });
    } catch (error) {
      set({ running: false, failed: errorText(error, tr()) });
    }
  };
  const send = async (line: 'POST /api/trust/apply' | 'POST /api/trust/undo', tools?: string[]) => {
    await model.call(line, { body: tools ? { tools } : {} });
    void check();
  };
  return {
    check,
    apply: tools => send('POST /api/trust/apply', tools),
    undo: tools => send('POST /api/trust/undo', tools),
  };
}
