// Checks for updates, installs one and rolls it back for a client, one request at a time.
import type { Model } from './model.ts';

export interface Updates {
  /** The request that is under way, which no event reports yet. */
  waiting(): 'check' | 'change' | null;
  /** Each resolves with whether it was done: false while another one is under way. @throws ApiError, Unreachable */
  check(): Promise<boolean>;
  apply(): Promise<boolean>;
  rollBack(): Promise<boolean>;
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
}

export function createUpdates(model: Pick<Model, 'call' | 'checkUpdate'>): Updates {
  const listeners = new Set<() => void>();
  const publish = () => {
    for (const listener of [...listeners]) listener();
  };
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
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
