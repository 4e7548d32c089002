// Makes text from outside safe to show in a terminal, a message or a log.

/** Control and format characters, unpaired surrogates and line separators, but not the joiners of scripts and emoji. */
const INVISIBLE = /(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;

/**
 * Returns the text on one line, without control and invisible characters, so that it can't control a terminal or pose
 * as other text. Some invisible characters reorder text (Unicode Bidirectional Algorithm, 2.1 to 2.5).
 */
export function printable(text: string): string {
  return text.replace(INVISIBLE, ' ').trim();
}

/** Replaces control and format characters, unpaired surrogates and line separators with question marks. */
export function masked(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?');
}

/** Cuts a text to 500 characters, and escapes such characters in it. */
export function escaped(text: string): string {
  const shown = text.length > 500 ? `${text.slice(0, 500)}…` : text;
  return shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, c => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}

/** Decodes percent signs, as in the login of an address, unless they encode nothing. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
