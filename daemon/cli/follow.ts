// Follows the daemon's events for as long as it is wanted, across restarts of the daemon.
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Client, type Event, Unreachable } from '../api/client.ts';

type Followed = { kind: 'event'; event: Event } | { kind: 'lost'; why: string } | { kind: 'back' };

/** Waits between attempts to come back, in milliseconds; the last one repeats. */
const PAUSES = [100, 250, 500, 1000, 2000];

/**
 * Yields events until `signal` is aborted. A lost stream is said once, then resumed after the last event seen.
 * @param isWhole every stream starts with a whole snapshot, so that nothing from before the loss is needed
 * @param isPatient the daemon may come later
 * @throws Unreachable or ApiError when the first attempt fails, unless it is patient; later failures are retried.
 */
export async function* follow(
  client: Client,
  signal: AbortSignal,
  { isWhole = false, isPatient = false } = {},
): AsyncGenerator<Followed> {
  let last: string | undefined;
  let attempt = isPatient ? 0 : -1;
  let lost = false;
  while (!signal.aborted) {
    let why = 'The daemon ended the event stream.';
    try {
      const stream = await client.events(isWhole ? undefined : last);
      const close = () => stream.close();
      signal.addEventListener('abort', close, { once: true });
      try {
        if (lost) yield { kind: 'back' };
        [lost, attempt] = [false, 0];
        for await (const event of stream.events) {
          if (signal.aborted) return;
          if (event.id) last = event.id;
          if (event.event === 'bye') why = 'The daemon is stopping.';
          yield { kind: 'event', event };
        }
      } finally {
        signal.removeEventListener('abort', close);
        stream.close();
      }
    } catch (error) {
      if (attempt < 0 || !(error instanceof Unreachable || error instanceof ApiError)) throw error;
      why = error.message;
    }
    if (signal.aborted) return;
    if (!lost) yield { kind: 'lost', why };
    lost = true;
    await delay(PAUSES[Math.min(attempt++, PAUSES.length - 1)], undefined, { signal }).catch(() => {});
  }
}
