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

/** Parts of commander's `Command` that make its help. */
interface HelpCommand<C> {
  readonly parent: C | null;
  name(): string;
  configureOutput(output: { writeOut(text: string): void }): C;
  outputHelp(): void;
  createHelp(): { visibleCommands(command: C): C[] };
}

/** Returns the help of a command and its visible subcommands, each after the words of the command. */
export function helpTexts<C extends HelpCommand<C>>(command: C, words = ''): [words: string, text: string][] {
  let own = '';
  command.configureOutput({ writeOut: text => (own += text) }).outputHelp();
  const shown = command.createHelp().visibleCommands(command);
  const children = shown.filter(({ parent }) => parent);
  return [[words, own], ...children.flatMap(child => helpTexts(child, `${words} ${child.name()}`.trim()))];
}

/** Returns the text with a capital letter at its start. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the local time of day of an ISO time or of milliseconds since the epoch: `14:03:21`. */
export function clock(time: string | number): string {
  const at = new Date(time);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(n => String(n).padStart(2, '0')).join(':');
}

/** Returns the local date and time of an ISO time or of milliseconds since the epoch: `2026-11-21 14:03:21`. */
export function dateTime(time: string | number): string {
  const at = new Date(time);
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(n => String(n).padStart(2, '0')).join('-');
  return `${day} ${clock(time)}`;
}
