// Ranks rows by the words of a query: those that hold every word, or else those that hold the rarest of them.
import { foldText } from '../../text-search.ts';

/** Letters that an inflected word may have at its end beyond the word that is looked for, as in “exclusions”. */
const ENDING = 3;
/** Fewest letters of a word without its ending. */
const STEM = 4;
/** Rank of a row that holds some words only. */
const PARTIAL = 7;

/**
 * @param rows texts of each row, in the order of their importance; each may be a list, separated by semicolons
 * @returns the rank of each row, 0 for the best; null for those that don't match
 */
export function rankRows(rows: readonly (readonly string[])[], query: string): (number | null)[] {
  const words = foldText(query).split(' ').filter(Boolean);
  if (!words.length) return rows.map(() => null);
  const indexed = rows.map(texts => texts.map(indexOf));
  const ranks = indexed.map(texts => rankOf(texts, words));
  return ranks.some(rank => rank !== null) ? ranks : partialRanks(indexed, words);
}

/**
 * Rank of texts: 0 for a title that is or begins with what was typed. A word matches where another one begins with it;
 * in the midst of a word it counts least.
 * @returns null if a word is missing
 */
function rankOf(texts: readonly string[], words: readonly string[]): number | null {
  const phrases = [` ${words.join(' ')}`, ` ${words.join('')}`];
  if (phrases.some(phrase => texts[0]!.startsWith(phrase))) return 0;
  const text = texts.findIndex(each => phrases.some(phrase => each.includes(phrase)));
  if (text >= 0) return 1 + text;
  const all = texts.join(' ');
  if (words.every(word => all.includes(` ${word}`))) return 5;
  return words.every(word => all.includes(word)) ? 6 : null;
}

/** Ranks where no row holds all words: a word of few rows counts more than one of many. */
function partialRanks(rows: readonly (readonly string[])[], words: readonly string[]): (number | null)[] {
  const texts = rows.map(each => each.join(' '));
  const scores = texts.map(() => 0);
  for (const word of words) {
    const holders = holdersOf(texts, word);
    for (const holder of holders) scores[holder]! += 1 / holders.length;
  }
  const best = Math.max(...scores);
  return scores.map(score => (score > 0 && score >= best / 2 ? PARTIAL + 1 - score / best : null));
}

/** Indexes of the texts that hold a word, or the word without its ending. */
function holdersOf(texts: readonly string[], word: string): number[] {
  const shortest = Math.min(word.length, Math.max(STEM, word.length - ENDING));
  for (let length = word.length; length >= shortest; length--) {
    const stem = ` ${word.slice(0, length)}`;
    const holders = texts.flatMap((text, i) => (text.includes(stem) ? [i] : []));
    if (holders.length) return holders;
  }
  return [];
}

const indexes = new Map<string, string>();
/** Texts whose index is kept; lists of thousands are searched again with each key. */
const KEPT = 20_000;

/** The words of each phrase, and each two of them as one, so that “killswitch” matches “kill switch”. */
function indexOf(text: string): string {
  const cached = indexes.get(text);
  if (cached !== undefined) return cached;
  if (indexes.size >= KEPT) indexes.clear();
  const index = text.split(';').map(indexOfPhrase).join(' ;');
  indexes.set(text, index);
  return index;
}

function indexOfPhrase(phrase: string): string {
  const words = foldText(phrase).split(' ');
  const pairs = words.slice(1).map((word, i) => `${words[i]}${word}`);
  return ['', ...words, ...pairs].join(' ');
}
