// Searches long lists for words.

/**
 * @param textOf what a thing is searched in.
 * @returns that text in lower case; it is kept, since each key searches thousands of things again.
 */
export function searchable<T extends object>(textOf: (thing: T) => string): (thing: T) => string {
  const texts = new WeakMap<T, string>();
  return thing => {
    const cached = texts.get(thing);
    if (cached !== undefined) return cached;
    const text = textOf(thing).toLowerCase();
    texts.set(thing, text);
    return text;
  };
}

/** True where `text`, which is in lower case, holds every word of `query`. */
export function holdsWords(text: string, query: string): boolean {
  const wanted = query.trim().toLowerCase();
  // one word, as nearly always, needs no list of words for each of thousands of things
  return /\s/.test(wanted) ? wanted.split(/\s+/).every(word => text.includes(word)) : text.includes(wanted);
}

/** The text for a comparison: lower case, without diacritics, hyphens and other signs as single blanks. */
export function foldText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
  return plain.replace(/[^\p{L}\p{N}\p{Mc}+.]+/gu, ' ').trim();
}
