// Re-reads the parts that have an event of their own after each change, whoever looks: once, and not while an action runs.

import type { Settings } from '../../api/schema.ts';
import type { Reader } from './reader.ts';
import { EXTRAS, isExtra, type Read } from './reads.ts';

/** Reads that fill a part with its own event, which no listener message carries; the others happen on demand. */
const PUBLISHED: ReadonlySet<Read> = new Set<Read>(['settings', 'registration', ...EXTRAS]);

/** How long to wait after an action for the tunnel CLI to announce new settings, before reading them anyway. */
const ANNOUNCEMENT_MS = 150;

export interface ChangedParts {
  /** The tunnel CLI announced new settings, or they may have changed unnoticed. */
  settingsAnnounced(): void;
  /** The device was registered, or its registration deleted, by any program. */
  registrationAnnounced(): void;
  /** An action begins that may make the tunnel CLI announce new settings. */
  expectAnnouncement(): void;
  /** An action changed these. */
  add(parts: readonly Read[]): void;
  /** Runs an action; reads what changed when the last one under way has ended. */
  during<T>(action: () => Promise<T>): Promise<T>;
  stop(): void;
}

/**
 * @param options.settings as they were read last: the same object until they change
 * @param options.announces whether the listener announces new settings
 */
export function createChangedParts(options: {
  reader: Reader;
  settings: () => Settings;
  announces: () => boolean;
}): ChangedParts {
  const { reader, settings, announces } = options;
  const changed = new Set<Read>();
  let actions = 0;
  let announced = false;
  let timer: NodeJS.Timeout | undefined;

  async function readChanged() {
    const parts = [...changed];
    changed.clear();
    const before = settings();
    await Promise.all(parts.map(reader.readLatest));
    // what was announced, and neither an action nor the settings explain, changed something that the settings leave out
    if (!announced || parts.some(isExtra) || settings() !== before) return;
    reader.expire(...EXTRAS);
    await Promise.all(EXTRAS.map(reader.readLatest));
  }

  function readSoon(afterMs: number) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (actions === 0) void readChanged();
    }, afterMs);
  }

  return {
    settingsAnnounced() {
      announced = true;
      reader.expire('settings');
      changed.add('settings');
      if (actions === 0) readSoon(0);
    },
    registrationAnnounced() {
      reader.expire('registration', 'devices');
      changed.add('registration');
      if (actions === 0) readSoon(0);
    },
    expectAnnouncement() {
      announced = false;
    },
    add(parts) {
      for (const part of parts) if (PUBLISHED.has(part)) changed.add(part);
    },
    async during(action) {
      actions += 1;
      try {
        return await action();
      } finally {
        actions -= 1;
        if (actions === 0) readSoon(announced || !announces() ? 0 : ANNOUNCEMENT_MS);
      }
    },
    stop: () => clearTimeout(timer),
  };
}
