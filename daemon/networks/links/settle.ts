// Reads once after changes have settled: address, name servers and default route of a network arrive one after the other.

export interface Settler {
  /** Something changed: a read follows when nothing has changed for the settling time. */
  changed(): void;
  /** Ends it; a read under way publishes nothing. */
  stop(): void;
}

/** @param settled called with each read that no change came after */
export function createSettler<T>(settleMs: number, read: () => Promise<T>, settled: (value: T) => void): Settler {
  let timer: NodeJS.Timeout | undefined;
  let turn = 0;

  async function readOnce(): Promise<void> {
    const mine = turn;
    const value = await read();
    if (mine === turn) settled(value);
  }

  return {
    changed() {
      turn += 1;
      clearTimeout(timer);
      timer = setTimeout(() => void readOnce(), settleMs);
      timer.unref();
    },
    stop() {
      turn += 1;
      clearTimeout(timer);
    },
  };
}
