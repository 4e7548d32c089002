// Reminds the user of a tunnel that was up and has been off for longer than `reminders.offMinutes`.
import type { FeatureContext } from '../controls.ts';

/** @returns a function that stops it */
export function followReminder({ state, settings }: Pick<FeatureContext, 'state' | 'settings'>): () => void {
  let offSince: string | null = null;
  let wasUp = false;
  let timer: NodeJS.Timeout | undefined;

  /** Shows or withdraws the reminder, or sets the timer until it is due. */
  function update(): void {
    clearTimeout(timer);
    const { status, changes, reminder } = state.snapshot();
    if (status.state === 'connected') wasUp = true;
    const isOff = status.state === 'disconnected' && wasUp;
    offSince = isOff ? (offSince ?? status.since) : null;
    if (!isOff && status.state !== 'connected') return; // connecting or disconnecting: wait for the outcome
    const minutes = settings.config.reminders.offMinutes;
    const willReturn = changes.some(({ subject, value }) => subject === 'connection' && value === 'off');
    if (!offSince || minutes === 0 || willReturn) {
      if (reminder) state.set('reminder', null);
      return;
    }
    const leftMs = Date.parse(offSince) + minutes * 60_000 - Date.now();
    if (leftMs <= 0) state.set('reminder', { offSince });
    else timer = setTimeout(update, leftMs).unref();
  }

  const unsubscribe = state.subscribe(({ event }) => {
    if (event === 'status' || event === 'config' || event === 'changes') update();
  });
  update();
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}
