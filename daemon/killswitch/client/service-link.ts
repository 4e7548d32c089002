// Manages the daemon's connection to the root service: asks it over the bus, and follows what it publishes.
import { type FSWatcher, watch } from 'node:fs';
import { Problem } from '../../problem.ts';
import type { Report } from '../report.ts';
import { message } from '../wording.ts';
import { type Call, callService } from './busctl.ts';
import { installHint, isInstalled, type Places, readPublished, type Unreadable } from './published-state.ts';

export interface ServiceLink {
  isInstalled(): boolean;
  /** The published state, or a sentence that says why it can't be read. */
  published(): Report | Unreadable;
  /**
   * @param interactive whether the user may be asked for permission
   * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed
   */
  ask(call: Call, interactive: boolean): Promise<Report>;
  /** Watches for what is published, where the directory for it exists by now. */
  follow(): void;
  close(): void;
}

/** @param changed called when the service published something */
export function createServiceLink(places: Places, changed: () => void): ServiceLink {
  let watcher: FSWatcher | null = null;
  const close = () => {
    watcher?.close();
    watcher = null;
  };

  function follow(): void {
    if (watcher) return;
    try {
      watcher = watch(places.run, { persistent: false }, () => changed());
      watcher.on('error', close);
    } catch {
      // the directory comes with the service; every call looks for it again
    }
  }

  return {
    isInstalled: () => isInstalled(places),
    published() {
      const read = readPublished(places);
      if ('unreadable' in read) return read;
      const { version: _, pid: __, startTime: ___, ...report } = read;
      return report;
    },
    async ask(call, interactive) {
      if (!isInstalled(places))
        throw new Problem('killswitch-not-installed', message('The kill switch is not installed on this machine.'), {
          hint: installHint(places),
        });
      const report = await callService(call, interactive, places);
      follow();
      return report;
    },
    follow,
    close,
  };
}
