// Makes text from outside safe to show in a terminal, a message or a log.

/** Control and format characters, halves of characters and separators of lines; not the joiners of scripts and emoji. */
const INVISIBLE = /(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;

/**
 * The text on one line, without control characters and without invisible ones, some of which reorder what follows
 * (Unicode Bidirectional Algorithm, 2.1 to 2.5): it can't steer a terminal or pretend to be something else.
 */
export function printable(text: string): string {
  return text.replace(INVISIBLE, ' ').trim();
}

/** The text with a question mark for each control, format and unpaired character and each separator of lines. */
export function masked(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?');
}

/** The text with all such characters escaped, and cut to 500 characters. */
export function escaped(text: string): string {
  const shown = text.length > 500 ? `${text.slice(0, 500)}…` : text;
  return shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, c => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}
