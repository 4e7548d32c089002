// Reads the parts with their own event again after each change: once, and not while an action runs.

import type { Settings } from '../../api/schema.ts';
import { EXTRAS, isExtra, type Read } from '../cli/version.ts';
import type { Reader } from './reader.ts';

/** Reads that fill a part with its own event, which no listener message carries; the others happen on demand. */
const PUBLISHED: ReadonlySet<Read> = new Set<Read>(['settings', 'registration', ...EXTRAS]);

/** Longest wait for the tunnel CLI to announce new settings after an action; then they are read anyway. */
const ANNOUNCEMENT_MS = 150;

/** The tunnel follows a change of the settings within this time. */
const FOLLOW_MS = 3000;

export interface ChangedParts {
  /** `now`: changed settings are not read yet; `lately`: this was so some seconds ago, or another action runs. */
  changing(): 'now' | 'lately' | null;
  /** The tunnel CLI announced new settings, or they may have changed unnoticed. */
  settingsAnnounced(): void;
  /** The device was registered, or its registration deleted, by any program. */
  registrationAnnounced(): void;
  /** An action begins that changes these, and may make the tunnel CLI announce new settings. */
  expectAnnouncement(parts: readonly Read[]): void;
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
  let reading = 0;
  /** An action that runs changes the settings. */
  let changesSettings = false;
  let followedUntil = 0;

  async function readChanged() {
    reading += 1;
    try {
      await readParts();
    } finally {
      reading -= 1;
    }
  }

  async function readParts() {
    const parts = [...changed];
    changed.clear();
    if (parts.includes('settings')) followedUntil = performance.now() + FOLLOW_MS;
    const before = settings();
    await Promise.all(parts.map(reader.readLatest));
    // an announcement that neither an action nor the settings explain is of a value that the settings leave out
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
    changing() {
      if (changesSettings || ((reading > 0 || changed.has('settings')) && reader.stale(['settings']).length > 0))
        return 'now';
      return actions > 0 || performance.now() < followedUntil ? 'lately' : null;
    },
    settingsAnnounced() {
      announced = true;
      changed.add('settings'); // first: a listener to the age asks whether they are changing
      reader.expire('settings');
      if (actions === 0) readSoon(0);
    },
    registrationAnnounced() {
      reader.expire('registration', 'devices');
      changed.add('registration');
      if (actions === 0) readSoon(0);
    },
    expectAnnouncement(parts) {
      announced = false;
      if (parts.includes('settings')) changesSettings = true;
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
        if (actions === 0) changesSettings = false;
        if (actions === 0) readSoon(announced || !announces() ? 0 : ANNOUNCEMENT_MS);
      }
    },
    stop: () => clearTimeout(timer),
  };
}
