// Keeps the last accepted request to connect or disconnect, and derives the reason to report from it.
//
// After a request to connect, the tunnel CLI may still say that the user turned the tunnel off. Until the tunnel is up or is
// turned off, such a status is reported as a pending or failed connection. After a request to disconnect, a status without a
// cause is reported as the user's choice until the tunnel's state changes again.
import { rmSync } from 'node:fs';
import type { Status } from '../api/schema.ts';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import { isRecord } from '../core/shape.ts';
import { isTurnedOff } from '../view/states/causes.ts';
import { jsonOf } from './parse/output.ts';
import type { StatusReading } from './parse/status.ts';

/** Reasons that the tunnel CLI lacks: it keeps reporting its previous one (nixpkgs issue 560833, release 2026.7.1343). */
const ACCEPTED = { code: 'ConnectAccepted', text: 'Waiting for WARP to connect' };
const IGNORED = { code: 'ConnectIgnored', text: 'WARP accepted, but did not connect' };
/** The tunnel CLI's own reason, in the cases in which it reports one. */
const OFF = { code: 'Manual', text: 'Manual Disconnection' };
const TURNED_OFF = { ...OFF, byUser: true as const };

/** Longer than a restart of the daemon takes, in ms. */
const RESTART_MS = 600_000;
/** Longer than WARP takes to end a tunnel, in ms: after this, a tunnel that is still up was not turned off. */
const TURN_OFF_MS = 15_000;

export interface Wish {
  /** Records an accepted request to connect or disconnect, with its maker. @returns true if the reason may change */
  accept(connects: boolean, reading: StatusReading, raw: string | null, byCulvert?: boolean): boolean;
  /** Call with true before Culvert itself turns the tunnel off, and with false when that has ended. */
  setAutomatic(now: boolean): void;
  /** Records that the tunnel should be up by now. @returns true if the reported reason may change */
  overdue(): boolean;
  /** Records a new status. */
  follow(reading: StatusReading, raw: string | null): void;
  /** Returns the reason to report: the status's own, a pending or failed connection, or the user's choice. */
  reasonFor(reading: StatusReading): Status['reason'];
  /** Keeps the wish for the next daemon on a restart. Drops it on a stop: the user may do anything before the next start. */
  leave(restarts: boolean): void;
}

interface Wanted {
  /** Status when the tunnel CLI accepted the request; undefined until the first known status. */
  raw: string | null | undefined;
  /** True if the tunnel's state has changed since. */
  moved: boolean;
  overdue: boolean;
}

/** A tunnel that is to be off. */
interface TurnedOff {
  /** True once the tunnel is down. */
  isDown: boolean;
  /** Time when it was turned off or first seen off, in ms since 1970. */
  at: number;
  /** Person or program that turned it off; null if unknown. WARP also says `Manual` of a tunnel that never was on. */
  by: 'user' | 'culvert' | null;
}

/**
 * @param file keeps the wish across a restart or crash of the daemon; null keeps it in memory only
 * @param now returns the time in ms since 1970
 */
export function createWish(file: string | null = null, now: () => number = Date.now): Wish {
  const kept = file === null ? null : readFile(file, now());
  let wanted = kept?.wanted ?? null;
  let turnedOff: TurnedOff | null = kept?.turnedOff ?? null;
  /** True if the tunnel was on when the status was last known. */
  let wasOn = false;
  let isAutomatic = false;

  /** Saves every change, since a crashing daemon can't. */
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
    accept(connects, reading, raw, byCulvert = false) {
      const before = wanted;
      const { state } = reading;
      const isKnown = state !== 'unknown';
      const by = byCulvert ? (turnedOff?.isDown && turnedOff.by) || 'culvert' : 'user'; // Culvert ends no ended tunnel
      turnedOff = connects ? null : { isDown: state === 'disconnected', at: now(), by };
      set(
        connects && state !== 'connected'
          ? { raw: isKnown ? raw : undefined, moved: isKnown && state !== 'disconnected', overdue: false }
          : null,
      );
      return wanted !== before || !connects;
    },
    setAutomatic(now) {
      isAutomatic = now;
    },
    overdue() {
      if (!wanted) return false;
      wanted.overdue = true;
      return true;
    },
    follow(reading, raw) {
      if (reading.state === 'unknown') return;
      const isDown = reading.state === 'disconnected';
      const isTurned = wasOn || reading.reason?.code === 'SettingsChanged';
      const by = isAutomatic ? 'culvert' : isTurned ? 'user' : null;
      wasOn = !isDown && reading.blocked === null;
      if (turnedOff) followEnd(turnedOff, isDown);
      // while it stays off, a change of the settings is not the reason
      const isNews = !turnedOff || (by !== null && turnedOff.by === null);
      if (isNews && !wanted && isTurnedOff({ ...reading, raw })) setTurnedOff({ isDown, at: now(), by });
      if (!wanted) return;
      const isNew = wanted.raw !== undefined && (wanted.moved || differs(raw, wanted.raw));
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
      if (turnedOff) return turnedOff.by === 'user' ? TURNED_OFF : OFF;
      return reading.reason;
    },
    leave(restarts) {
      if (file === null) return;
      if (!restarts) removeFile(file);
      else save();
    },
  };
}

/**
 * Reports whether a status says something else. Layout is ignored, since the listener prints JSON on one line and a read on several;
 * text and JSON can't be compared.
 */
function differs(one: string | null | undefined, other: string | null | undefined): boolean {
  const [first, second] = [one, other].map(raw => (raw ? JSON.stringify(jsonOf(raw)) : undefined));
  if (first === undefined && second === undefined) return one?.trim() !== other?.trim();
  return first !== undefined && second !== undefined && first !== second;
}

/** True if the tunnel is down and the status gives no reason other than the user's choice. */
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
    // the next daemon then reports the tunnel CLI's own reason
  }
}

function removeFile(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // the next daemon ignores an old wish
  }
}

/** Reads the previous daemon's wish; null if there is none or it is too old. */
function readFile(file: string, now: number): { wanted: Wanted | null; turnedOff: TurnedOff | null } | null {
  const kept = jsonOf(readText(file) ?? '');
  if (!isRecord(kept) || typeof kept.at !== 'number') return null;
  const ageMs = now - kept.at;
  if (ageMs < 0 || ageMs >= RESTART_MS) return null;
  const { turnedOff: end } = kept;
  if (isRecord(end)) {
    const by = end.by === 'user' || end.by === 'culvert' ? end.by : null;
    return { wanted: null, turnedOff: { isDown: end.isDown === true, at: Number(end.at), by } };
  }
  const raw = typeof kept.raw === 'string' ? kept.raw : undefined;
  return { wanted: { raw, moved: kept.moved === true, overdue: true }, turnedOff: null };
}
