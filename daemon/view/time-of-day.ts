// Converts times of day of the local clock, as people type and read them.

/**
 * Seconds until the local clock next shows a time such as `18:00`, rounded up so that it does not
 * end a minute early; null if the text is not a time of day.
 */
export function secondsUntil(text: string, now: Date): number | null {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined) return null;
  const at = new Date(now);
  at.setHours(Number(hours), Number(minutes), 0, 0);
  // tomorrow by the calendar, which is not always 24 hours away
  if (at <= now) at.setDate(at.getDate() + 1);
  return Math.ceil((at.getTime() - now.getTime()) / 1000);
}

/** The local time, with its day where that is not today. */
export function timeOfDay(iso: string, withSeconds: boolean, now = new Date()): string {
  const at = new Date(iso);
  const two = (n: number) => String(n).padStart(2, '0');
  const time = [at.getHours(), at.getMinutes(), ...(withSeconds ? [at.getSeconds()] : [])].map(two).join(':');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return at.toDateString() === now.toDateString() ? time : `${day} ${time}`;
}
