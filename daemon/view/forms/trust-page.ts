// Holds what the page of the organization's certificate shows, and carries out what it asks for, in panel and web page.
import type { TrustReport } from '../../api/schema/trust.ts';
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
      const report: TrustReport = await model.call('GET /api/trust');
      set({ running: false, report });
    } catch (error) {
      set({ running: false, failed: errorText(error, tr()) });
    }
  };
  const body = (tools?: string[]) => ({ body: tools ? { tools } : {} });
  return {
    check,
    async apply(tools) {
      await model.call('POST /api/trust/apply', body(tools));
      void check();
    },
    async undo(tools) {
      await model.call('POST /api/trust/undo', body(tools));
      void check();
    },
  };
}
