// Reminds of a tunnel that was up and has been off for long.
import type { FeatureContext } from '../controls.ts';

/** @returns what ends the following */
export function followReminder({ state, settings }: Pick<FeatureContext, 'state' | 'settings'>): () => void {
  let offSince: string | null = null;
  let wasUp = false;
  let timer: NodeJS.Timeout | undefined;

  function plan(): void {
    clearTimeout(timer);
    const { status, changes, reminder } = state.snapshot();
    if (status.state === 'connected') wasUp = true;
    const isOff = status.state === 'disconnected' && wasUp;
    offSince = isOff ? (offSince ?? status.since) : null;
    if (!isOff && status.state !== 'connected') return; // between the two nothing is decided
    const minutes = settings.config.reminders.offMinutes;
    const returns = changes.some(({ subject, value }) => subject === 'connection' && value === 'off');
    if (!offSince || minutes === 0 || returns) {
      if (reminder) state.set('reminder', null);
      return;
    }
    const leftMs = Date.parse(offSince) + minutes * 60_000 - Date.now();
    if (leftMs <= 0) state.set('reminder', { offSince });
    else timer = setTimeout(plan, leftMs).unref();
  }

  const unsubscribe = state.subscribe(({ event }) => {
    if (event === 'status' || event === 'config' || event === 'changes') plan();
  });
  plan();
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}
