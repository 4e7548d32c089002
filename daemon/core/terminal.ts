// Formats text and times for people, in color if the terminal supports it.

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** Creates a style that colors text with the SGR codes of ECMA-48, or leaves it unchanged. */
export function createStyle(color: boolean): Style {
  const paint = (on: number, off: number) => (text: string) => (color ? `\x1b[${on}m${text}\x1b[${off}m` : text);
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

export const plain = createStyle(false);

/** Returns true if a stream gets colors: a terminal, unless the user refuses them (https://no-color.org). */
export function wantsColor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

/** Returns the local time of day of an ISO time: `14:03:21`. */
export function clock(iso: string): string {
  const at = new Date(iso);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(n => String(n).padStart(2, '0')).join(':');
}

/** Returns the local date and time of an ISO time: `2026-11-21 14:03:21`. */
export function dateTime(iso: string): string {
  const at = new Date(iso);
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(n => String(n).padStart(2, '0')).join('-');
  return `${day} ${clock(iso)}`;
}
