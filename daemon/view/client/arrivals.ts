// Passes each event of the daemon to the callers that wait for it.
import type { Event } from '../../api/client.ts';
import type { EventName } from '../../api/contract.ts';

/** One of some events, expected since before the request that causes it: it may come before the reply. */
interface Expectation {
  /** Resolves with true when it arrives, or arrived before, and with false after so many milliseconds. */
  within(ms: number): Promise<boolean>;
  cancel(): void;
}

export interface Arrivals {
  publish(event: Event): void;
  /** Calls `listener` with every event. Returns what unsubscribes. */
  subscribe(listener: (event: Event) => void): () => void;
  /** A whole snapshot counts as any of them, and a status that only says that WARP accepted to connect as none. */
  expect(names: readonly EventName[]): Expectation;
  clear(): void;
}

export function createArrivals(): Arrivals {
  const listeners = new Set<(event: Event) => void>();

  function subscribe(listener: (event: Event) => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return {
    subscribe,
    publish(event) {
      for (const listener of [...listeners]) listener(event);
    },
    expect(names) {
      let seen = false;
      let notify = () => {};
      const cancel = subscribe(({ event, data }) => {
        if (!names.includes(event) && event !== 'snapshot') return;
        if (event === 'status' && data.reason?.code === 'ConnectAccepted') return;
        seen = true;
        notify();
      });
      const within = (ms: number) =>
        new Promise<boolean>(resolve => {
          if (seen) return resolve(true);
          const timer = setTimeout(() => resolve(false), ms);
          notify = () => {
            clearTimeout(timer);
            resolve(true);
          };
        });
      return { within, cancel };
    },
    clear: () => listeners.clear(),
  };
}
