// Runs the checks of the daemon's computer for the page.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Model } from '../../view/client/model.ts';
import { type ChecksState, NO_CHECKS, receiveProgress, receiveReport } from '../../view/states/findings.ts';

/** The checks as reported by events, no matter which client started the run. */
export function followChecks(model: Model): { checks: ReadonlySignal<ChecksState>; runChecks(): Promise<void> } {
  const checks = signal(NO_CHECKS);
  model.onEvent(({ event, data }) => {
    if (event === 'doctor') checks.value = receiveProgress(checks.value, data);
    // a run of a daemon that is gone does not end
    if (event === 'snapshot') checks.value = { ...checks.value, running: null };
  });
  return {
    checks,
    async runChecks() {
      if (checks.value.running) return;
      try {
        checks.value = receiveReport(await model.call('POST /api/doctor', { body: {} }));
      } catch (error) {
        const failed = error instanceof Error ? error.message : String(error);
        checks.value = { ...checks.value, running: null, failed };
      }
    },
  };
}
