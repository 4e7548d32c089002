// Moments that survive a restart of the daemon, a suspended machine, a reboot and a corrected clock.
import { readText } from '../system/files.ts';

/** When this boot began is the same for all processes; time since then goes on while the machine sleeps. */
export interface Clock {
  /** Content of /proc/sys/kernel/random/boot_id. */
  bootId: string;
  /** Since boot, including suspended time (CLOCK_BOOTTIME). */
  uptimeMs: number;
  /** Since the epoch. */
  wallMs: number;
}

export interface Deadline {
  bootId: string;
  /** Uptime in that boot. */
  uptimeMs: number;
  /** The same moment for people, and after a reboot. */
  at: string;
}

export function readClock(): Clock {
  const uptime = Number(readText('/proc/uptime')?.split(' ')[0]);
  return {
    bootId: readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '',
    // without /proc the process's own clock serves, which stands still while the machine sleeps
    uptimeMs: Number.isFinite(uptime) ? uptime * 1000 : performance.timeOrigin + performance.now(),
    wallMs: Date.now(),
  };
}

export function deadlineIn(seconds: number, { bootId, uptimeMs, wallMs }: Clock): Deadline {
  return { bootId, uptimeMs: uptimeMs + seconds * 1000, at: new Date(wallMs + seconds * 1000).toISOString() };
}

/**
 * Milliseconds until a deadline, negative once it has passed. A corrected wall clock moves it only after a reboot.
 */
export function remainingMs({ bootId, uptimeMs, at }: Deadline, clock: Clock): number {
  return bootId === clock.bootId ? uptimeMs - clock.uptimeMs : Date.parse(at) - clock.wallMs;
}
