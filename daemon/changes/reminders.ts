// Remembers the length of the user's last pause, and reminds the user of a tunnel that stays off. Free of zod, so that the
// daemon starts without it.
import { dirname } from 'node:path';
import type { ActionRequest } from '../api/actions.ts';
import type { ChangeOptions } from '../api/changes.ts';
import type { Snapshot } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import { parseJson } from '../core/shape.ts';

/** Longest pause, as in `ForSeconds` (api/changes.ts). */
const MAX_SECONDS = 604_800;

type Context = Pick<FeatureContext, 'paths' | 'state' | 'say'>;

/** Publishes the remembered length. Ignores a missing or damaged file. */
export function readLastPause({ paths, state }: Context): void {
  const stored = parseJson(readText(paths.lastPause)) as Partial<{ seconds: unknown }> | null;
  const pause = pauseOf(stored?.seconds);
  if (pause) state.set('lastPause', pause); // without it, clients offer their own lengths
}

/** Remembers the length of a pause that has begun; ignores other actions. */
export function rememberPause(
  { action, forSeconds }: ActionRequest & ChangeOptions,
  { paths, state, say }: Context,
): void {
  const pause = action === 'disconnect' ? pauseOf(forSeconds) : null;
  if (!pause || pause.seconds === state.snapshot().lastPause?.seconds) return;
  state.set('lastPause', pause);
  try {
    makeDirectory(dirname(paths.lastPause));
    replaceFile(paths.lastPause, `${JSON.stringify(pause)}\n`);
  } catch (error) {
    say(`The length of the pause could not be remembered: ${reason(error)}`);
  }
}

/** Accepts whole minutes only: a pause until a time of day would have a different length tomorrow. */
function pauseOf(seconds: unknown): Snapshot['lastPause'] {
  const isLength = typeof seconds === 'number' && seconds % 60 === 0 && seconds >= 60 && seconds <= MAX_SECONDS;
  return isLength ? { seconds } : null;
}

/** Shows a reminder while the tunnel stays off. @returns a function that stops it */
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
