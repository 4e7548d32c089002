// Watches files only while a client follows their changes.
import { watchFile } from '../config/watch-file.ts';

/** Several files are written one after the other. */
const SETTLE_MS = 250;

export interface Wanted {
  /** Watches for `leaseMs` from now on. */
  renew(): void;
  /** Watches until the returned function is called. */
  hold(): () => void;
  /** Stops watching, whatever still needs it. */
  stop(): void;
}

/**
 * @param files each stands for everything in its directory
 * @param changed called a moment after a change
 */
export function watchWhileWanted(files: readonly string[], changed: () => void, leaseMs: number): Wanted {
  const holders = new Set<object>();
  let lease: NodeJS.Timeout | undefined;
  let settling: NodeJS.Timeout | undefined;
  let closers: (() => void)[] = [];

  function noticed(): void {
    settling ??= setTimeout(() => {
      settling = undefined;
      changed();
    }, SETTLE_MS).unref();
  }
  function watch(): void {
    if (closers.length === 0) closers = files.map(file => watchFile(file, noticed));
  }
  function closeUnlessWanted(): void {
    if (holders.size > 0 || lease) return;
    clearTimeout(settling);
    settling = undefined;
    for (const close of closers.splice(0)) close();
  }

  return {
    renew() {
      clearTimeout(lease);
      lease = setTimeout(() => {
        lease = undefined;
        closeUnlessWanted();
      }, leaseMs).unref();
      watch();
    },
    hold() {
      const holder = {};
      holders.add(holder);
      watch();
      return () => {
        holders.delete(holder);
        closeUnlessWanted();
      };
    },
    stop() {
      clearTimeout(lease);
      lease = undefined;
      holders.clear();
      closeUnlessWanted();
    },
  };
}
