// Keeps the wish to connect that the tunnel CLI has accepted, until the tunnel is up or is turned off. Until then, a status
// that names no failure is reported as what it is: the tunnel CLI goes on to say that the user turned it off.
import { rmSync } from 'node:fs';
import type { Status } from '../api/schema.ts';
import { makeDirectory, readText, replaceFile } from '../system/files.ts';
import { isTurnedOff } from '../view/states/causes/causes.ts';
import type { StatusReading } from './parse/status.ts';

/** No states of the tunnel CLI, which goes on to report the last one: nixpkgs issue 560833, release 2026.7.1343. */
const ACCEPTED = { code: 'ConnectAccepted', text: 'Waiting for WARP to connect' };
const IGNORED = { code: 'ConnectIgnored', text: 'WARP accepted, but did not connect' };

/** Longer than a restart of the daemon takes, in ms. */
const RESTART_MS = 600_000;

export interface Wish {
  /** The tunnel CLI accepted to connect, or to disconnect. @returns whether that may change what is reported */
  accept(connects: boolean, reading: StatusReading, raw: string | null): boolean;
  /** The tunnel should be up by now. @returns whether that may change what is reported */
  overdue(): boolean;
  /** A new status. */
  follow(reading: StatusReading, raw: string | null): void;
  /** The reason to report: that of the status, or that a connection is waited for. */
  reasonFor(reading: StatusReading): Status['reason'];
  /** Leaves the wish to the daemon that starts next. */
  leave(): void;
}

interface Wanted {
  /** The status when the tunnel CLI accepted; undefined for the first one of this run. */
  raw: string | null | undefined;
  /** The tunnel has moved since. */
  moved: boolean;
  overdue: boolean;
}

/** @param file keeps the wish over a restart of the daemon; null for none */
export function createWish(file: string | null = null): Wish {
  let wanted: Wanted | null = file !== null && takeFile(file) ? { raw: undefined, moved: false, overdue: true } : null;

  return {
    accept(connects, reading, raw) {
      const before = wanted;
      const { state } = reading;
      const isKnown = state !== 'unknown';
      wanted =
        connects && state !== 'connected'
          ? { raw: isKnown ? raw : undefined, moved: isKnown && state !== 'disconnected', overdue: false }
          : null;
      return wanted !== before;
    },
    overdue() {
      if (!wanted) return false;
      wanted.overdue = true;
      return true;
    },
    follow(reading, raw) {
      if (!wanted || reading.state === 'unknown') return;
      const isNew = wanted.raw !== undefined && (wanted.moved || raw !== wanted.raw);
      wanted.raw ??= raw;
      const isTurnedOffSince = isNew && reading.reason?.code === 'SettingsChanged' && isTurnedOff({ ...reading, raw });
      const isOver = reading.state === 'connected' || reading.blocked === 'not-registered' || isTurnedOffSince;
      if (isOver) wanted = null;
      else if (!namesNoFailure(reading)) wanted.moved = true;
    },
    reasonFor(reading) {
      if (!wanted || !namesNoFailure(reading)) return reading.reason;
      return wanted.overdue ? IGNORED : ACCEPTED;
    },
    leave() {
      if (!wanted || file === null) return;
      try {
        makeDirectory(file.slice(0, file.lastIndexOf('/')));
        replaceFile(file, String(Date.now()));
      } catch {
        // the next daemon reports what the tunnel CLI reports
      }
    },
  };
}

/** A tunnel that is down, without a reason but the choice of its user. */
function namesNoFailure({ state, reason }: StatusReading): boolean {
  return state === 'disconnected' && (reason === null || reason.code === 'Manual' || reason.code === 'SettingsChanged');
}

/** Takes the file that the daemon before has left a moment ago, with the time in ms since 1970. */
function takeFile(file: string): boolean {
  const text = readText(file);
  if (!text) return false;
  try {
    rmSync(file, { force: true });
  } catch {
    return false;
  }
  const ageMs = Date.now() - Number(text);
  return ageMs >= 0 && ageMs < RESTART_MS;
}
