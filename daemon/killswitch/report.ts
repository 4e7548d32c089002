// What the root service publishes for everyone to read; the daemon's side reads it back with the same words.

export const BUS_NAME = 'org.culvert.KillSwitch1';
export const OBJECT_PATH = '/org/culvert/KillSwitch1';
/** Directory of the published state, and the file in it. */
export const RUN_DIRECTORY = '/run/culvert-killswitch';
export const STATE_FILE = 'state.json';

export type Protection = 'owner-persist' | 'watchdog' | 'none';

export interface Report {
  /** Wanted: true during a pause, and where what was stored can't be read. */
  enabled: boolean;
  allowLan: boolean;
  /** Measured in the kernel; null when the kernel did not answer. */
  active: boolean | null;
  protection: Protection;
  bootGuard: boolean;
  backend: string | null;
  detail: string | null;
  pausedUntil: string | null;
}

/** A report with who made it; a report of a process that no longer lives says nothing about now. */
export interface Published extends Report {
  version: 1;
  /** null once the service has ended in order, with nothing to guard. */
  pid: number | null;
  /** Field 22 of /proc/PID/stat. */
  startTime: string | null;
}

/** @returns null for anything but a published state. */
export function parsePublished(text: string): Published | null {
  try {
    const value = JSON.parse(text) as Partial<Published> | null;
    const texts = [value?.backend, value?.detail, value?.pausedUntil, value?.startTime];
    const right =
      value?.version === 1 &&
      [value.enabled, value.allowLan, value.bootGuard].every(item => typeof item === 'boolean') &&
      (value.active === null || typeof value.active === 'boolean') &&
      (value.pid === null || Number.isInteger(value.pid)) &&
      ['owner-persist', 'watchdog', 'none'].includes(value.protection as string) &&
      texts.every(item => item === null || typeof item === 'string') &&
      (value.pausedUntil == null || !Number.isNaN(Date.parse(value.pausedUntil)));
    return right ? (value as Published) : null;
  } catch {
    return null;
  }
}
