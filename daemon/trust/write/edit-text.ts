// Sets one key in a text of settings, and changes nothing else of it: sections in brackets, one key a line.
import { existsSync } from 'node:fs';

/** Place of a setting: in a section, or outside all of them. */
export interface Setting {
  section: string | null;
  key: string;
}

/** The value of a setting, without quotes; null if it is not set. The last one counts, as for the tools themselves. */
export function valueIn(text: string, setting: Setting): string | null {
  const value = linesOf(text, setting).values.at(-1);
  return value === undefined ? null : value.trim().replace(/^(["'])(.*)\1$/, '$2');
}

/**
 * The value of a setting for certificates as it may be shown: a path. Whatever else stands there is not shown, because it is a
 * text of the user's file.
 */
export function shownPath(value: string): string {
  if (existsSync(value)) return value;
  const [path] = /^(?:~|\$\w+)?\.{0,2}\/[^\s:@]*(?=\s|$)/.exec(value) ?? [];
  return path === value ? path : `${path ?? ''}…`;
}

/** The text with one more line, in its section. The setting must not be there yet. */
export function withLine(text: string, { section, key }: Setting, line: string): string {
  const lines = text === '' ? [] : ended(text).split('\n').slice(0, -1);
  const { header } = linesOf(text, { section, key });
  // outside all sections is before the first one
  if (section === null) {
    const first = lines.findIndex(each => HEADER.test(each));
    lines.splice(first < 0 ? lines.length : first, 0, line);
  } else if (header === null) lines.push(`[${section}]`, line);
  else lines.splice(header + 1, 0, line);
  return `${lines.join('\n')}\n`;
}

const HEADER = /^\s*\[([^\]]*)\]/;
const ended = (text: string) => (text.endsWith('\n') ? text : `${text}\n`);

function linesOf(text: string, { section, key }: Setting): { header: number | null; values: string[] } {
  const pattern = new RegExp(`^\\s*-{0,2}${key.replace(/[^\w]/g, '\\$&')}\\s*[=: \\t]\\s*(.*)$`, 'i');
  let current: string | null = null;
  let header: number | null = null;
  const values: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    const name = HEADER.exec(line)?.[1]?.trim();
    if (name !== undefined) {
      current = name;
      if (name.toLowerCase() === section?.toLowerCase()) header ??= at;
      continue;
    }
    const value = current?.toLowerCase() === section?.toLowerCase() ? pattern.exec(line)?.[1] : undefined;
    if (value !== undefined) values.push(value);
  }
  return { header, values };
}
