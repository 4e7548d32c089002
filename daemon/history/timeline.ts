// Walks through records in order, and finds the changes to show, the connected time, and the causes of drops. Pure.
import type { HistoryDay, HistoryTotal } from '../api/history.ts';
import { addDrops, totalOf } from '../api/totals.ts';
import { isPhase } from '../view/states/causes.ts';
import { type Change, type Sample, SWITCH_MS } from './records.ts';

/** Maximum gap that a restart of the daemon or an update leaves, in ms. */
const RESTART_MS = 600_000;
const UNKNOWN = 'unknown';

interface End {
  at: number;
  /** null until a reason is known. */
  cause: string | null;
  /** True if the tunnel was taken down, not only connected again. */
  isDown: boolean;
  /** True if no connection was possible since the end. */
  failed: boolean;
}

/** @param range the time that counts, in ms since the epoch; callers must also pass the last state before it */
export function createTimeline(range: { since: number; until: number }, onChange: (change: Change) => void) {
  const days = createDays(range);
  const rows = createRows(onChange);
  /** Start of the connection's uncounted time; null while no connection is up. */
  let upSince: number | null = null;
  /** True while the state of a connection that was up can't be read. */
  let isUnread = false;
  /** The mode of the last connection. */
  let mode: string | null = null;
  /** The end of a connection, counted once a settings change is ruled out as its cause. */
  let ended: End | null = null;
  /** A time without records, with the tunnel up before and after it. */
  let gap: { from: number; to: number } | null = null;

  /** The range in seconds, the unit of samples. */
  const [since, until] = [range.since / 1000, range.until / 1000];

  function drop(): void {
    const { at = Number.NaN, cause = null, isDown = false } = ended ?? {};
    ended = null;
    // the settings are not only the user's: a policy may take the tunnel down
    const isAskedFor = cause === 'Manual' || (cause === 'SettingsChanged' && !isDown);
    if (isAskedFor || !(at >= range.since && at < range.until)) return;
    addDrops(days.at(at).drops, cause ?? UNKNOWN, 1);
  }

  /** Reports whether a settings change ended the connection, regardless of the reason text. */
  function isSwitch(change: Change, end: End): boolean {
    // a change that the user makes after a failure does not cancel the drop
    if (end.failed || change.at - end.at > SWITCH_MS) return false;
    const isOther = change.mode !== null && mode !== null && change.mode !== mode;
    return isOther || (change.asked === true && (end.cause === null || end.cause === 'SettingsChanged'));
  }

  /** @param up true if the connection is back */
  function explain(change: Change, up: boolean): void {
    if (!ended) return;
    const cause = change.blocked ?? change.reason;
    if (isSwitch(change, ended)) ended = null;
    else if (change.at - ended.at > SWITCH_MS && ended.cause !== null) drop();
    else {
      ended.cause ??= cause !== null && !isPhase(cause) ? cause : up ? UNKNOWN : null;
      ended.isDown ||= change.state === 'disconnected';
      ended.failed ||= change.state === 'unable';
    }
  }

  function follow(change: Change): void {
    const { at, kind, state, lastAt } = change;
    if (kind === 'same') {
      if (gap) days.count(gap.from, gap.to);
      gap = null;
      return;
    }
    if (kind === 'start') {
      // the end of the previous run was not recorded
      if (upSince !== null) close(Math.min(at, Math.max(upSince, lastAt ?? 0)));
      if (gap && at - gap.from <= RESTART_MS) gap = { ...gap, to: at };
      else gap = null;
    }
    if (kind === 'state' && state === 'unknown' && change.blocked === null) {
      // an unknown state ends no connection, and is not counted
      isUnread ||= upSince !== null;
      if (upSince !== null) close(at);
      gap = null;
      return;
    }
    const wasUp = upSince !== null || (isUnread && kind === 'state');
    isUnread = false;
    if (state === 'connected' && kind !== 'stop') {
      explain(change, true);
      mode = change.mode ?? mode;
      upSince ??= at;
      return;
    }
    if (upSince !== null) close(at);
    if (wasUp) {
      if (ended) drop();
      if (kind === 'state') ended = { at, cause: null, isDown: false, failed: false };
    }
    if (kind !== 'stop') gap = null;
    if (kind === 'state') explain(change, false);
    else if (ended?.cause != null) drop();
    else ended = null;
  }

  function close(at: number): void {
    days.count(upSince ?? at, at);
    gap = { from: at, to: at };
    upSince = null;
  }

  return {
    change(change: Change): void {
      // a clock that was set back repeats a time; a change after the end is ignored
      if (change.at >= range.until) return;
      follow(change);
      rows.add(change);
    },
    sample({ at, received, sent }: Sample): void {
      if (at < since || at >= until) return;
      const day = days.at(at * 1000);
      day.received += received;
      day.sent += sent;
    },
    /** @param now time until which the state lasts, in ms; null if recording has ended */
    end(now: number | null): { total: HistoryTotal; days: HistoryDay[] } {
      if (upSince !== null && now !== null) days.count(upSince, now);
      drop();
      rows.end();
      const list = days.list();
      return { total: totalOf(list), days: list };
    },
  };
}

/** Passes each change on once it is complete. */
function createRows(onChange: (change: Change) => void) {
  let present: Change | null = null;
  /** The change that is not shown yet, because the next change may complete it. */
  let waiting: Change | null = null;

  function showWaiting(): void {
    if (waiting && waiting.kind !== 'day') onChange(waiting);
    waiting = null;
  }

  return {
    add(change: Change): void {
      if (change.kind === 'same' || (change.kind === 'day' && present)) return;
      if (waiting && completes(waiting, change)) waiting = joined(waiting, change);
      else {
        showWaiting();
        waiting = change;
      }
      present = change;
    },
    end: showWaiting,
  };
}

function joined(before: Change, after: Change): Change {
  const change = { ...after, at: before.at, kind: before.kind };
  if (before.effect !== undefined) change.effect = before.effect;
  if (before.reverted !== undefined) change.reverted = before.reverted;
  return change;
}

/** True if a change only adds details: mode and data center are read after the state was reported. */
function completes(before: Change, after: Change): boolean {
  // a change that Culvert reverted has its own time, unless it caused the reconnect that is under way
  const isRevert = after.reverted !== undefined && (before.reverted !== undefined || before.state !== 'connecting');
  return (
    !isRevert &&
    after.kind === 'state' &&
    before.kind !== 'stop' &&
    before.state === after.state &&
    before.reason === after.reason &&
    before.blocked === after.blocked &&
    (before.effect === undefined || after.effect === undefined) &&
    (before.network === null || before.network === after.network) &&
    // the mode of a tunnel that is down is not shown
    (before.mode === null || before.mode === after.mode || after.state === 'disconnected') &&
    (before.colo === null || before.colo === after.colo)
  );
}

/** @param range the time that counts, in ms since the epoch */
function createDays(range: { since: number; until: number }) {
  const days = new Map<string, HistoryDay>();
  /** The last result, with its limits in ms: most records are of the same day, and the names of days cost the most time. */
  let latest = { from: 0, to: 0, day: null as HistoryDay | null };

  function dayAt(time: number): HistoryDay {
    if (latest.day && time >= latest.from && time < latest.to) return latest.day;
    const name = nameOf(time);
    const day = days.get(name) ?? { day: name, connectedSeconds: 0, received: 0, sent: 0, drops: {} };
    days.set(name, day);
    latest = { from: time, to: midnightAfter(time), day };
    return day;
  }

  return {
    at: dayAt,
    /** Adds a connected time, in ms since the epoch; only its part in the range counts. */
    count(from: number, to: number): void {
      const end = Math.min(to, range.until);
      for (let time = Math.max(from, range.since); time < end; ) {
        const day = dayAt(time);
        const next = Math.min(end, latest.to);
        day.connectedSeconds += (next - time) / 1000;
        time = next;
      }
    },
    list(): HistoryDay[] {
      return [...days.values()]
        .sort((a, b) => (a.day < b.day ? -1 : 1))
        .map(day => ({ ...day, connectedSeconds: Math.round(day.connectedSeconds) }));
    },
  };
}

function nameOf(time: number): string {
  const date = new Date(time);
  const [year, month, day] = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}

const pad = (number: number, digits: number) => String(number).padStart(digits, '0');

function midnightAfter(time: number): number {
  const date = new Date(time);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime();
}
