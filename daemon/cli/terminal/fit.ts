// Fits text to a terminal: to its width, and to ASCII where the locale has no more.
import stringWidth from 'string-width';

/** Columns of a terminal; without limit where a program reads the output. */
export function widthOf({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

/** A space at which no line ends: where `wrapped` broke a command, its halves would run as two. */
const UNBROKEN = '\u00a0';

/** A text that stays on one line. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', UNBROKEN);
}

/**
 * The text with lines no wider than `width`, broken at spaces; what follows a break is indented two further.
 * A wider word stays whole, with less of an indent, so that addresses and paths can be copied; alternatives such as
 * `on|off` break after a bar.
 */
export function wrapped(text: string, width: number, hanging?: number): string {
  const lines = text.split('\n').flatMap(line => (stringWidth(line) <= width ? [line] : broken(line, width, hanging)));
  return lines.join('\n').replaceAll(UNBROKEN, ' ');
}

/** Parts of a line, with the line broken between them where it is wider than `width`; a wider part is broken at spaces. */
export function folded(parts: readonly string[], separator: string, width: number): string {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = lines.length ? `${lines.at(-1)}${separator}${part}` : part;
    if (lines.length && stringWidth(longer) > width) lines.push(`  ${part}`);
    else lines.splice(-1, 1, longer);
  }
  return lines.map(line => wrapped(line, width, 2)).join('\n');
}

function broken(line: string, width: number, hanging?: number): string[] {
  const [indent = ''] = /^ */.exec(line)!;
  const next = ' '.repeat(Math.min(hanging ?? indent.length + 2, Math.floor(width / 2)));
  const lines: string[] = [];
  let current = indent;
  let isEmpty = true;
  for (const [, gap = '', word = ''] of line.slice(indent.length).matchAll(/( *)([^ ]+)/g)) {
    for (const [part, text] of partsOf(word, width - next.length).entries()) {
      const longer = isEmpty || part > 0 ? current + text : current + gap + text;
      if (isEmpty || stringWidth(longer) <= width) current = longer;
      else {
        lines.push(current);
        current = next.slice(0, Math.max(0, width - stringWidth(text))) + text;
      }
      isEmpty = false;
    }
  }
  return [...lines, current];
}

/** A word in one part; alternatives such as `on|off` in as many as they have where they are wider than `width`. */
function partsOf(word: string, width: number): string[] {
  return stringWidth(word) > width ? word.split(/(?<=\|)/) : [word];
}

/** True for a locale that names a charset other than UTF-8 (locale(7)). Without a locale, as in containers, terminals have UTF-8. */
export function isAsciiLocale({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || '';
  return locale !== '' && !/utf-?8/i.test(locale);
}

const LOOKALIKES: readonly [RegExp, string][] = [
  [/[●✓]/g, '*'],
  [/[○]/g, 'o'],
  [/▲/g, '^'],
  [/▼/g, 'v'],
  [/■/g, '#'],
  [/[✗✖×]/g, 'x'],
  [/…/g, '...'],
  [/[\u2010-\u2015·−]/g, '-'],
  [/→/g, '->'],
  [/[‘’]/g, "'"],
  [/[“”„]/g, '"'],
  [/█/g, '#'],
  [/░/g, '.'],
  [/[\u00a0\u2009\u202f]/g, ' '],
  [/[\u2800-\u28ff]/g, '*'],
];

/** The text in ASCII: signs as others that look like them, letters without their accents, and a question mark for the rest. */
export function asciiText(text: string): string {
  const similar = LOOKALIKES.reduce((changed, [sign, ascii]) => changed.replace(sign, ascii), text);
  return similar
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\0-\x7f]/gu, '?');
}

/** JSON in ASCII, of the same value. */
export function asciiJson(json: string): string {
  return json.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Has what is written as text arrive in ASCII. The bytes of a document pass unchanged. */
export function writeAscii(stream: NodeJS.WriteStream, convert: (text: string) => string): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...more: unknown[]) =>
    write(typeof chunk === 'string' ? convert(chunk) : chunk, ...more);
}
