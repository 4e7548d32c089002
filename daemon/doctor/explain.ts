// Looks up a code, a reason or a line of output of the tunnel client. Pure.
import type { Code } from './knowledge.ts';

/** Letters of a name that a line may contain anywhere; a shorter one, such as `Paused`, is a word of other lines as well. */
const LONG = 8;
/** Letters that are enough to look for. */
const ENOUGH = 3;

/**
 * Entries that a word or a line means, best first: the same code, then the same name elsewhere, then the names in a line
 * from its end, then names and titles with these words. Upper and lower case, spaces and underscores
 * do not matter.
 */
export function explain(codes: readonly Code[], words: string): Code[] {
  const letters = lettersOf(words);
  if (letters === '') return [];
  const exact = codes.filter(({ code }) => lettersOf(code) === letters);
  if (exact.length > 0) return exact;
  const same = codes.filter(({ also }) => also.some(name => lettersOf(name) === letters));
  if (same.length > 0) return same;
  const named = codes
    .flatMap(code => {
      const place = placeIn(code, words);
      return place ? [{ code, place }] : [];
    })
    .sort((a, b) => bestFirst(a.place, b.place))
    .map(({ code }) => code);
  if (named.length > 0) return named;
  if (letters.length < ENOUGH) return [];
  const part = ({ code, also }: Code) => [code, ...also].some(name => lettersOf(name).includes(letters));
  const titled = ({ title }: Code) => wordsOf(title).includes(wordsOf(words).trimEnd());
  return [...codes.filter(part), ...codes.filter(code => !part(code) && titled(code))];
}

/** Position of an entry's most telling name in a line; null without one. */
function placeIn({ code, also }: Code, line: string): Place | null {
  const places = [code, ...also].flatMap(name => placeOf(name, line) ?? []);
  return places.sort(bestFirst)[0] ?? null;
}

interface Place {
  /** In letters of the line. */
  end: number;
  length: number;
}

/** The last part is the cause of the part before: `Registration Missing due to: Revoked`. */
function bestFirst(a: Place, b: Place): number {
  return b.end - a.end || b.length - a.length;
}

/** A short name counts at the end of a line only: `Reason: Paused`. */
function placeOf(name: string, line: string): Place | null {
  const [letters, all] = [lettersOf(name), lettersOf(line)];
  const { length } = letters;
  if (length < LONG) return wordsOf(line).endsWith(wordsOf(name)) ? { end: all.length, length } : null;
  const at = all.lastIndexOf(letters);
  return at < 0 ? null : { end: at + length, length };
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

/** ` a few words `, with one space around each. */
function wordsOf(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()} `;
}
