// Makes text from outside safe to show in a terminal, a message or a log.

/**
 * The text on one line, without control characters and without the invisible ones that reorder what follows
 * (Unicode Bidirectional Algorithm, 2.1 to 2.5): it can't steer a terminal or pretend to be something else.
 */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, ' ').trim();
}
