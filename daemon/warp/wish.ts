// Keeps the last request to connect or to disconnect that the tunnel CLI accepted, and reports what became of it.
//
// After a request to connect, a status without a failure is reported as a connection that did not come, until the tunnel is up
// or is turned off: the tunnel CLI still says that the user turned it off. After a request to disconnect, a status without a
// cause is reported as the user's choice, until the tunnel moves again.
import { rmSync } from 'node:fs';
import type { Status } from '../api/schema.ts';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import { isTurnedOff } from '../view/states/causes.ts';
import { isObject, jsonOf } from './parse/output.ts';
import type { StatusReading } from './parse/status.ts';

/** No states of the tunnel CLI, which goes on to report the last one: nixpkgs issue 560833, release 2026.7.1343. */
const ACCEPTED = { code: 'ConnectAccepted', text: 'Waiting for WARP to connect' };
const IGNORED = { code: 'ConnectIgnored', text: 'WARP accepted, but did not connect' };
/** As the tunnel CLI reports it where it does. */
const TURNED_OFF = { code: 'Manual', text: 'Manual Disconnection' };

/** Longer than a restart of the daemon takes, in ms. */
const RESTART_MS = 600_000;
/** Longer than WARP takes to end a tunnel, in ms: after this, a tunnel that is still up was not turned off. */
const TURN_OFF_MS = 15_000;

export interface Wish {
  /** The tunnel CLI accepted to connect, or to disconnect. @returns whether that may change what is reported */
  accept(connects: boolean, reading: StatusReading, raw: string | null): boolean;
  /** The tunnel should be up by now. @returns whether that may change what is reported */
  overdue(): boolean;
  /** A new status. */
  follow(reading: StatusReading, raw: string | null): void;
  /** The reason to report: that of the status, that a connection is waited for, or that the user turned the tunnel off. */
  reasonFor(reading: StatusReading): Status['reason'];
  /** The daemon ends. The next one gets the wish after a restart; after a stop, the user may do anything until then. */
  leave(restarts: boolean): void;
}

interface Wanted {
  /** The status when the tunnel CLI accepted; undefined until the first status after that. */
  raw: string | null | undefined;
  /** The tunnel has moved since. */
  moved: boolean;
  overdue: boolean;
}

/** The user turned the tunnel off. */
interface TurnedOff {
  /** That has happened. */
  isDown: boolean;
  /** Milliseconds since 1970 when the tunnel CLI accepted it. */
  at: number;
}

/**
 * @param file keeps the wish over a restart or a crash of the daemon; null for none
 * @param now milliseconds since 1970
 */
export function createWish(file: string | null = null, now: () => number = Date.now): Wish {
  const kept = file === null ? null : readFile(file, now());
  let wanted = kept?.wanted ?? null;
  let turnedOff: TurnedOff | null = kept?.turnedOff ?? null;

  /** A daemon that crashes has no time to write. */
  function save(): void {
    if (file === null) return;
    if (wanted || turnedOff) writeFile(file, { at: now(), ...wanted, turnedOff });
    else removeFile(file);
  }
  function set(next: Wanted | null): void {
    wanted = next;
    save();
  }
  function setTurnedOff(next: TurnedOff | null): void {
    turnedOff = next;
    save();
  }
  function followEnd(end: TurnedOff, isDown: boolean): void {
    if (end.isDown === isDown) return;
    const isOwn = isDown && now() - end.at <= TURN_OFF_MS;
    setTurnedOff(isOwn ? { ...end, isDown } : null);
  }

  return {
    accept(connects, reading, raw) {
      const before = wanted;
      const { state } = reading;
      const isKnown = state !== 'unknown';
      turnedOff = connects ? null : { isDown: state === 'disconnected', at: now() };
      set(
        connects && state !== 'connected'
          ? { raw: isKnown ? raw : undefined, moved: isKnown && state !== 'disconnected', overdue: false }
          : null,
      );
      return wanted !== before || !connects;
    },
    overdue() {
      if (!wanted) return false;
      wanted.overdue = true;
      return true;
    },
    follow(reading, raw) {
      if (reading.state === 'unknown') return;
      const isDown = reading.state === 'disconnected';
      if (turnedOff) followEnd(turnedOff, isDown);
      if (!wanted) return;
      const isNew = wanted.raw !== undefined && (wanted.moved || raw !== wanted.raw);
      const isFirst = wanted.raw === undefined;
      if (isFirst) wanted.raw = raw;
      const isTurnedOffSince = isNew && reading.reason?.code === 'SettingsChanged' && isTurnedOff({ ...reading, raw });
      const isOver = reading.state === 'connected' || reading.blocked === 'not-registered' || isTurnedOffSince;
      if (isOver) return set(null);
      const moves = !wanted.moved && !namesNoFailure(reading);
      if (moves) wanted.moved = true;
      if (moves || isFirst) set(wanted);
    },
    reasonFor(reading) {
      if (!namesNoFailure(reading)) return reading.reason;
      if (wanted) return wanted.overdue ? IGNORED : ACCEPTED;
      return turnedOff ? TURNED_OFF : reading.reason;
    },
    leave(restarts) {
      if (file === null) return;
      if (!restarts) removeFile(file);
      else save();
    },
  };
}

/** A tunnel that is down, without a reason but the choice of its user. */
function namesNoFailure({ state, reason }: StatusReading): boolean {
  return state === 'disconnected' && (reason === null || reason.code === 'Manual' || reason.code === 'SettingsChanged');
}

/** `at` is in ms since 1970. */
interface Kept extends Partial<Omit<Wanted, 'overdue'>> {
  at: number;
  turnedOff: TurnedOff | null;
}

function writeFile(file: string, { at, raw, moved, turnedOff }: Kept): void {
  try {
    makeDirectory(file.slice(0, file.lastIndexOf('/')));
    replaceFile(file, JSON.stringify({ at, raw, moved, turnedOff }), { durable: false });
  } catch {
    // the next daemon reports what the tunnel CLI reports
  }
}

function removeFile(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // it is too old soon
  }
}

/** The recent wish of the previous daemon, and the status that it saw. */
function readFile(file: string, now: number): { wanted: Wanted | null; turnedOff: TurnedOff | null } | null {
  const kept = jsonOf(readText(file) ?? '');
  if (!isObject(kept) || typeof kept.at !== 'number') return null;
  const ageMs = now - kept.at;
  if (ageMs < 0 || ageMs >= RESTART_MS) return null;
  const { turnedOff: end } = kept;
  if (isObject(end)) return { wanted: null, turnedOff: { isDown: end.isDown === true, at: Number(end.at) } };
  const raw = typeof kept.raw === 'string' ? kept.raw : undefined;
  return { wanted: { raw, moved: kept.moved === true, overdue: true }, turnedOff: null };
}
