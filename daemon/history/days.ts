// Adds up times and traffic by days of this time zone. Pure.
import type { HistoryDay } from '../api/history.ts';

/** @param range what counts, in ms since the epoch */
export function createDays(range: { since: number; until: number }) {
  const days = new Map<string, HistoryDay>();
  /** The last result, with its limits in ms: most records are of the same day, and names of days cost more than all else. */
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
    /** Adds a time with a connection, in ms since the epoch; only its part in the range counts. */
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
